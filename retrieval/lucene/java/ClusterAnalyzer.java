package factseek;

import java.util.List;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.LowerCaseFilter;
import org.apache.lucene.analysis.TokenFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.core.DecimalDigitFilter;
import org.apache.lucene.analysis.standard.StandardTokenizer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.analysis.tokenattributes.OffsetAttribute;
import org.apache.lucene.analysis.tokenattributes.PositionIncrementAttribute;

/**
 * An analyzer for the scripts of South-East Asia, which have no spaces between words. Its terms are pairs of
 * neighbouring clusters of letters, as Lucene pairs Chinese characters. It needs no dictionary: Java has one for Thai,
 * but not in every installation.
 */
public final class ClusterAnalyzer extends Analyzer {
    @Override
    protected TokenStreamComponents createComponents(String field) {
        Tokenizer tokenizer = new StandardTokenizer();
        return new TokenStreamComponents(tokenizer, new Pairs(new DecimalDigitFilter(new LowerCaseFilter(tokenizer))));
    }

    private static final class Pairs extends TokenFilter {
        private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
        private final OffsetAttribute offset = addAttribute(OffsetAttribute.class);
        private final PositionIncrementAttribute position = addAttribute(PositionIncrementAttribute.class);
        private List<Integer> bounds = List.of();
        private String word;
        private int start;
        private int next;

        Pairs(TokenStream words) {
            super(words);
        }

        @Override
        public boolean incrementToken() throws java.io.IOException {
            boolean first = next + 2 >= bounds.size();
            if (first) {
                if (!input.incrementToken()) return false;
                bounds = Letters.clusters(term);
                if (bounds.size() < 3) return true;
                word = term.toString();
                start = offset.startOffset();
                next = 0;
            }
            int from = bounds.get(next), to = bounds.get(next + 2);
            int increment = first ? position.getPositionIncrement() : 1;
            clearAttributes();
            term.append(word, from, to);
            offset.setOffset(start + from, start + to);
            position.setPositionIncrement(increment);
            next++;
            return true;
        }

        @Override
        public void reset() throws java.io.IOException {
            super.reset();
            bounds = List.of();
            next = 0;
        }
    }
}

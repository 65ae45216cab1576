package factseek;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.MultiReader;
import org.apache.lucene.index.MultiTerms;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.QueryTimeoutImpl;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.CollectionStatistics;
import org.apache.lucene.search.Collector;
import org.apache.lucene.search.CollectorManager;
import org.apache.lucene.search.ConstantScoreQuery;
import org.apache.lucene.search.DocIdSetIterator;
import org.apache.lucene.search.Explanation;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreMode;
import org.apache.lucene.search.SimpleCollector;
import org.apache.lucene.search.TermInSetQuery;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TermRangeQuery;
import org.apache.lucene.search.TermStatistics;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.FixedBitSet;
import org.apache.lucene.util.QueryBuilder;

/** Searches the indexes of several segments as one; each search is one static call, which any thread may make. */
public final class PassageSearcher implements Closeable {
    private static final String FILTERS = "filters", PARTS = "parts";
    private static final Pattern WEIGHT = Pattern.compile("weight\\([^:()]+:(.+) in \\d+\\)", Pattern.DOTALL);
    /** The weight of a word inside a longer word: less than that of any word by itself. */
    private static final float OF_A_PART = 1e-12f;
    /** The weight of each word of a hashtag if the hashtag is also one word: all of them weigh less than it. */
    private static final float OF_A_TAG = .15f;
    /** The character before the words of hashtags, which no analyzer reads as a letter. */
    private static final char LIGHT = '\u0002';
    /** The number of filters to remember, each with a bit for each passage. */
    private static final int FILTERS_KEPT = 16;
    /** A query also looks up the conditions of a filter if less than one passage in so many passes the filter. */
    private static final int FEW = 50;

    private final IndexReader reader;
    private final Analyzer analyzer;
    private final List<String> fields = new ArrayList<>();
    /** The passages that are not deleted; null if none is. */
    private final FixedBitSet living;
    private final Map<ByteBuffer, FixedBitSet> admitted = new LinkedHashMap<>(FILTERS_KEPT, .75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<ByteBuffer, FixedBitSet> eldest) {
            return size() > FILTERS_KEPT;
        }
    };
    private volatile Ranks ranks;

    private PassageSearcher(IndexReader reader, Analyzer analyzer, Packed fields, byte[] deleted) {
        this.reader = reader;
        this.analyzer = analyzer;
        while (fields.hasNext()) this.fields.add(fields.next());
        living = deleted.length == 0 ? null : new FixedBitSet(Math.max(1, reader.maxDoc()));
        if (living != null) living.set(0, reader.maxDoc());
        ByteBuffer rows = ByteBuffer.wrap(deleted).order(ByteOrder.LITTLE_ENDIAN);
        while (rows.hasRemaining()) living.clear(rows.getInt());
    }

    @Override
    public void close() throws IOException {
        reader.close();
    }

    /** Open the index in a folder for reading, alone or as a part of a searcher. */
    public static long openReader(String folder) throws IOException {
        return Handles.keep(DirectoryReader.open(FSDirectory.open(Paths.get(folder))));
    }

    /** Return the number of passages, including deleted ones. */
    public static int rows(long reader) {
        return Handles.get(reader, IndexReader.class).maxDoc();
    }

    /** Join readers to one searcher of text fields (title and text, or one); it omits the deleted rows (int32). */
    public static long open(long[] readers, long analyzer, byte[] fields, byte[] deleted) throws IOException {
        IndexReader[] parts = new IndexReader[readers.length];
        for (int at = 0; at < parts.length; at++) parts[at] = Handles.get(readers[at], IndexReader.class);
        IndexReader joined = parts.length == 1 ? parts[0] : new MultiReader(parts, true);
        Analyzer opened = Handles.get(analyzer, Analyzer.class);
        return Handles.keep(new PassageSearcher(joined, opened, new Packed(fields), deleted));
    }

    /** Order passages of equal scores as these rows (int32). */
    public static void rank(long searcher, byte[] order) {
        Handles.get(searcher, PassageSearcher.class).ranks = new Ranks(order);
    }

    /**
     * Return the n best passages as TopPassages writes them, or null if the search took longer than the given
     * milliseconds (-1: no limit). With ranked, equal scores are in the order of the ranks. Clauses and statistics may
     * be empty. Weighted terms, each a term and its weight, replace the text's own terms if there are any. If there
     * are none, and fewer than n passages contain a word by itself, further passages follow. They have a word inside a
     * longer word, or a part of a longer word of the text.
     */
    public static String search(
        long searcher, String text, String parts, byte[] weighted, int n, float k1, float b, float titleWeight,
        float textWeight, byte[] clauses, byte[] statistics, int milliseconds, boolean ranked
    ) throws IOException {
        PassageSearcher own = Handles.get(searcher, PassageSearcher.class);
        IndexSearcher lucene = own.lucene(k1, b, statistics);
        if (milliseconds >= 0) lucene.setTimeout(new QueryTimeoutImpl(milliseconds));
        Query words = own.query(own.counts(text, weighted), titleWeight, textWeight);
        FixedBitSet admitted = own.admitted(clauses, lucene);
        if (lucene.timedOut()) return null;
        // The collector checks each candidate against the filter. If few pass, Lucene should not find the others.
        boolean few = clauses.length > 0 && admitted.cardinality() < own.reader.maxDoc() / FEW;
        byte[] conditions = few ? clauses : new byte[0];
        int most = Math.max(1, Math.min(n, own.reader.maxDoc()));
        TopPassages passages = new TopPassages(most, ranked ? own.ranks : null, admitted);
        TopPassages found = collected(lucene, own.restricted(words, conditions), passages);
        if (weighted.length == 0 && !found.isFull() && !lucene.timedOut()) {
            BooleanQuery.Builder any = new BooleanQuery.Builder();
            for (String term : own.terms(text, parts)) any.add(own.holding(term), Occur.SHOULD);
            Query behind = new BooleanQuery.Builder()
                .add(new BoostQuery(any.build(), OF_A_PART), Occur.MUST)
                .add(words, Occur.MUST_NOT).build();
            collected(lucene, own.restricted(behind, conditions), found);
        }
        return lucene.timedOut() ? null : found.written();
    }

    /** Return one bit per passage: whether it passes the clauses, at least one, and is not deleted. */
    public static String passing(long searcher, byte[] clauses) throws IOException {
        PassageSearcher own = Handles.get(searcher, PassageSearcher.class);
        return written(own.admitted(clauses, new IndexSearcher(own.reader)));
    }

    /** Return one bit per passage, deleted or not: whether it contains a term of a text or of parts of its words. */
    public static String holding(long searcher, String text, String parts, byte[] weighted) throws IOException {
        PassageSearcher own = Handles.get(searcher, PassageSearcher.class);
        FixedBitSet bits = new FixedBitSet(Math.max(1, own.reader.maxDoc()));
        Set<String> terms = weighted.length == 0 ? own.terms(text, parts) : own.counts(text, weighted).keySet();
        List<String> fields = new ArrayList<>(own.fields);
        if (weighted.length == 0) fields.add(PARTS);
        for (LeafReaderContext leaf : own.reader.leaves()) {
            for (String field : fields) {
                for (String term : terms) {
                    PostingsEnum postings = leaf.reader().postings(new Term(field, term), PostingsEnum.NONE);
                    if (postings == null) continue;
                    for (int doc = postings.nextDoc(); doc != DocIdSetIterator.NO_MORE_DOCS; doc = postings.nextDoc())
                        bits.set(leaf.docBase + doc);
                }
            }
        }
        return written(bits);
    }

    /** Return, for each row (int32) and each query term in it: the row's position, the term, its part of the score. */
    public static String weights(
        long searcher, String text, String parts, float k1, float b, float titleWeight, float textWeight,
        byte[] statistics, byte[] rows
    ) throws IOException {
        PassageSearcher own = Handles.get(searcher, PassageSearcher.class);
        IndexSearcher lucene = own.lucene(k1, b, statistics);
        Query query = own.query(own.counts(text, new byte[0]), titleWeight, textWeight);
        List<String> found = new ArrayList<>();
        ByteBuffer wanted = ByteBuffer.wrap(rows).order(ByteOrder.LITTLE_ENDIAN);
        Set<String> inside = own.terms(text, parts);
        Set<String> whole = new LinkedHashSet<>(Analysis.terms(own.analyzer, text));
        for (Iterator<String> each = inside.iterator(); each.hasNext();) {
            String term = each.next(); // most words are in no longer word
            if (whole.contains(term) && own.reader.docFreq(new Term(PARTS, term)) == 0) each.remove();
        }
        for (int at = 0; wanted.hasRemaining(); at++) {
            int row = wanted.getInt(), before = found.size();
            addWeights(Integer.toString(at), lucene.explain(query, row), found);
            for (String term : inside) {
                boolean known = found.subList(before, found.size()).contains(term);
                if (!known && lucene.explain(own.holding(term), row).isMatch())
                    found.addAll(List.of(Integer.toString(at), term, Float.toString(OF_A_PART)));
            }
        }
        return Packed.of(found);
    }

    private static void addWeights(String place, Explanation explanation, List<String> found) {
        Matcher match = WEIGHT.matcher(explanation.getDescription());
        if (match.lookingAt()) {
            found.addAll(List.of(place, match.group(1), explanation.getValue().toString()));
            return;
        }
        for (Explanation detail : explanation.getDetails()) addWeights(place, detail, found);
    }

    /** Return, for each text field, the numbers (int64) of passages with it, of tokens, and of passage-term pairs. */
    public static String fieldStatistics(long searcher) throws IOException {
        PassageSearcher own = Handles.get(searcher, PassageSearcher.class);
        ByteBuffer numbers = Packed.buffer(24 * own.fields.size());
        for (String field : own.fields) {
            CollectionStatistics of = new IndexSearcher(own.reader).collectionStatistics(field);
            numbers.putLong(of == null ? 0 : of.docCount());
            numbers.putLong(of == null ? 0 : of.sumTotalTermFreq());
            numbers.putLong(of == null ? 0 : of.sumDocFreq());
        }
        return Packed.text(numbers);
    }

    /** Return, for each field and term, the numbers (int64) of passages with the term and of its occurrences. */
    public static String termCounts(long searcher, byte[] pairs) throws IOException {
        IndexReader reader = Handles.get(searcher, PassageSearcher.class).reader;
        Packed terms = new Packed(pairs);
        ByteBuffer counts = Packed.buffer(8 * terms.size);
        while (terms.hasNext()) {
            Term term = new Term(terms.next(), terms.next());
            counts.putLong(reader.docFreq(term)).putLong(reader.totalTermFreq(term));
        }
        return Packed.text(counts);
    }

    /** Return at most the given number of filter tokens in order, starting at from, each with every row that has it. */
    public static String filterTokens(long reader, String from, int most) throws IOException {
        List<String> found = new ArrayList<>();
        Terms terms = MultiTerms.getTerms(Handles.get(reader, IndexReader.class), FILTERS);
        TermsEnum each = terms == null ? TermsEnum.EMPTY : terms.iterator();
        BytesRef token = each.seekCeil(new BytesRef(from)) == TermsEnum.SeekStatus.END ? null : each.term();
        for (int at = 0; at < most && token != null; at++, token = each.next()) {
            PostingsEnum rows = each.postings(null, PostingsEnum.NONE);
            for (int row = rows.nextDoc(); row != DocIdSetIterator.NO_MORE_DOCS; row = rows.nextDoc())
                found.addAll(List.of(token.utf8ToString(), Integer.toString(row)));
        }
        return Packed.of(found);
    }

    private static String written(FixedBitSet bits) {
        long[] words = bits.getBits();
        ByteBuffer buffer = Packed.buffer(8 * words.length);
        for (long word : words) buffer.putLong(word);
        return Packed.text(buffer);
    }

    private static <C extends Collector> C collected(IndexSearcher searcher, Query query, C collector)
            throws IOException {
        searcher.search(query, new CollectorManager<C, Void>() {
            @Override
            public C newCollector() {
                return collector;
            }

            @Override
            public Void reduce(Collection<C> collectors) {
                return null;
            }
        });
        return collector;
    }

    private IndexSearcher lucene(float k1, float b, byte[] statistics) {
        IndexSearcher searcher =
            statistics.length == 0 ? new IndexSearcher(reader) : new CollectionSearcher(reader, new Packed(statistics));
        searcher.setSimilarity(new BM25Similarity(k1, b));
        return searcher;
    }

    /** Return the weight of each term: the given weight, else the number of its occurrences in the text. */
    private Map<String, Float> counts(String text, byte[] weighted) throws IOException {
        Map<String, Float> counts = new HashMap<>();
        Packed terms = new Packed(weighted);
        while (terms.hasNext()) counts.put(terms.next(), Float.parseFloat(terms.next()));
        if (terms.size > 0) return counts;
        int light = text.indexOf(LIGHT);
        String words = light < 0 ? text : text.substring(0, light);
        for (String term : Analysis.terms(analyzer, words)) counts.merge(term, 1f, Float::sum);
        if (light < 0) return counts;
        for (String term : Analysis.terms(analyzer, text.substring(light))) counts.merge(term, OF_A_TAG, Float::sum);
        return counts;
    }

    /** Return Anserini's bag of words: each term once, with its weight, in each field. */
    private Query query(Map<String, Float> counts, float titleWeight, float textWeight) {
        if (fields.size() == 1) return query(fields.get(0), counts);
        Map<String, Float> weights = new HashMap<>();
        weights.put(fields.get(0), titleWeight);
        weights.put(fields.get(1), textWeight);
        BooleanQuery.Builder either = new BooleanQuery.Builder();
        for (Map.Entry<String, Float> field : weights.entrySet())
            either.add(new BoostQuery(query(field.getKey(), counts), field.getValue()), Occur.SHOULD);
        return either.build();
    }

    private Set<String> terms(String text, String parts) throws IOException {
        Set<String> terms = new LinkedHashSet<>(Analysis.terms(analyzer, text));
        terms.addAll(Analysis.terms(analyzer, parts));
        return terms;
    }

    /** Return the query for passages that contain a term by itself or inside a longer word. */
    private Query holding(String term) {
        BooleanQuery.Builder anywhere = new BooleanQuery.Builder();
        for (String field : fields) anywhere.add(new TermQuery(new Term(field, term)), Occur.SHOULD);
        return new ConstantScoreQuery(anywhere.add(new TermQuery(new Term(PARTS, term)), Occur.SHOULD).build());
    }

    private static Query query(String field, Map<String, Float> counts) {
        BooleanQuery.Builder builder = new BooleanQuery.Builder();
        for (Map.Entry<String, Float> term : counts.entrySet())
            builder.add(new BoostQuery(new TermQuery(new Term(field, term.getKey())), term.getValue()), Occur.SHOULD);
        return builder.build();
    }

    /** Return the query for the hits of a query that pass the clauses of a filter. */
    private Query restricted(Query query, byte[] clauses) throws IOException {
        BooleanQuery.Builder both = new BooleanQuery.Builder().add(query, Occur.MUST);
        Packed each = new Packed(clauses);
        while (each.hasNext()) {
            String kind = each.next();
            switch (kind) {
                case "any":
                case "none":
                    both.add(anyOf(each, each.nextInt()), kind.equals("any") ? Occur.FILTER : Occur.MUST_NOT);
                    break;
                case "between":
                    both.add(between(each.next(), each.next(), each.next()), Occur.FILTER);
                    break;
                case "phrase":
                case "without":
                    both.add(anywhere(each.next()), kind.equals("phrase") ? Occur.FILTER : Occur.MUST_NOT);
                    break;
                default:
                    throw new IllegalArgumentException("no such clause");
            }
        }
        return both.build();
    }

    /** Return the passages that pass the clauses and are not deleted; null if all do. */
    private FixedBitSet admitted(byte[] clauses, IndexSearcher searcher) throws IOException {
        if (clauses.length == 0) return living;
        ByteBuffer key = ByteBuffer.wrap(clauses);
        synchronized (admitted) {
            FixedBitSet kept = admitted.get(key);
            if (kept != null) return kept;
        }
        FixedBitSet passing = new FixedBitSet(Math.max(1, reader.maxDoc()));
        collected(searcher, restricted(new MatchAllDocsQuery(), clauses), new MatchingPassages(passing));
        if (living != null) passing.and(living);
        Packed each = new Packed(clauses);
        boolean ofOneSearch = each.hasNext() && each.next().equals("none"); // it leaves out documents by their ids
        if (!ofOneSearch && !searcher.timedOut()) {
            synchronized (admitted) {
                admitted.put(key, passing);
            }
        }
        return passing;
    }

    private static Query anyOf(Packed tokens, int count) {
        List<BytesRef> terms = new ArrayList<>(count);
        for (int at = 0; at < count; at++) terms.add(new BytesRef(tokens.next()));
        return new TermInSetQuery(FILTERS, (Collection<BytesRef>) terms);
    }

    private static Query between(String lowest, String highest, String or) {
        Query range = TermRangeQuery.newStringRange(FILTERS, lowest, highest, true, true);
        if (or.isEmpty()) return range;
        return new BooleanQuery.Builder()
            .add(range, Occur.SHOULD).add(new TermQuery(new Term(FILTERS, or)), Occur.SHOULD).build();
    }

    /** Return the query for adjacent words in one of the fields; a single word may also be inside a longer word. */
    private Query anywhere(String words) throws IOException {
        BooleanQuery.Builder either = new BooleanQuery.Builder();
        List<String> terms = Analysis.terms(analyzer, words);
        if (terms.size() == 1) either.add(new TermQuery(new Term(PARTS, terms.get(0))), Occur.SHOULD);
        QueryBuilder builder = new QueryBuilder(analyzer);
        for (String field : fields) either.add(builder.createPhraseQuery(field, words), Occur.SHOULD);
        return either.build();
    }

    /** Sets a bit for each passage that matches. */
    private static final class MatchingPassages extends SimpleCollector {
        private final FixedBitSet bits;
        private int base;

        MatchingPassages(FixedBitSet bits) {
            this.bits = bits;
        }

        @Override
        public ScoreMode scoreMode() {
            return ScoreMode.COMPLETE_NO_SCORES;
        }

        @Override
        protected void doSetNextReader(LeafReaderContext leaf) {
            base = leaf.docBase;
        }

        @Override
        public void collect(int doc) {
            bits.set(base + doc);
        }
    }

    /** A searcher that scores with statistics of a larger collection: those of fields, then those of query terms. */
    private static final class CollectionSearcher extends IndexSearcher {
        private final Map<String, CollectionStatistics> ofFields = new HashMap<>();
        private final Map<Term, TermStatistics> ofTerms = new HashMap<>();

        CollectionSearcher(IndexReader reader, Packed packed) {
            super(reader);
            for (int left = packed.nextInt(); left > 0; left--) {
                String field = packed.next();
                long passages = packed.nextLong(), having = packed.nextLong();
                long tokens = packed.nextLong(), postings = packed.nextLong();
                if (having > 0)
                    ofFields.put(field, new CollectionStatistics(field, passages, having, tokens, postings));
            }
            while (packed.hasNext()) {
                Term term = new Term(packed.next(), packed.next());
                long passages = packed.nextLong(), occurrences = packed.nextLong();
                if (passages > 0) ofTerms.put(term, new TermStatistics(term.bytes(), passages, occurrences));
            }
        }

        @Override
        public CollectionStatistics collectionStatistics(String field) {
            return ofFields.get(field);
        }

        @Override
        public TermStatistics termStatistics(Term term, int passages, long occurrences) {
            return ofTerms.get(term);
        }
    }
}

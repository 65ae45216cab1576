package factseek;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;

/** Analyzers of Lucene and Anserini, by class name: javac 17 cannot read Anserini's classes, which need Java 21. */
public final class Analysis {
    private Analysis() {}

    /** Open the analyzer of a class: the default instance of an Anserini class, a new instance of any other. */
    public static long open(String name) throws ReflectiveOperationException {
        Class<?> kind = Class.forName(name);
        if (name.startsWith("io.anserini.")) return Handles.keep(kind.getMethod("newDefaultInstance").invoke(null));
        return Handles.keep(kind.getConstructor().newInstance());
    }

    /** Return the terms of each text, separated by the character 0, which no text contains. */
    public static String terms(long analyzer, byte[] packed) throws IOException {
        Analyzer opened = Handles.get(analyzer, Analyzer.class);
        Packed texts = new Packed(packed);
        List<String> terms = new ArrayList<>(texts.size);
        while (texts.hasNext()) terms.add(String.join("\0", terms(opened, texts.next())));
        return Packed.of(terms);
    }

    /** Return the terms of a text in their order, as Anserini's AnalyzerUtils does. */
    static List<String> terms(Analyzer analyzer, String text) throws IOException {
        List<String> terms = new ArrayList<>();
        try (TokenStream stream = analyzer.tokenStream(null, text)) {
            CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
            stream.reset();
            while (stream.incrementToken()) {
                if (term.length() > 0) terms.add(term.toString());
            }
            stream.end();
        }
        return terms;
    }
}

package factseek;

import java.io.IOException;
import java.nio.file.Paths;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.analysis.tokenattributes.BytesTermAttribute;
import org.apache.lucene.analysis.tokenattributes.OffsetAttribute;
import org.apache.lucene.analysis.tokenattributes.PositionIncrementAttribute;
import org.apache.lucene.analysis.tokenattributes.TermToBytesRefAttribute;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LogDocMergePolicy;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.ArrayUtil;
import org.apache.lucene.util.BytesRef;

/**
 * Writes the index of one segment. A document's number is its position in the order of addition, so one thread adds.
 * Several threads first analyse the passages, which is most of the work. A caller waits only for the previous batch.
 */
public final class PassageWriter {
    private static final int SPAN = 32;
    private static final Analyzer SPACES = new WhitespaceAnalyzer(IndexWriter.MAX_TERM_LENGTH);
    private static final int THREADS = Math.min(4, Runtime.getRuntime().availableProcessors());

    private final IndexWriter writer;
    private final Analyzer analyzer;
    private final Document document = new Document();
    private final Replay[] streams;
    private final Background<Integer> adder = new Background<>();
    private final ExecutorService analysts = Background.threads(THREADS);

    private PassageWriter(IndexWriter writer, Analyzer analyzer, Packed fields, boolean phrases) {
        this.writer = writer;
        this.analyzer = analyzer;
        streams = new Replay[fields.size];
        for (int at = 0; at < streams.length; at++) {
            FieldType kind = new FieldType();
            boolean unscored = at >= streams.length - 2; // parts and filters
            kind.setIndexOptions(unscored ? IndexOptions.DOCS
                : phrases ? IndexOptions.DOCS_AND_FREQS_AND_POSITIONS : IndexOptions.DOCS_AND_FREQS);
            kind.setOmitNorms(unscored);
            kind.freeze();
            streams[at] = new Replay();
            document.add(new Field(fields.get(at), streams[at], kind));
        }
    }

    /**
     * Open an index for writing: text fields, then a field of the parts of their words, and last a field of filter
     * tokens. With phrases, the text fields have word positions. The last two fields have neither frequencies nor
     * positions.
     */
    public static long open(String folder, long analyzer, byte[] fields, int bufferMb, boolean phrases)
            throws IOException {
        IndexWriterConfig config = new IndexWriterConfig();
        config.setRAMBufferSizeMB(bufferMb);
        LogDocMergePolicy merges = new LogDocMergePolicy(); // merges adjacent segments only
        merges.setNoCFSRatio(0);
        config.setMergePolicy(merges);
        config.setUseCompoundFile(false); // else the last merge would write a single segment again, as several files
        config.setMergeScheduler(new SerialMergeScheduler());
        Analyzer opened = Handles.get(analyzer, Analyzer.class);
        IndexWriter writer = new IndexWriter(FSDirectory.open(Paths.get(folder)), config);
        return Handles.keep(new PassageWriter(writer, opened, new Packed(fields), phrases));
    }

    /** Begin to add passages, each given as the values of all fields; throw the error of the previous batch, if any. */
    public static void add(long handle, byte[] passages) throws Exception {
        PassageWriter own = Handles.get(handle, PassageWriter.class);
        Deque<Future<Tokens[][]>> analysed = own.analysed(new Packed(passages));
        own.adder.next(() -> own.addAll(analysed));
    }

    /** Begin to merge into one leaf, make it durable and close the index. */
    public static void end(long handle) throws Exception {
        PassageWriter own = Handles.get(handle, PassageWriter.class);
        own.adder.next(() -> {
            own.writer.forceMerge(1);
            int passages = own.writer.getDocStats().numDocs;
            own.writer.close();
            return passages;
        });
    }

    /** Wait until all work is done, and return the number of passages. */
    public static int finish(long handle) throws Exception {
        PassageWriter own = Handles.get(handle, PassageWriter.class);
        int passages = own.adder.await();
        own.letGo(handle);
        return passages;
    }

    /** Close without keeping unfinished work. */
    public static void abandon(long handle) throws Exception {
        PassageWriter own = Handles.get(handle, PassageWriter.class);
        try {
            own.adder.await();
        } catch (Exception | Error failed) {
            // a caller that abandons the index already knows the error, or does not need it
        } finally {
            own.letGo(handle);
            own.writer.rollback();
        }
    }

    private void letGo(long handle) throws IOException {
        adder.close();
        analysts.shutdown();
        Handles.close(handle);
    }

    private Deque<Future<Tokens[][]>> analysed(Packed texts) {
        int passages = texts.size / streams.length;
        Deque<Future<Tokens[][]>> spans = new ArrayDeque<>();
        for (int first = 0; first < passages; first += SPAN) {
            int from = first, to = Math.min(first + SPAN, passages);
            spans.add(analysts.submit(() -> analysed(texts, from, to)));
        }
        return spans;
    }

    private int addAll(Deque<Future<Tokens[][]>> spans) throws Exception {
        while (!spans.isEmpty()) {
            for (Tokens[] passage : Background.result(spans.remove())) {
                for (int at = 0; at < streams.length; at++) streams[at].of(passage[at]);
                writer.addDocument(document);
            }
        }
        return 0;
    }

    private Tokens[][] analysed(Packed texts, int from, int to) throws IOException {
        Tokens[][] passages = new Tokens[to - from][streams.length];
        int filters = streams.length - 1;
        for (int passage = from; passage < to; passage++) {
            for (int at = 0; at < streams.length; at++) {
                String text = texts.get(passage * streams.length + at);
                passages[passage - from][at] = Tokens.of(at < filters ? analyzer : SPACES, text);
            }
        }
        return passages;
    }

    /** The tokens of a text, made by one thread. */
    private static final class Tokens {
        private byte[] bytes;
        private int[] starts;
        private int[] ends;
        private int[] increments;
        private int size;

        private Tokens(int length) {
            bytes = new byte[length + 16];
            starts = new int[length / 6 + 16];
            ends = new int[starts.length];
            increments = new int[starts.length];
        }

        static Tokens of(Analyzer analyzer, String text) throws IOException {
            Tokens tokens = new Tokens(text.length());
            try (TokenStream stream = analyzer.tokenStream("", text)) {
                TermToBytesRefAttribute term = stream.getAttribute(TermToBytesRefAttribute.class);
                PositionIncrementAttribute position = stream.addAttribute(PositionIncrementAttribute.class);
                OffsetAttribute offset = stream.addAttribute(OffsetAttribute.class);
                stream.reset();
                int read = 0;
                while (stream.incrementToken()) {
                    BytesRef ref = term.getBytesRef();
                    tokens.add(ref, position.getPositionIncrement());
                    if (!isAscii(ref)) {
                        // Add a letter that two tokens share, as pairs of letters do, only once.
                        int known = Math.max(0, read - offset.startOffset());
                        for (String letter : Letters.of(ref.utf8ToString(), known)) tokens.add(new BytesRef(letter), 0);
                    }
                    read = Math.max(read, offset.endOffset());
                }
                stream.end();
            }
            return tokens;
        }

        private static boolean isAscii(BytesRef term) {
            for (int at = term.offset; at < term.offset + term.length; at++) {
                if (term.bytes[at] < 0) return false;
            }
            return true;
        }

        private void add(BytesRef term, int increment) {
            int start = size == 0 ? 0 : ends[size - 1];
            bytes = ArrayUtil.grow(bytes, start + term.length);
            System.arraycopy(term.bytes, term.offset, bytes, start, term.length);
            if (size == ends.length) {
                starts = ArrayUtil.grow(starts);
                ends = ArrayUtil.grow(ends);
                increments = ArrayUtil.grow(increments);
            }
            starts[size] = start;
            ends[size] = start + term.length;
            increments[size++] = increment;
        }
    }

    /** Gives Lucene the tokens of one text after another. */
    private static final class Replay extends TokenStream {
        private final BytesTermAttribute term = addAttribute(BytesTermAttribute.class);
        private final PositionIncrementAttribute position = addAttribute(PositionIncrementAttribute.class);
        private final BytesRef bytes = new BytesRef();
        private Tokens tokens;
        private int next;

        void of(Tokens tokens) {
            this.tokens = tokens;
            next = 0;
        }

        @Override
        public boolean incrementToken() {
            if (next == tokens.size) return false;
            bytes.bytes = tokens.bytes;
            bytes.offset = tokens.starts[next];
            bytes.length = tokens.ends[next] - bytes.offset;
            term.setBytesRef(bytes);
            position.setPositionIncrement(tokens.increments[next++]);
            return true;
        }
    }
}

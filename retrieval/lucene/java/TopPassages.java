package factseek;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.search.Collector;
import org.apache.lucene.search.LeafCollector;
import org.apache.lucene.search.Scorable;
import org.apache.lucene.search.ScoreMode;
import org.apache.lucene.util.FixedBitSet;
import org.apache.lucene.util.LongHeap;

/**
 * Collects the n best admitted passages by score descending, then by rank ascending. Without ranks it orders equal
 * scores by row. It then also keeps up to MOST_TIES further passages that tie with the last, and Python orders them.
 * Making ranks is worthwhile only if there are more ties, or if many searches of a small index follow.
 *
 * A passage is one number: the bits of its score, which is never negative, above the complement of its rank or row. So
 * the worst passage leaves the heap first, and blocks below its score are skipped.
 */
final class TopPassages implements Collector {
    private static final int MOST_TIES = 1_000;

    private final LongHeap heap;
    private final int n;
    private final Ranks ranks;
    private final FixedBitSet admitted;
    private final int[] ties = new int[MOST_TIES];
    private int tied;
    private int worstScore = -1;

    TopPassages(int n, Ranks ranks, FixedBitSet admitted) {
        this.n = n;
        this.ranks = ranks;
        this.admitted = admitted;
        heap = new LongHeap(n);
    }

    @Override
    public ScoreMode scoreMode() {
        return ScoreMode.TOP_SCORES;
    }

    @Override
    public LeafCollector getLeafCollector(LeafReaderContext leaf) {
        int base = leaf.docBase;
        return new LeafCollector() {
            private Scorable scorer;

            @Override
            public void setScorer(Scorable scorer) throws IOException {
                this.scorer = scorer;
                if (worstScore > 0) scorer.setMinCompetitiveScore(Float.intBitsToFloat(worstScore));
            }

            @Override
            public void collect(int doc) throws IOException {
                int row = base + doc;
                if (admitted != null && !admitted.get(row)) return;
                int score = Float.floatToRawIntBits(scorer.score());
                if (score < worstScore) return;
                long key = (long) score << 32 | ~(ranks == null ? row : ranks.ofRow[row]) & 0xFFFFFFFFL;
                long leftOut = -1;
                if (heap.size() < n) {
                    heap.push(key);
                    if (heap.size() < n) return;
                } else if (key > heap.top()) {
                    leftOut = heap.top();
                    heap.updateTop(key);
                } else {
                    leftOut = key;
                }
                int worst = (int) (heap.top() >>> 32);
                if (worst > worstScore) {
                    worstScore = worst;
                    tied = 0;
                    if (worst > 0) scorer.setMinCompetitiveScore(Float.intBitsToFloat(worst));
                } else if (ranks == null && leftOut >>> 32 == worst && tied <= MOST_TIES) {
                    if (tied < MOST_TIES) ties[tied] = ~(int) leftOut;
                    tied++;
                }
            }
        };
    }

    boolean isFull() {
        return heap.size() >= n;
    }

    /**
     * Return (int32) whether there are more ties than are kept, then all rows (int32) and all scores (float64: the
     * shortest decimal of the float), best first. The kept ties of the last passage follow it.
     */
    String written() {
        int held = heap.size();
        int all = held + Math.min(tied, MOST_TIES);
        ByteBuffer buffer = Packed.buffer(4 + 12 * all).putInt(0, tied > MOST_TIES ? 1 : 0);
        for (int at = held; at < all; at++) put(buffer, all, at, ties[at - held], worstScore);
        for (int at = held - 1; at >= 0; at--) {
            long key = heap.pop();
            int place = ~(int) key;
            put(buffer, all, at, ranks == null ? place : ranks.rows[place], (int) (key >>> 32));
        }
        return Packed.text(buffer);
    }

    private static void put(ByteBuffer buffer, int all, int at, int row, int score) {
        buffer.putInt(4 + 4 * at, row);
        buffer.putDouble(4 + 4 * all + 8 * at, shortestDecimal(Float.intBitsToFloat(score)));
    }

    /** Return the double of the shortest decimal that stands for a float; most scores need no text for it. */
    private static double shortestDecimal(float score) {
        if (score >= .001f && score < 1e6f) {
            double power = 1;
            for (int digits = 0; digits < 9; digits++, power *= 10) {
                double decimal = Math.rint(score * power) / power;
                if ((float) decimal == score) return decimal;
            }
        }
        return Double.parseDouble(Float.toString(score));
    }
}

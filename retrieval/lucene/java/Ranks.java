package factseek;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.lucene.util.IntroSorter;

/** The order of passages with equal scores: docid descending by code point, then the passage's number ascending. */
final class Ranks {
    final int[] ofRow;
    final int[] rows;

    /** Rank rows by docid, then by passage number; no numbers are given if each document has one passage. */
    Ranks(Packed docids, byte[] numbers) {
        rows = new int[docids.size];
        Arrays.setAll(rows, row -> row);
        int[] parts = new int[numbers.length / 4];
        ByteBuffer.wrap(numbers).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(parts);
        new IntroSorter() {
            private int pivot;

            @Override
            protected void setPivot(int at) {
                pivot = rows[at];
            }

            @Override
            protected int comparePivot(int at) {
                return compareRows(pivot, rows[at]);
            }

            @Override
            protected void swap(int one, int other) {
                int row = rows[one];
                rows[one] = rows[other];
                rows[other] = row;
            }

            private int compareRows(int one, int other) {
                byte[] bytes = docids.bytes;
                int order = Arrays.compareUnsigned(
                    bytes, docids.start(other), docids.end(other), bytes, docids.start(one), docids.end(one));
                if (order == 0 && parts.length > 0) order = Integer.compare(parts[one], parts[other]);
                return order == 0 ? Integer.compare(one, other) : order;
            }
        }.sort(0, rows.length);
        ofRow = new int[rows.length];
        for (int rank = 0; rank < rows.length; rank++) ofRow[rows[rank]] = rank;
    }
}

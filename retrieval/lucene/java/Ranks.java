package factseek;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The order of passages with equal scores. */
final class Ranks {
    final int[] ofRow;
    final int[] rows;

    /** Take all rows (int32) in their order, the first first. */
    Ranks(byte[] order) {
        rows = new int[order.length / 4];
        ByteBuffer.wrap(order).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(rows);
        ofRow = new int[rows.length];
        for (int rank = 0; rank < rows.length; rank++) ofRow[rows[rank]] = rank;
    }
}

package factseek;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Many strings in one transfer between Python and Java: their number, the length of each in bytes (int32,
 * little-endian), and their UTF-8. Java receives a byte[]. Python receives a string with one character for each byte,
 * because pyjnius copies a string at once, but a byte[] element by element.
 */
final class Packed {
    final int size;
    private final byte[] bytes;
    private final int[] ends;
    private int next;

    Packed(byte[] bytes) {
        this.bytes = bytes;
        ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        size = bytes.length == 0 ? 0 : buffer.getInt();
        ends = new int[size + 1];
        ends[0] = 4 + 4 * size;
        for (int at = 0; at < size; at++) ends[at + 1] = ends[at] + buffer.getInt();
    }

    String get(int at) {
        return new String(bytes, ends[at], ends[at + 1] - ends[at], StandardCharsets.UTF_8);
    }

    /** Return where the UTF-8 of a string begins in the bytes. */
    int start(int at) {
        return ends[at];
    }

    int end(int at) {
        return ends[at + 1];
    }

    boolean hasNext() {
        return next < size;
    }

    String next() {
        return get(next++);
    }

    int nextInt() {
        return Integer.parseInt(next());
    }

    long nextLong() {
        return Long.parseLong(next());
    }

    static String of(List<String> texts) {
        byte[][] encoded = new byte[texts.size()][];
        int length = 4 + 4 * encoded.length;
        for (int at = 0; at < encoded.length; at++) {
            encoded[at] = texts.get(at).getBytes(StandardCharsets.UTF_8);
            length = Math.addExact(length, encoded[at].length);
        }
        ByteBuffer buffer = buffer(length).putInt(encoded.length);
        for (byte[] text : encoded) buffer.putInt(text.length);
        for (byte[] text : encoded) buffer.put(text);
        return text(buffer);
    }

    static ByteBuffer buffer(int length) {
        return ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Return the bytes of a full buffer as the characters of a string. */
    static String text(ByteBuffer buffer) {
        return new String(buffer.array(), StandardCharsets.ISO_8859_1);
    }
}

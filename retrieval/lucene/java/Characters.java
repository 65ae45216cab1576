package factseek;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What Python says of characters: each version of Python and of Java knows another version of Unicode, and the files of
 * an index must not depend on Java's.
 */
final class Characters {
    static final int LETTER = 1; // a letter or a digit of any script
    static final int MARK = 2; // a combining mark
    static final int DIGIT = 4;
    static final int UNSPACED = 8; // of a script without spaces between words

    private static volatile byte[] kinds = new byte[0];

    private Characters() {}

    /** Set the kinds of the characters: the first and the last of each range, and their kind (int32). */
    static void learn(byte[] ranges) {
        byte[] learnt = new byte[Character.MAX_CODE_POINT + 1];
        ByteBuffer buffer = ByteBuffer.wrap(ranges).order(ByteOrder.LITTLE_ENDIAN);
        while (buffer.hasRemaining()) {
            int first = buffer.getInt();
            int last = buffer.getInt();
            int kind = buffer.getInt();
            for (int character = first; character <= last; character++) learnt[character] |= (byte) kind;
        }
        kinds = learnt;
    }

    /** Say whether a character is of a kind; only ASCII characters are known before {@link #learn}. */
    static boolean is(int kind, int character) {
        return (kinds[character] & kind) != 0;
    }

    static boolean isAsciiLetter(int character) {
        return character >= 'a' && character <= 'z' || character >= 'A' && character <= 'Z';
    }

    static boolean isAsciiDigit(int character) {
        return character >= '0' && character <= '9';
    }

    /** Say whether Python's str.isspace is true of a character: Java's own definitions of a blank differ. */
    static boolean isBlank(int letter) {
        if (letter < 0x80) return letter == ' ' || letter >= '\t' && letter <= '\r' || letter >= 0x1c && letter <= 0x1f;
        return letter == 0x85 || letter == 0xa0 || letter == 0x1680 || letter >= 0x2000 && letter <= 0x200a
            || letter == 0x2028 || letter == 0x2029 || letter == 0x202f || letter == 0x205f || letter == 0x3000;
    }

    /** Return the character that begins at a byte of UTF-8. */
    static int at(byte[] bytes, int at) {
        int first = bytes[at];
        if (first >= 0) return first;
        if (first < (byte) 0xe0) return (first & 0x1f) << 6 | bytes[at + 1] & 0x3f;
        int second = bytes[at + 1] & 0x3f;
        if (first < (byte) 0xf0) return (first & 0x0f) << 12 | second << 6 | bytes[at + 2] & 0x3f;
        return (first & 0x07) << 18 | second << 12 | (bytes[at + 2] & 0x3f) << 6 | bytes[at + 3] & 0x3f;
    }

    /** Return the number of bytes of the character that begins with a byte of UTF-8. */
    static int bytes(byte first) {
        if (first >= 0) return 1;
        return first < (byte) 0xe0 ? 2 : first < (byte) 0xf0 ? 3 : 4;
    }

    /** Change the ASCII capitals between two places to small letters. */
    static void lower(byte[] bytes, int start, int end) {
        for (int at = start; at < end; at++) {
            if (bytes[at] >= 'A' && bytes[at] <= 'Z') bytes[at] += 'a' - 'A';
        }
    }
}

package factseek;

import java.io.Closeable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32;

/**
 * Makes the signatures of texts, as retrieval/store/signatures.py describes them. Python draws the orders, and folds
 * the case of texts that are not ASCII.
 */
public final class Signer implements Closeable {
    private static final int SEEN = 1 << 10;

    private final long[] factors;
    private final long[] shifts;
    private final int bits;
    private final Background<String> background = new Background<>();
    // The words that the current text had, each where its hash says: the next one there takes its place.
    private final int[] seen = new int[SEEN];
    private final int[] seenIn = new int[SEEN];
    private int text;

    private Signer(long[] factors, long[] shifts, int bits) {
        this.factors = factors;
        this.shifts = shifts;
        this.bits = bits;
    }

    /** Open a signer: the factors of the orders and the numbers to add, and the bits to keep of each order. */
    public static long open(byte[] factors, byte[] shifts, int bits) {
        return Handles.keep(new Signer(numbers(factors), numbers(shifts), bits));
    }

    /** Begin to sign texts, and return the signatures of the texts before: none at first. */
    public static String add(long handle, byte[] packed) throws Exception {
        Signer own = Handles.get(handle, Signer.class);
        String before = own.background.next(() -> own.sign(packed));
        return before == null ? "" : before;
    }

    /** Wait for the last texts, return their signatures and close the signer. */
    public static String finish(long handle) throws Exception {
        String last = Handles.get(handle, Signer.class).background.await();
        Handles.close(handle);
        return last == null ? "" : last;
    }

    @Override
    public void close() {
        background.close();
    }

    private static long[] numbers(byte[] packed) {
        long[] numbers = new long[packed.length / 8];
        ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(numbers);
        return numbers;
    }

    private String sign(byte[] packed) {
        Packed texts = new Packed(packed);
        ByteBuffer buffer = Packed.buffer(texts.size * factors.length * bits / 8);
        long[] firsts = new long[factors.length];
        for (int at = 0; at < texts.size; at++) {
            Arrays.fill(firsts, Long.MAX_VALUE);
            text++;
            Characters.lower(packed, texts.start(at), texts.end(at));
            if (!takeWords(packed, texts.start(at), texts.end(at), firsts)) {
                takeWhole(packed, texts.start(at), texts.end(at), firsts);
            }
            write(firsts, buffer);
        }
        return Packed.text(buffer);
    }

    /** Write the last bits of the hash of the first word in each order, those of the first order lowest. */
    private void write(long[] firsts, ByteBuffer buffer) {
        int orders = 64 / bits;
        for (int from = 0; from < firsts.length; from += orders) {
            long word = 0;
            for (int at = 0; at < orders; at++) word |= (firsts[from + at] & (1L << bits) - 1) << at * bits;
            buffer.putLong(word);
        }
    }

    /** Take the words of letters and digits; in scripts without spaces, each pair of letters. Say whether there are any. */
    private boolean takeWords(byte[] bytes, int start, int end, long[] firsts) {
        boolean any = false;
        int first = start;
        boolean isUnspaced = false;
        for (int at = start; at < end; ) {
            int character = Characters.at(bytes, at);
            int next = at + Characters.bytes(bytes[at]);
            if (isLetter(character)) {
                isUnspaced |= character >= 0x80 && Characters.is(Characters.UNSPACED, character);
            } else {
                if (at > first) {
                    takeWord(bytes, first, at, isUnspaced, firsts);
                    any = true;
                }
                first = next;
                isUnspaced = false;
            }
            at = next;
        }
        if (end > first) {
            takeWord(bytes, first, end, isUnspaced, firsts);
            any = true;
        }
        return any;
    }

    private static boolean isLetter(int character) {
        return character < 0x80
            ? Characters.isAsciiLetter(character) || Characters.isAsciiDigit(character)
            : Characters.is(Characters.LETTER, character);
    }

    private void takeWord(byte[] bytes, int start, int end, boolean isUnspaced, long[] firsts) {
        int second = start + Characters.bytes(bytes[start]);
        if (!isUnspaced || second == end) {
            take(bytes, start, end, firsts);
            return;
        }
        for (int at = start; second < end; ) {
            int after = second + Characters.bytes(bytes[second]);
            take(bytes, at, after, firsts);
            at = second;
            second = after;
        }
    }

    /** Take a text without words as a whole, but without the blanks around it. */
    private void takeWhole(byte[] bytes, int start, int end, long[] firsts) {
        int first = end;
        int last = start;
        for (int at = start; at < end; ) {
            int next = at + Characters.bytes(bytes[at]);
            if (!Characters.isBlank(Characters.at(bytes, at))) {
                first = Math.min(first, at);
                last = next;
            }
            at = next;
        }
        take(bytes, Math.min(first, last), last, firsts);
    }

    private void take(byte[] bytes, int start, int end, long[] firsts) {
        CRC32 checksum = new CRC32();
        checksum.update(bytes, start, end - start);
        long number = checksum.getValue();
        int slot = (int) number & SEEN - 1;
        if (seenIn[slot] == text && seen[slot] == (int) number) return;
        seenIn[slot] = text;
        seen[slot] = (int) number;
        for (int order = 0; order < factors.length; order++) {
            long hash = number * factors[order] + shifts[order] >>> 32;
            if (hash < firsts[order]) firsts[order] = hash;
        }
    }
}

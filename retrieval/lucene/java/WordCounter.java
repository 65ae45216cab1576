package factseek;

import java.io.Closeable;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Counts the words of texts in bounded memory: if there are too many words, it drops the rarest. It first counts the
 * chunks between blanks, and splits each chunk into words only once.
 */
public final class WordCounter implements Closeable {
    private final int mostChunks;
    private final int mostBytes;
    private final int mostCounted;
    private final int shortest;
    private final int longest;
    private final ByteCounts chunks = new ByteCounts();
    private final ByteCounts words = new ByteCounts();
    private final Background<String> background = new Background<>();

    private WordCounter(int mostChunks, int mostBytes, int mostCounted, int shortest, int longest) {
        this.mostChunks = mostChunks;
        this.mostBytes = mostBytes;
        this.mostCounted = mostCounted;
        this.shortest = shortest;
        this.longest = longest;
    }

    /**
     * Open a counter of words with the shortest to the longest number of letters. It remembers about mostChunks chunks
     * or mostBytes of them; if it has more than mostCounted words, it keeps half as many.
     */
    public static long open(int mostChunks, int mostBytes, int mostCounted, int shortest, int longest) {
        return Handles.keep(new WordCounter(mostChunks, mostBytes, mostCounted, shortest, longest));
    }

    /** Say of what kind each character is, in ranges: see Characters. */
    public static void learn(byte[] ranges) {
        Characters.learn(ranges);
    }

    /** Begin to count texts; except for ASCII capitals they are folded and in lower case. */
    public static void add(long handle, byte[] packed) throws Exception {
        WordCounter own = Handles.get(handle, WordCounter.class);
        own.background.next(() -> {
            Packed texts = new Packed(packed);
            for (int text = 0; text < texts.size; text++) own.add(packed, texts.start(text), texts.end(text));
            return "";
        });
    }

    /** Begin to sort the words. */
    public static void end(long handle, int most) throws Exception {
        WordCounter own = Handles.get(handle, WordCounter.class);
        own.background.next(() -> own.counted(most));
    }

    /** Wait until all work is done, and return what {@link #end} made: the number of words, their counts, their lines. */
    public static String finish(long handle) throws Exception {
        WordCounter own = Handles.get(handle, WordCounter.class);
        String counted = own.background.await();
        Handles.close(handle);
        return counted;
    }

    @Override
    public void close() {
        background.close();
    }

    private void add(byte[] bytes, int start, int end) {
        Characters.lower(bytes, start, end);
        int chunk = start;
        for (int at = start; at < end; ) {
            int next = at + Characters.bytes(bytes[at]);
            if (Characters.isBlank(Characters.at(bytes, at))) {
                if (at > chunk) chunks.add(bytes, chunk, at, 1);
                chunk = next;
            }
            at = next;
        }
        if (end > chunk) chunks.add(bytes, chunk, end, 1);
        if (chunks.size() > mostChunks || chunks.length() > mostBytes) cut();
    }

    private void cut() {
        for (int chunk = 0; chunk < chunks.size(); chunk++) {
            int start = chunks.start(chunk);
            int end = chunks.end(chunk);
            if (isAscii(chunks.bytes(), start, end)) {
                addAscii(chunks.bytes(), start, end, chunks.count(chunk));
            } else {
                addOthers(chunks.bytes(), start, end, chunks.count(chunk));
            }
        }
        chunks.clear();
        if (words.size() > mostCounted) {
            ByteCounts all = words.take();
            for (int word : all.mostFrequent(mostCounted / 2)) {
                words.add(all.bytes(), all.start(word), all.end(word), all.count(word));
            }
        }
    }

    private static boolean isAscii(byte[] bytes, int start, int end) {
        for (int at = start; at < end; at++) {
            if (bytes[at] < 0) return false;
        }
        return true;
    }

    /** Count the words of letters, and of apostrophes between letters; a word with a digit is none. */
    private void addAscii(byte[] bytes, int start, int end, long count) {
        int at = start;
        while (at < end) {
            int first = at;
            boolean hasDigit = false;
            while (at < end && (Characters.isAsciiLetter(bytes[at]) || Characters.isAsciiDigit(bytes[at]))) {
                hasDigit |= Characters.isAsciiDigit(bytes[at]);
                at++;
            }
            if (at == first) {
                at++;
                continue;
            }
            while (at + 1 < end && bytes[at] == '\'' && Characters.isAsciiLetter(bytes[at + 1])) {
                at++;
                while (at < end && Characters.isAsciiLetter(bytes[at])) at++;
            }
            if (!hasDigit && at - first >= shortest && at - first <= longest) words.add(bytes, first, at, count);
        }
    }

    /** Count the words of letters, marks, and apostrophes and joiners before letters, except in unspaced scripts. */
    private void addOthers(byte[] bytes, int start, int end, long count) {
        int at = start;
        while (at < end) {
            int first = at;
            int length = 0;
            boolean isKept = true;
            while (at < end) {
                int character = Characters.at(bytes, at);
                int next = at + Characters.bytes(bytes[at]);
                boolean isLetter = Characters.is(Characters.LETTER, character);
                boolean joins = length > 0 && (Characters.is(Characters.MARK, character)
                    || isJoiner(character) && next < end && isWordCharacter(Characters.at(bytes, next)));
                if (!isLetter && !joins) break;
                isKept &= !Characters.is(Characters.DIGIT | Characters.UNSPACED, character);
                length++;
                at = next;
            }
            if (isKept && length >= shortest && length <= longest) words.add(bytes, first, at, count);
            if (length == 0) at += Characters.bytes(bytes[at]);
        }
    }

    private static boolean isJoiner(int character) {
        return character == '\'' || character == 0x2019 || character == 0x200c || character == 0x200d;
    }

    private static boolean isWordCharacter(int character) {
        return character == '_' || Characters.is(Characters.LETTER, character);
    }

    private String counted(int most) {
        cut();
        Integer[] kept = words.mostFrequent(most);
        Arrays.sort(kept, words::compare);
        int length = 4 + 8 * kept.length;
        for (int word : kept) length = Math.addExact(length, words.end(word) - words.start(word) + 1);
        ByteBuffer buffer = Packed.buffer(length).putInt(kept.length);
        for (int word : kept) buffer.putLong(words.count(word));
        for (int word : kept) {
            buffer.put(words.bytes(), words.start(word), words.end(word) - words.start(word)).put((byte) '\n');
        }
        return Packed.text(buffer);
    }
}

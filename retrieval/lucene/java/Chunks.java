package factseek;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * A cache of the terms of chunks, which are the texts between two blanks. Python decides which terms a chunk has. Java
 * looks up all chunks of a text in one call, which other threads of Python need not wait for.
 */
public final class Chunks {
    private static final int SLOTS = 1 << 16;
    /** What a term costs besides its characters, in characters: it is an object. */
    private static final int TERM = 24;
    /** The heaviest that a cache may be: a chunk of a script without blanks may have a hundred terms. */
    private static final long HEAVIEST = Runtime.getRuntime().maxMemory() / 128;

    private final int most;
    private final int longest;
    private int size;
    /** The characters of all chunks and of their terms, and {@code TERM} for each term. */
    private long weight;
    /** The chunks by their hash: a map of strings would need a copy of each chunk of each text to look it up. */
    private volatile Chunk[] slots = new Chunk[SLOTS];

    private Chunks(int most, int longest) {
        this.most = most;
        this.longest = longest;
    }

    /** Open a cache of about {@code most} chunks of at most {@code longest} characters. */
    public static long open(int most, int longest) {
        return Handles.keep(new Chunks(most, longest));
    }

    /** Remember chunks: each is followed by its terms, which are separated by line breaks. A full cache is emptied. */
    public static void remember(long handle, byte[] packed) {
        Chunks cache = Handles.get(handle, Chunks.class);
        Packed texts = new Packed(packed);
        while (texts.hasNext()) cache.remember(texts.next(), texts.next());
    }

    private synchronized void remember(String text, String terms) {
        int hash = 0;
        for (int at = 0; at < text.length(); at++) hash = 31 * hash + text.charAt(at);
        if (find(slots, text, 0, text.length(), hash) != null) return;
        if (size >= most || weight >= HEAVIEST) {
            slots = new Chunk[SLOTS];
            size = 0;
            weight = 0;
        }
        Chunk[] current = slots;
        int slot = slot(hash);
        String[] separate = terms.isEmpty() ? new String[0] : terms.split("\n");
        current[slot] = new Chunk(text, separate, current[slot]);
        size++;
        weight += text.length() + terms.length() + (long) TERM * separate.length;
    }

    private static int slot(int hash) {
        return (hash ^ hash >>> 16) & SLOTS - 1;
    }

    private static Chunk find(Chunk[] slots, String text, int start, int end, int hash) {
        Chunk chunk = slots[slot(hash)];
        while (chunk != null && !chunk.is(text, start, end)) chunk = chunk.next;
        return chunk;
    }

    /**
     * Return the places of the chunks of a text that have a wanted term, and of those that are not in the cache: the
     * number of the former, then the start and the end of each chunk, in characters of Python (int32).
     */
    public static String places(long handle, byte[] packedText, byte[] packedTerms) {
        Chunks cache = Handles.get(handle, Chunks.class);
        Chunk[] slots = cache.slots; // another thread may empty the cache at any time
        Packed terms = new Packed(packedTerms);
        Set<String> wanted = new HashSet<>();
        while (terms.hasNext()) wanted.add(terms.next());
        String text = new Packed(packedText).next();
        Places matching = new Places();
        Places unknown = new Places();
        int at = 0; // in characters of Java
        int place = 0; // in characters of Python, which are code points
        while (at < text.length()) {
            if (Characters.isBlank(text.charAt(at))) {
                at++;
                place++;
                continue;
            }
            int begin = at;
            int start = place;
            int hash = 0;
            for (; at < text.length() && !Characters.isBlank(text.charAt(at)); at++) {
                hash = 31 * hash + text.charAt(at);
                if (!Character.isLowSurrogate(text.charAt(at))) place++;
            }
            Chunk known = place - start > cache.longest ? null : find(slots, text, begin, at, hash);
            if (known == null) {
                unknown.add(start, place);
            } else if (known.hasAny(wanted)) {
                matching.add(start, place);
            }
        }
        ByteBuffer buffer = Packed.buffer(4 * (1 + matching.length + unknown.length));
        buffer.putInt(matching.length / 2);
        matching.write(buffer);
        unknown.write(buffer);
        return Packed.text(buffer);
    }

    /** A chunk with its terms, and the next one in the same slot. All is final, so threads may read it at any time. */
    private static final class Chunk {
        private final String text;
        private final String[] terms;
        final Chunk next;

        Chunk(String text, String[] terms, Chunk next) {
            this.text = text;
            this.terms = terms;
            this.next = next;
        }

        boolean is(String other, int start, int end) {
            return end - start == text.length() && other.startsWith(text, start);
        }

        boolean hasAny(Set<String> wanted) {
            for (String term : terms) {
                if (wanted.contains(term)) return true;
            }
            return false;
        }
    }

    /** Starts and ends of chunks, one after the other. */
    private static final class Places {
        private int[] bounds = new int[64];
        private int length;

        void add(int start, int end) {
            if (length == bounds.length) bounds = Arrays.copyOf(bounds, 2 * length);
            bounds[length++] = start;
            bounds[length++] = end;
        }

        void write(ByteBuffer buffer) {
            for (int at = 0; at < length; at++) buffer.putInt(bounds[at]);
        }
    }
}

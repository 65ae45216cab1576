package factseek;

import java.util.Arrays;
import org.apache.lucene.util.ArrayUtil;

/** How often each of many byte strings was added: a map of strings would need an object for each. */
final class ByteCounts {
    private byte[] bytes = new byte[1 << 16];
    private int[] ends = new int[1 << 10]; // the end of each string in all bytes; it begins where the one before ends
    private long[] counts = new long[1 << 10];
    private int[] slots = new int[1 << 12]; // the number of a string plus 1, in the first free slot from its hash
    private int size;

    int size() {
        return size;
    }

    /** Return the number of bytes of all strings. */
    int length() {
        return start(size);
    }

    byte[] bytes() {
        return bytes;
    }

    int start(int number) {
        return number == 0 ? 0 : ends[number - 1];
    }

    int end(int number) {
        return ends[number];
    }

    long count(int number) {
        return counts[number];
    }

    /** Count the string between two places of an array. */
    void add(byte[] from, int start, int end, long count) {
        int slot = slot(from, start, end);
        if (slots[slot] == 0) {
            int length = length();
            bytes = ArrayUtil.grow(bytes, Math.addExact(length, end - start));
            System.arraycopy(from, start, bytes, length, end - start);
            ends = ArrayUtil.grow(ends, size + 1);
            counts = ArrayUtil.grow(counts, size + 1);
            ends[size] = length + end - start;
            counts[size] = count;
            slots[slot] = ++size;
            if (2 * size > slots.length) rehash();
        } else {
            counts[slots[slot] - 1] += count;
        }
    }

    /** Move all strings to a new object, so that this one is empty. */
    ByteCounts take() {
        ByteCounts all = new ByteCounts();
        all.bytes = bytes;
        all.ends = ends;
        all.counts = counts;
        all.size = size;
        bytes = new byte[1 << 16];
        ends = new int[1 << 10];
        counts = new long[1 << 10];
        clear();
        return all;
    }

    void clear() {
        size = 0;
        Arrays.fill(slots, 0);
    }

    /** Return the numbers of the most frequent strings, the most frequent first, and by bytes where counts are equal. */
    Integer[] mostFrequent(int most) {
        Integer[] numbers = new Integer[size];
        for (int number = 0; number < size; number++) numbers[number] = number;
        if (size <= most) return numbers;
        Arrays.sort(numbers, (one, other) -> {
            int order = Long.compare(counts[other], counts[one]);
            return order != 0 ? order : compare(one, other);
        });
        return Arrays.copyOf(numbers, most);
    }

    /** Compare two strings by their bytes, which is the order of their characters. */
    int compare(int one, int other) {
        return Arrays.compareUnsigned(bytes, start(one), end(one), bytes, start(other), end(other));
    }

    private int slot(byte[] from, int start, int end) {
        int hash = 0;
        for (int at = start; at < end; at++) hash = 31 * hash + from[at];
        int slot = (hash ^ hash >>> 16) * 0x9e3779b9 >>> 1 & slots.length - 1;
        while (slots[slot] != 0) {
            int known = slots[slot] - 1;
            if (Arrays.equals(bytes, start(known), end(known), from, start, end)) break;
            slot = slot + 1 & slots.length - 1;
        }
        return slot;
    }

    private void rehash() {
        slots = new int[2 * slots.length];
        for (int number = 0; number < size; number++) slots[slot(bytes, start(number), end(number))] = number + 1;
    }
}

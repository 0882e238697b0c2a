package io.weir.topics.algorithm;

import java.util.Arrays;

/**
 * Entries by the key of a {@link Schedule}, the smallest first, at the same key in the order of joining: a heap over
 * three arrays with four children a node, so a line of a thousand is five levels deep. Keys compare by difference.
 */
final class KeyedQueue implements EntryQueue {
    private static final int CHILDREN = 4;

    private final Schedule schedule;
    private final int most;
    private final long maxDelayNs;
    private long[] keys = new long[16];
    private long[] sequences = new long[16];
    private long[] entries = new long[16];
    private int size;
    private long joined;

    KeyedQueue(Schedule schedule, int most, long maxDelayNs) {
        this.schedule = schedule;
        this.most = most;
        this.maxDelayNs = maxDelayNs;
    }

    @Override
    public boolean add(long entry, MessageTag tag) {
        if (size >= most) {
            return false;
        }
        if (size == entries.length) {
            keys = Arrays.copyOf(keys, size * 2);
            sequences = Arrays.copyOf(sequences, size * 2);
            entries = Arrays.copyOf(entries, size * 2);
        }
        long key = schedule.key(tag, maxDelayNs);
        int at = size++;
        while (at > 0) {
            int parent = (at - 1) / CHILDREN;
            // The new one has the highest sequence, so at the same key it stays behind.
            if (keys[parent] - key <= 0) {
                break;
            }
            move(parent, at);
            at = parent;
        }
        put(at, key, joined++, entry);
        return true;
    }

    @Override
    public long peek() {
        requireSome();
        return entries[0];
    }

    @Override
    public long poll() {
        requireSome();
        long first = entries[0];
        int last = --size;
        long key = keys[last];
        long sequence = sequences[last];
        int at = 0;
        while (CHILDREN * at + 1 < size) {
            int child = smallestChild(at);
            if (before(key, sequence, keys[child], sequences[child])) {
                break;
            }
            move(child, at);
            at = child;
        }
        put(at, key, sequence, entries[last]);
        return first;
    }

    private int smallestChild(int of) {
        int smallest = CHILDREN * of + 1;
        int end = Math.min(size, smallest + CHILDREN);
        for (int child = smallest + 1; child < end; child++) {
            if (before(keys[child], sequences[child], keys[smallest], sequences[smallest])) {
                smallest = child;
            }
        }
        return smallest;
    }

    @Override
    public int size() {
        return size;
    }

    private static boolean before(long key, long sequence, long otherKey, long otherSequence) {
        return key - otherKey < 0 || key == otherKey && sequence - otherSequence < 0;
    }

    private void move(int from, int to) {
        put(to, keys[from], sequences[from], entries[from]);
    }

    private void put(int at, long key, long sequence, long entry) {
        keys[at] = key;
        sequences[at] = sequence;
        entries[at] = entry;
    }

    private void requireSome() {
        if (size == 0) {
            throw new IllegalStateException("the queue is empty");
        }
    }
}

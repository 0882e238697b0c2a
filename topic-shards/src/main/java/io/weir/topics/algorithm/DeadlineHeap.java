package io.weir.topics.algorithm;

import io.weir.topics.algorithm.LongSegments.Segment;
import java.util.Arrays;

/**
 * Longs by deadline, the earliest first: a binary heap whose memory follows its size, segment by segment. Deadlines
 * compare by difference.
 */
public final class DeadlineHeap {
    /** A deadline and its item stand side by side. */
    private static final int PAIRS_BITS = Integer.numberOfTrailingZeros(LongSegments.LENGTH) - 1;

    private static final int PAIRS = 1 << PAIRS_BITS;
    private static final Segment[] NONE = {};

    private final LongSegments segments;
    private Segment[] own = NONE;
    private int ownCount;
    private int size;

    public DeadlineHeap(LongSegments segments) {
        this.segments = segments;
    }

    public void add(long deadlineNs, long item) {
        if (size == ownCount << PAIRS_BITS) {
            if (ownCount == own.length) {
                own = Arrays.copyOf(own, Math.max(4, ownCount * 2));
            }
            own[ownCount++] = segments.take();
        }
        int at = size++;
        while (at > 0) {
            int parent = (at - 1) / 2;
            if (deadlineNs(parent) - deadlineNs <= 0) {
                break;
            }
            put(at, deadlineNs(parent), item(parent));
            at = parent;
        }
        put(at, deadlineNs, item);
    }

    public boolean isEmpty() {
        return size == 0;
    }

    public int size() {
        return size;
    }

    /** The earliest; only if there is one. */
    public long deadlineNs() {
        requireSome();
        return deadlineNs(0);
    }

    /** Takes the item of the earliest deadline. */
    public long poll() {
        requireSome();
        long item = item(0);
        long lastNs = deadlineNs(--size);
        long lastItem = item(size);
        int at = 0;
        int child = 1;
        while (child < size) {
            if (child + 1 < size && deadlineNs(child + 1) - deadlineNs(child) < 0) {
                child++;
            }
            if (lastNs - deadlineNs(child) <= 0) {
                break;
            }
            put(at, deadlineNs(child), item(child));
            at = child;
            child = 2 * at + 1;
        }
        put(at, lastNs, lastItem);
        giveBack();
        return item;
    }

    /** One segment more than it needs stays, unless it is empty: one that comes and goes there costs nothing. */
    private void giveBack() {
        int needed = size == 0 ? 0 : (size + PAIRS - 1 >> PAIRS_BITS) + 1;
        while (ownCount > needed) {
            segments.give(own[--ownCount]);
            own[ownCount] = null;
        }
        if (size == 0) {
            own = NONE;
        }
    }

    private long deadlineNs(int at) {
        return own[at >> PAIRS_BITS].items[(at & PAIRS - 1) << 1];
    }

    private long item(int at) {
        return own[at >> PAIRS_BITS].items[((at & PAIRS - 1) << 1) + 1];
    }

    private void put(int at, long deadlineNs, long item) {
        long[] items = own[at >> PAIRS_BITS].items;
        int pair = (at & PAIRS - 1) << 1;
        items[pair] = deadlineNs;
        items[pair + 1] = item;
    }

    private void requireSome() {
        if (size == 0) {
            throw new IllegalStateException("the heap is empty");
        }
    }
}

package io.weir.topics.algorithm;

import io.weir.topics.algorithm.LongSegments.Segment;

/**
 * A first-in-first-out queue of longs that grows when it must; whoever fills it keeps to a bound. Its memory follows
 * its size, segment by segment, and an empty one has none: nothing is copied when it grows, however long it is.
 */
public final class LongRing {
    private final LongSegments segments;
    /** Null while it is empty, as {@link #tail}. */
    private Segment head;

    private Segment tail;
    private int headAt;
    /** Where the next one goes; at the segment's end also while there is no segment. */
    private int tailAt = LongSegments.LENGTH;

    private int size;

    public LongRing(LongSegments segments) {
        this.segments = segments;
    }

    public void add(long item) {
        if (tailAt == LongSegments.LENGTH) {
            append();
        }
        tail.items[tailAt++] = item;
        size++;
    }

    private void append() {
        Segment segment = segments.take();
        if (tail == null) {
            head = segment;
            headAt = 0;
        } else {
            tail.next = segment;
        }
        tail = segment;
        tailAt = 0;
    }

    public long peek() {
        requireSome();
        return head.items[headAt];
    }

    /** The one behind so many others; only if there are so many. Takes longer the more segments lie between. */
    public long get(int behind) {
        if (behind < 0 || behind >= size) {
            throw new IllegalStateException(behind + " is not within the ring's " + size);
        }
        Segment segment = head;
        int at = headAt + behind;
        while (at >= LongSegments.LENGTH) {
            segment = segment.next;
            at -= LongSegments.LENGTH;
        }
        return segment.items[at];
    }

    public long poll() {
        long item = peek();
        headAt++;
        size--;
        if (size == 0 || headAt == LongSegments.LENGTH) {
            removeFirst();
        }
        return item;
    }

    private void removeFirst() {
        Segment first = head;
        head = first.next;
        headAt = 0;
        if (head == null) {
            tail = null;
            tailAt = LongSegments.LENGTH;
        }
        segments.give(first);
    }

    public int size() {
        return size;
    }

    public boolean isEmpty() {
        return size == 0;
    }

    private void requireSome() {
        if (size == 0) {
            throw new IllegalStateException("the ring is empty");
        }
    }
}

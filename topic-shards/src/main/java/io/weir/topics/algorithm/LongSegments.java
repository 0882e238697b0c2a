package io.weir.topics.algorithm;

/**
 * Memory for queues of longs, in segments that all queues of one message path share: a queue that shrinks gives at once
 * what another one needs, and what is filled and emptied again and again allocates nothing. Segments that nobody needed
 * between two calls of {@link #trim} go to the garbage collector.
 */
public final class LongSegments {
    /** Small, because a queue with one entry has a whole segment. */
    static final int LENGTH = 64;

    static final class Segment {
        final long[] items = new long[LENGTH];
        /** Of the same queue; or of the spare ones. */
        Segment next;
    }

    private Segment spare;
    private int spares;
    /** The fewest there were since the last {@link #trim}. */
    private int leastSpares;

    private int taken;

    Segment take() {
        taken++;
        Segment segment = spare;
        if (segment == null) {
            return new Segment();
        }
        spare = segment.next;
        segment.next = null;
        leastSpares = Math.min(leastSpares, --spares);
        return segment;
    }

    void give(Segment segment) {
        taken--;
        segment.next = spare;
        spare = segment;
        spares++;
    }

    /** Lets go of those that were spare all the time since the last call. */
    public void trim() {
        for (int i = 0; i < leastSpares; i++) {
            spare = spare.next;
        }
        spares -= leastSpares;
        leastSpares = spares;
    }

    /** Of segments in use and spare ones. */
    public long bytes() {
        return (long) (taken + spares) * LENGTH * Long.BYTES;
    }
}

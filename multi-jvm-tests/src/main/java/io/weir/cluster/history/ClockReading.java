package io.weir.cluster.history;

import java.util.function.LongSupplier;

/**
 * How {@code nanoTime} and the wall clock stand to each other at a moment. Two clocks can't be read at once, and a
 * thread may lose its core between the two readings. So the wall clock is read between two readings of the other; the
 * distance of these is the error. Without that, all events that a store shows in one reading would come out too early
 * by such a pause.
 *
 * @param epochNs what {@code nanoTime} was when the wall clock was 0
 * @param errorNs how far from that it may have been
 */
record ClockReading(long epochNs, long errorNs) {
    private static final int TRIES = 20;
    private static final long GOOD_NS = 50_000;
    private static final long MS = 1_000_000L;

    /** The best of several readings, or the first good one. */
    static ClockReading read(LongSupplier nanoTime, LongSupplier wallMs) {
        ClockReading best = null;
        for (int i = 0; i < TRIES && (best == null || best.errorNs > GOOD_NS); i++) {
            long beforeNs = nanoTime.getAsLong();
            long nowMs = wallMs.getAsLong();
            long betweenNs = (nanoTime.getAsLong() - beforeNs) / 2;
            if (best == null || betweenNs < best.errorNs) {
                best = new ClockReading(beforeNs + betweenNs - nowMs * MS, betweenNs);
            }
        }
        return best;
    }

    long nanoTime(long ofWallMs) {
        return epochNs + ofWallMs * MS;
    }
}

package io.weir.cluster.failpoints.armed;

import java.util.function.LongSupplier;

/**
 * A clock that runs at a rate of the true one, from the moment it was made. Whole parts in ten million, so that both
 * directions are exact integers: a double has 53 bits, and nanoseconds of a machine that is up for long need more.
 */
final class SkewedClock implements LongSupplier {
    private static final long PARTS = 10_000_000;

    private final LongSupplier trueClock;
    private final long beginNs;
    private final long parts;

    SkewedClock(double rate, LongSupplier trueClock) {
        this.trueClock = trueClock;
        parts = Math.round(rate * PARTS);
        beginNs = trueClock.getAsLong();
    }

    @Override
    public long getAsLong() {
        return beginNs + scaled(trueClock.getAsLong() - beginNs, parts, PARTS);
    }

    /** When this clock showed {@code skewedNs}, to the nanosecond. */
    long trueNs(long skewedNs) {
        return beginNs + scaled(skewedNs - beginNs, PARTS, parts);
    }

    /** ns·numerator/denominator, rounded down; in two parts, so that ten years fit. */
    private static long scaled(long ns, long numerator, long denominator) {
        long whole = Math.floorDiv(ns, denominator);
        long rest = Math.floorMod(ns, denominator);
        return whole * numerator + Math.floorDiv(rest * numerator, denominator);
    }
}

package io.weir.limiter.simulation.supply;

/**
 * C1 while limits change: R, B = what exists; V ← max(V − R·Δt, −B) + cost, and V ≤ 0. −V is the most that a single bucket
 * of that history could hold, so the bound is broken exactly when V rises above 0. V is kept in billionths of a micro-token over
 * a whole part, apart from the bucket's own arithmetic.
 */
public final class MovingBound {
    private static final long NANOS = 1_000_000_000L;

    private long rateMicros;
    private long burstMicros;
    private long valueMicros;
    /** Billionths that V lies below {@link #valueMicros}. */
    private long below;

    private long lastNs;
    private long worstMicros = Long.MIN_VALUE;

    public void change(long rate, long burst, long level, long nowNs) {
        drain(nowNs);
        rateMicros += rate;
        burstMicros += burst;
        valueMicros -= level;
        floor();
    }

    /** Counts one admission; answers by how many micro-tokens it was too much, or 0. */
    public long admitted(long costMicros, long nowNs) {
        drain(nowNs);
        valueMicros += costMicros;
        worstMicros = Math.max(worstMicros, valueMicros);
        return below > 0 ? Math.max(0, valueMicros - 1) : Math.max(0, valueMicros);
    }

    long rateMicros() {
        return rateMicros;
    }

    long burstMicros() {
        return burstMicros;
    }

    long valueMicros() {
        return valueMicros;
    }

    private void drain(long nowNs) {
        long elapsed = nowNs - lastNs;
        if (elapsed < 0) {
            throw new IllegalArgumentException("time ran back by " + -elapsed + " ns");
        }
        lastNs = nowNs;
        long seconds = elapsed / NANOS;
        long billionths = Math.multiplyExact(rateMicros, elapsed % NANOS) + below;
        valueMicros -= Math.multiplyExact(rateMicros, seconds) + billionths / NANOS;
        below = billionths % NANOS;
        floor();
    }

    private void floor() {
        if (valueMicros <= -burstMicros) {
            valueMicros = -burstMicros;
            below = 0;
        }
    }
}

package io.weir.limiter.simulation.supply;

/**
 * C1 while limits change: R, B = what exists; V ← max(V − R·Δt, −B) + cost, and V ≤ 0. −V is the most that a single
 * bucket of that history could hold, so the bound is broken exactly when V rises above 0. V is kept in billionths of a
 * micro-token over a whole part, apart from the bucket's own arithmetic.
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

    /** Counts one admission; answers by how many micro-tokens, rounded up, it was too much, or 0. */
    public long admitted(long costMicros, long nowNs) {
        drain(nowNs);
        valueMicros += costMicros;
        worstMicros = Math.max(worstMicros, valueMicros);
        return Math.max(0, valueMicros);
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
        if (rateMicros <= 0) {
            return;
        }
        long seconds = elapsed / NANOS;
        // The bucket is full long before a product of a long pause could overflow.
        if (seconds > (valueMicros + burstMicros) / rateMicros + 1) {
            valueMicros = -burstMicros;
            below = 0;
            return;
        }
        // The rate in whole micro-tokens a nanosecond and a rest, each of whose products fits.
        long rest = rateMicros % NANOS;
        long billionths = rest * (elapsed % NANOS) + below;
        valueMicros -= rateMicros / NANOS * elapsed + rest * seconds + billionths / NANOS;
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

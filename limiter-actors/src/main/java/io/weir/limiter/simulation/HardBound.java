package io.weir.limiter.simulation;

import io.weir.config.value.Limit;

/**
 * The check C1 in one pass over all admissions in the order of time: V ← max(0, V − r·Δt) + cost, and V ≤ b. It holds
 * exactly if no interval of any length t admitted more than b + r·t. Whole numbers with the remainder kept, and its own
 * arithmetic instead of the bucket's, so that it does not share the bucket's errors.
 */
public final class HardBound {
    private static final long NANOS = 1_000_000_000L;

    private final long wholeMicrosPerNs;
    private final long restMicrosPerSecond;
    private final long burstMicros;
    private long levelMicros;
    /** What drained already of the micro-token on top, in billionths: V rounded up is the level. */
    private long remainder;

    private long lastNs;
    private long worstMicros;

    public HardBound(Limit limit, long nowNs) {
        wholeMicrosPerNs = limit.rateMicros() / NANOS;
        restMicrosPerSecond = limit.rateMicros() % NANOS;
        burstMicros = limit.burstMicros();
        lastNs = nowNs;
    }

    public void admitted(long costMicros, long nowNs) {
        drain(nowNs - lastNs);
        lastNs = nowNs;
        levelMicros += costMicros;
        worstMicros = Math.max(worstMicros, levelMicros);
    }

    /** By how much more than allowed some interval admitted, in micro-tokens; 0 if the bound held. */
    public long excessMicros() {
        return Math.max(0, worstMicros - burstMicros);
    }

    private void drain(long elapsedNs) {
        if (elapsedNs < 0) {
            throw new IllegalArgumentException("admissions are not in the order of time: " + elapsedNs + " ns");
        }
        for (long left = elapsedNs; left > 0 && levelMicros > 0; left -= NANOS) {
            long ns = Math.min(left, NANOS);
            long billionths = restMicrosPerSecond * ns + remainder;
            levelMicros -= wholeMicrosPerNs * ns + billionths / NANOS;
            remainder = billionths % NANOS;
        }
        if (levelMicros <= 0) {
            levelMicros = 0;
            remainder = 0;
        }
    }
}

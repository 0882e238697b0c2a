package io.weir.limiter.algorithm;

/**
 * A quantity that was measured, with its error: it is nearly certain to lie between the bounds. Whoever wants supply
 * claims what it needs at {@linkplain #leastMicros least}; whoever gives keeps what it may need at
 * {@linkplain #mostMicros most}. So what is within the error of measurement moves nothing.
 *
 * @param leastMicros the lower bound
 * @param meanMicros the best guess
 * @param mostMicros the upper bound
 */
public record Estimate(long leastMicros, long meanMicros, long mostMicros) {
    public static final Estimate NONE = exactly(0);

    public Estimate {
        if (leastMicros < 0 || leastMicros > meanMicros || meanMicros > mostMicros) {
            throw new IllegalArgumentException(
                    "no estimate: " + meanMicros + " between " + leastMicros + " and " + mostMicros);
        }
    }

    /** A quantity that is known. */
    public static Estimate exactly(long micros) {
        return new Estimate(micros, micros, micros);
    }

    /** The same in another unit. */
    Estimate times(double factor) {
        return new Estimate((long) (leastMicros * factor), (long) (meanMicros * factor), (long) (mostMicros * factor));
    }
}

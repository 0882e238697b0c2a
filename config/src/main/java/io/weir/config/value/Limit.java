package io.weir.config.value;

/**
 * A topic's limit (r, b): in every interval of length t the whole cluster admits at most {@code burst + rate·t}
 * messages.
 *
 * <p>Both are held in millionths of a message ("micro-tokens"), because shares of them move between brokers and must
 * add up to the last unit. The bounds keep every product of the token bucket's arithmetic inside a {@code long}.
 *
 * @param rateMicros micro-tokens a second
 * @param burstMicros micro-tokens
 */
public record Limit(long rateMicros, long burstMicros) {
    /** Micro-tokens a message of cost one takes. */
    public static final long MICROS = 1_000_000L;

    /** One message in about eleven days; below it a rate is a mistake, not a limit. */
    public static final long MIN_RATE_MICROS = 1L;

    /** A billion messages a second. */
    public static final long MAX_RATE_MICROS = 1_000_000_000L * MICROS;

    /** A billion messages at once. */
    public static final long MAX_BURST_MICROS = 1_000_000_000L * MICROS;

    public Limit {
        if (rateMicros < MIN_RATE_MICROS || rateMicros > MAX_RATE_MICROS) {
            throw new IllegalArgumentException("rate " + rateMicros / (double) MICROS
                    + " messages/s is not allowed: it must be above 0 and at most 1,000,000,000");
        }
        if (burstMicros < MICROS || burstMicros > MAX_BURST_MICROS) {
            throw new IllegalArgumentException("burst " + burstMicros / (double) MICROS
                    + " messages is not allowed: it must hold at least 1 message and at most 1,000,000,000");
        }
    }

    public static Limit of(double messagesPerSecond, double burstMessages) {
        return new Limit(micros("rate", messagesPerSecond), micros("burst", burstMessages));
    }

    private static long micros(String what, double messages) {
        if (!Double.isFinite(messages) || Math.abs(messages) > Long.MAX_VALUE / (double) MICROS) {
            throw new IllegalArgumentException(what + " " + messages + " is not a number that a limit can hold");
        }
        return Math.round(messages * MICROS);
    }

    public double ratePerSecond() {
        return rateMicros / (double) MICROS;
    }

    public double burstMessages() {
        return burstMicros / (double) MICROS;
    }
}

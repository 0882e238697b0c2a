package io.weir.limiter.algorithm;

import io.weir.config.value.Limit;
import java.util.ArrayList;
import java.util.List;

/**
 * One broker's part (ρ, β) of a topic's limit (r, b), or a part of such a part on its way. Whole micro-tokens, so that
 * shares add up to the limit exactly.
 *
 * @param rateMicros ρ in micro-tokens a second
 * @param burstMicros β in micro-tokens
 */
public record Share(long rateMicros, long burstMicros) {
    public static final Share NONE = new Share(0, 0);

    public Share {
        if (rateMicros < 0 || burstMicros < 0) {
            throw new IllegalArgumentException("share (" + rateMicros + ", " + burstMicros + ") is below 0");
        }
    }

    /**
     * The limit in equal parts, as both seeds start. If b is too small to give every broker the one message that a rate
     * needs, as many brokers as can have one share the limit and the others wait for the ring.
     */
    public static List<Share> even(Limit limit, int brokers) {
        long holders = Math.min(brokers, limit.burstMicros() / Limit.MICROS);
        List<Share> shares = new ArrayList<>(brokers);
        for (int i = 0; i < brokers; i++) {
            shares.add(
                    i < holders
                            ? new Share(part(limit.rateMicros(), i, holders), part(limit.burstMicros(), i, holders))
                            : NONE);
        }
        return shares;
    }

    private static long part(long whole, int index, long parts) {
        return whole / parts + (index < whole % parts ? 1 : 0);
    }

    public Share plus(Share other) {
        return new Share(rateMicros + other.rateMicros, burstMicros + other.burstMicros);
    }

    public Share minus(Share other) {
        return new Share(rateMicros - other.rateMicros, burstMicros - other.burstMicros);
    }

    /** What of this lies above {@code other}, each of rate and burst by itself. */
    public Share above(Share other) {
        return new Share(Math.max(0, rateMicros - other.rateMicros), Math.max(0, burstMicros - other.burstMicros));
    }

    public boolean isNone() {
        return rateMicros == 0 && burstMicros == 0;
    }

    /** Whether its rate can ever admit a message: ρ > 0 wants β of at least one message. */
    public boolean admits() {
        return burstMicros >= Limit.MICROS;
    }
}

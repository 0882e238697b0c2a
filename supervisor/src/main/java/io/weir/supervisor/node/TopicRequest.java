package io.weir.supervisor.node;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Sharing;
import io.weir.topics.Topic;
import java.util.Locale;

/**
 * What a caller wants a topic's limit to be; null is "as it is".
 *
 * @param rate messages a second
 * @param burst messages
 * @param adapt gossip, adaptor or static
 * @param floor φ, 0 to 1
 */
public record TopicRequest(Double rate, Double burst, String adapt, Double floor) {
    /** @throws IllegalArgumentException with the reason, if no topic can be like this */
    Topic.Definition definition() {
        if (rate == null || burst == null) {
            throw new IllegalArgumentException(
                    "a new topic needs a limit: rate (messages a second) and burst (messages)");
        }
        Limit limit = Limit.of(rate, burst);
        Integer permille = floorPermille();
        Sharing sharing = sharing();
        return new Topic.Definition(
                limit.rateMicros(),
                limit.burstMicros(),
                permille == null ? 0 : permille,
                sharing == null ? Sharing.DEFAULT : sharing);
    }

    /** The same rules for what is given only. */
    TopicRequest checked() {
        if (rate == null && burst == null && adapt == null && floor == null) {
            throw new IllegalArgumentException("nothing is to change: give rate, burst, adapt or floor");
        }
        rateMicros();
        burstMicros();
        floorPermille();
        sharing();
        return this;
    }

    Long rateMicros() {
        return rate == null ? null : Limit.of(rate, 1).rateMicros();
    }

    Long burstMicros() {
        return burst == null ? null : Limit.of(1, burst).burstMicros();
    }

    Integer floorPermille() {
        if (floor == null) {
            return null;
        }
        if (!(floor >= 0 && floor <= 1)) {
            throw new IllegalArgumentException("floor " + floor + " is not a part of the limit: 0 to 1");
        }
        return (int) Math.round(floor * 1_000);
    }

    Sharing sharing() {
        if (adapt == null) {
            return null;
        }
        try {
            return Sharing.valueOf(adapt.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("adapt '" + adapt + "' is not known: gossip, adaptor or static");
        }
    }
}

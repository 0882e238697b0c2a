package io.weir.supervisor.node;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Sharing;
import io.weir.topics.definition.Borrow;
import io.weir.topics.definition.BucketClock;
import io.weir.topics.definition.LimitMode;
import io.weir.topics.definition.Overflow;
import io.weir.topics.definition.TopicDefinition.Delivery;
import io.weir.topics.definition.TopicDefinition.DeliveryChange;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * What a caller wants a topic to be; null is "as it is", or the default where nothing is yet.
 *
 * @param rate messages a second
 * @param burst messages
 * @param adapt placed, gossip, adaptor or static
 * @param floor φ, 0 to 1
 * @param mode shape, police or shadow
 * @param maxDelayMs the longest that a message waits for its token
 * @param maxWaiting messages that may wait for a token at one broker
 * @param maxQueued messages that may wait for consumers, in each channel at one broker
 * @param overflow hold-back or drop-oldest
 * @param clock gate or arrival: the time that the limit holds over
 * @param borrow on, off or auto: whether brokers lend each other tokens
 * @param indicator what neighbours compare when they divide the limit: fill-ratio, spare-bandwidth, utilisation,
 *     mean-response-time or discard-rate
 */
public record TopicRequest(
        Double rate,
        Double burst,
        String adapt,
        Double floor,
        String mode,
        Long maxDelayMs,
        Integer maxWaiting,
        Integer maxQueued,
        String overflow,
        String clock,
        String borrow,
        String indicator) {

    /** Brokers lend each other tokens as the sharing says, and the indicator is the usual one. */
    public TopicRequest(
            Double rate,
            Double burst,
            String adapt,
            Double floor,
            String mode,
            Long maxDelayMs,
            Integer maxWaiting,
            Integer maxQueued,
            String overflow,
            String clock) {
        this(rate, burst, adapt, floor, mode, maxDelayMs, maxWaiting, maxQueued, overflow, clock, null, null);
    }

    /** Only about the limit. */
    public static TopicRequest limit(Double rate, Double burst, String adapt, Double floor) {
        return limit(rate, burst, adapt, floor, null);
    }

    /** The same with an indicator. */
    public static TopicRequest limit(Double rate, Double burst, String adapt, Double floor, String indicator) {
        return new TopicRequest(rate, burst, adapt, floor, null, null, null, null, null, null, null, indicator);
    }

    /** @throws IllegalArgumentException with the reason, if no topic can be like this */
    LimitSettings newLimit() {
        if (rate == null || burst == null) {
            throw new IllegalArgumentException(
                    "a new topic needs a limit: rate (messages a second) and burst (messages)");
        }
        Limit limit = Limit.of(rate, burst);
        Integer permille = floorPermille();
        Sharing sharing = sharing();
        return new LimitSettings(
                limit.rateMicros(),
                limit.burstMicros(),
                permille == null ? 0 : permille,
                sharing == null ? Sharing.DEFAULT : sharing,
                indicator == null ? Indicator.DEFAULT : comparedBy());
    }

    /** What a channel may hand out: nothing but rate and burst. */
    public static TopicRequest channelLimit(double rate, double burst) {
        return limit(rate, burst, null, null);
    }

    /** @throws IllegalArgumentException with the reason, if no channel can have such a limit */
    Limit channelLimit() {
        if (rate == null || burst == null) {
            throw new IllegalArgumentException(
                    "a channel's limit has both a rate (messages a second) and a burst (messages)");
        }
        if (!equals(channelLimit(rate, burst))) {
            throw new IllegalArgumentException(
                    "a channel's limit has a rate and a burst only; the rest is its topic's");
        }
        return Limit.of(rate, burst);
    }

    /** The same rules for what is given only. */
    public TopicRequest checked() {
        if (rate == null && burst == null && adapt == null && floor == null && indicator == null) {
            throw new IllegalArgumentException("nothing is to change: give rate, burst, adapt, floor or indicator");
        }
        rateMicros();
        burstMicros();
        floorPermille();
        sharing();
        comparedBy();
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
        return oneOf("adapt", adapt, Sharing.values());
    }

    Indicator comparedBy() {
        return oneOf("indicator", indicator, Indicator.values());
    }

    /** @throws IllegalArgumentException with the reason, if no topic can be like this */
    DeliveryChange deliveryChange() {
        DeliveryChange change = new DeliveryChange(
                oneOf("mode", mode, LimitMode.values()),
                maxDelayMs,
                maxWaiting,
                maxQueued,
                oneOf("overflow", overflow, Overflow.values()),
                oneOf("clock", clock, BucketClock.values()),
                oneOf("borrow", borrow, Borrow.values()));
        change.on(Delivery.defaults());
        return change;
    }

    private static <E extends Enum<E>> E oneOf(String what, String value, E[] all) {
        if (value == null) {
            return null;
        }
        List<String> names = Arrays.stream(all).map(TopicRequest::word).toList();
        int at = names.indexOf(value.toLowerCase(Locale.ROOT));
        if (at < 0) {
            throw new IllegalArgumentException(
                    what + " '" + value + "' is not known: one of " + String.join(", ", names));
        }
        return all[at];
    }

    /** As users write it: hold-back for HOLD_BACK. */
    static String word(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}

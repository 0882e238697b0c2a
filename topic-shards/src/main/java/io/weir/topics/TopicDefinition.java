package io.weir.topics;

import io.weir.config.CrossesNodes;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * All that is laid down about a topic.
 *
 * @param revision goes up with every change of anything
 * @param limitVersion goes up with every change of the limit
 * @param channels by name
 */
public record TopicDefinition(
        TopicName name,
        long revision,
        long limitVersion,
        LimitSettings limit,
        Delivery delivery,
        boolean paused,
        Map<String, ChannelSettings> channels,
        boolean deleted)
        implements CrossesNodes {

    /**
     * How much may pass, and how brokers share it.
     *
     * @param floorPermille φ in thousandths
     */
    public record LimitSettings(long rateMicros, long burstMicros, int floorPermille, Sharing sharing) {
        static final LimitSettings NONE = new LimitSettings(0, 0, 0, Sharing.DEFAULT);

        Share share() {
            return new Share(rateMicros, burstMicros);
        }
    }

    /** What happens to messages at a broker; {@link TopicSettings} has the rules. */
    public record Delivery(
            LimitMode mode, long maxDelayMs, int maxWaiting, int maxQueued, Overflow overflow, BucketClock clock) {
        public Delivery {
            // Definitions that were written before there was a choice have none.
            clock = clock == null ? BucketClock.GATE : clock;
            settings(mode, maxDelayMs, maxWaiting, maxQueued, overflow, clock);
        }

        /** By the gate's clock. */
        public Delivery(LimitMode mode, long maxDelayMs, int maxWaiting, int maxQueued, Overflow overflow) {
            this(mode, maxDelayMs, maxWaiting, maxQueued, overflow, BucketClock.GATE);
        }

        public static Delivery defaults() {
            TopicSettings settings = TopicSettings.defaults();
            return new Delivery(
                    settings.mode(),
                    TimeUnit.NANOSECONDS.toMillis(settings.maxDelayNs()),
                    settings.maxWaiting(),
                    settings.maxQueued(),
                    settings.overflow(),
                    settings.clock());
        }

        public TopicSettings settings() {
            return settings(mode, maxDelayMs, maxWaiting, maxQueued, overflow, clock);
        }

        private static TopicSettings settings(
                LimitMode mode, long maxDelayMs, int maxWaiting, int maxQueued, Overflow overflow, BucketClock clock) {
            return new TopicSettings(
                    mode, TimeUnit.MILLISECONDS.toNanos(maxDelayMs), maxWaiting, maxQueued, overflow, clock);
        }
    }

    /** What is laid down about a channel. */
    public record ChannelSettings(boolean paused) {}

    static TopicDefinition none(TopicName name) {
        return new TopicDefinition(name, 0, 0, LimitSettings.NONE, Delivery.defaults(), false, Map.of(), true);
    }

    /** Whether there is such a topic. */
    public boolean exists() {
        return revision > 0 && !deleted;
    }

    TopicDefinition withLimit(LimitSettings newLimit) {
        return new TopicDefinition(name, revision + 1, limitVersion + 1, newLimit, delivery, paused, channels, deleted);
    }

    TopicDefinition created(LimitSettings newLimit, Delivery newDelivery) {
        return new TopicDefinition(name, revision + 1, limitVersion + 1, newLimit, newDelivery, false, Map.of(), false);
    }

    TopicDefinition withDelivery(Delivery newDelivery) {
        return new TopicDefinition(name, revision + 1, limitVersion, limit, newDelivery, paused, channels, deleted);
    }

    TopicDefinition withPaused(boolean newPaused) {
        return new TopicDefinition(name, revision + 1, limitVersion, limit, delivery, newPaused, channels, deleted);
    }

    TopicDefinition withChannel(String channel, ChannelSettings settings) {
        Map<String, ChannelSettings> changed = new TreeMap<>(channels);
        changed.put(channel, settings);
        return new TopicDefinition(name, revision + 1, limitVersion, limit, delivery, paused, changed, deleted);
    }

    TopicDefinition withoutChannel(String channel) {
        Map<String, ChannelSettings> changed = new TreeMap<>(channels);
        changed.remove(channel);
        return new TopicDefinition(name, revision + 1, limitVersion, limit, delivery, paused, changed, deleted);
    }

    /** Its limit goes to nothing; the row stays, so that the next topic of this name does not begin with a full bucket. */
    TopicDefinition gone() {
        return new TopicDefinition(
                name, revision + 1, limitVersion + 1, LimitSettings.NONE, delivery, false, Map.of(), true);
    }
}

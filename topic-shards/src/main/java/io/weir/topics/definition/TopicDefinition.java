package io.weir.topics.definition;

import io.weir.config.CrossesNodes;
import io.weir.config.value.ChannelName;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * All that is decided about a topic.
 *
 * @param revision goes up with every change of anything
 * @param limitVersion goes up with every change of the limit
 * @param channels by name
 * @param channelLimits of channels by name. One that was taken away, or whose channel is gone, stays with nothing in
 *     it: versions must not begin again, because the store keeps the rows
 */
public record TopicDefinition(
        TopicName name,
        long revision,
        long limitVersion,
        LimitSettings limit,
        Delivery delivery,
        boolean paused,
        Map<String, ChannelSettings> channels,
        boolean deleted,
        Map<String, LimitVersion> channelLimits)
        implements CrossesNodes {

    public TopicDefinition {
        // Definitions that were written before channels could have limits have none.
        channelLimits = channelLimits == null ? Map.of() : channelLimits;
    }

    /** A limit and how often it was changed. */
    public record LimitVersion(long version, LimitSettings limit) {
        LimitVersion next(LimitSettings newLimit) {
            return newLimit.equals(limit) ? this : new LimitVersion(version + 1, newLimit);
        }
    }

    /**
     * How much may pass, and how brokers share it.
     *
     * @param floorPermille φ in thousandths
     * @param indicator what neighbours on the ring compare
     */
    public record LimitSettings(
            long rateMicros, long burstMicros, int floorPermille, Sharing sharing, Indicator indicator) {
        static final LimitSettings NONE = new LimitSettings(0, 0, 0, Sharing.DEFAULT);

        public LimitSettings {
            // Definitions that were written before there was a choice have none.
            indicator = indicator == null ? Indicator.FILL_RATIO : indicator;
        }

        /** By the usual indicator. */
        public LimitSettings(long rateMicros, long burstMicros, int floorPermille, Sharing sharing) {
            this(rateMicros, burstMicros, floorPermille, sharing, Indicator.DEFAULT);
        }

        /** Whether there is no limit. */
        boolean none() {
            return rateMicros == 0 && burstMicros == 0;
        }

        /** Another limit of the same floor, sharing and indicator. */
        LimitSettings ofSize(long newRateMicros, long newBurstMicros) {
            return new LimitSettings(newRateMicros, newBurstMicros, floorPermille, sharing, indicator);
        }

        Share share() {
            return new Share(rateMicros, burstMicros);
        }
    }

    /** What happens to messages at a broker; {@link TopicSettings} has the rules. */
    public record Delivery(
            LimitMode mode,
            long maxDelayMs,
            int maxWaiting,
            int maxQueued,
            Overflow overflow,
            BucketClock clock,
            Borrow borrow) {
        public Delivery {
            // Definitions that were written before there was a choice have none.
            clock = clock == null ? BucketClock.GATE : clock;
            borrow = borrow == null ? Borrow.AUTO : borrow;
            settings(mode, maxDelayMs, maxWaiting, maxQueued, overflow, clock);
        }

        /** By the gate's clock, and borrowing as the sharing says. */
        public Delivery(LimitMode mode, long maxDelayMs, int maxWaiting, int maxQueued, Overflow overflow) {
            this(mode, maxDelayMs, maxWaiting, maxQueued, overflow, BucketClock.GATE, Borrow.AUTO);
        }

        public static Delivery defaults() {
            TopicSettings settings = TopicSettings.defaults();
            return new Delivery(
                    settings.mode(),
                    TimeUnit.NANOSECONDS.toMillis(settings.maxDelayNs()),
                    settings.maxWaiting(),
                    settings.maxQueued(),
                    settings.overflow(),
                    settings.clock(),
                    Borrow.AUTO);
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

    /** What somebody wants of a {@link Delivery}; null is "as it is". */
    public record DeliveryChange(
            LimitMode mode,
            Long maxDelayMs,
            Integer maxWaiting,
            Integer maxQueued,
            Overflow overflow,
            BucketClock clock,
            Borrow borrow) {
        /**
         * @throws IllegalArgumentException as {@link Delivery} does: each value's rule is its own, so whatever
         *     {@code now} is
         */
        public Delivery on(Delivery now) {
            return new Delivery(
                    mode == null ? now.mode : mode,
                    maxDelayMs == null ? now.maxDelayMs : maxDelayMs,
                    maxWaiting == null ? now.maxWaiting : maxWaiting,
                    maxQueued == null ? now.maxQueued : maxQueued,
                    overflow == null ? now.overflow : overflow,
                    clock == null ? now.clock : clock,
                    borrow == null ? now.borrow : borrow);
        }
    }

    /** What is decided about a channel. */
    public record ChannelSettings(boolean paused) {}

    /**
     * A name without a row.
     *
     * @param lastChange its revisions and versions begin above this: {@link TopicRows.Loaded#lastChange}
     */
    static TopicDefinition none(TopicName name, long lastChange) {
        return new TopicDefinition(
                name, lastChange, lastChange, LimitSettings.NONE, Delivery.defaults(), false, Map.of(), true, Map.of());
    }

    /** Whether there is such a topic. */
    public boolean exists() {
        return revision > 0 && !deleted;
    }

    /**
     * The most messages that can pass as one publication, with the whole limit at one broker and nobody else
     * publishing: the burst where the topic polices, and what comes to it within the longest delay where it shapes. A
     * lone message always can.
     */
    public double mostAtOnce() {
        // A double will do: it decides who may wait, not what passes.
        double withinDelay =
                switch (delivery.mode()) {
                    case SHADOW -> Double.POSITIVE_INFINITY;
                    case POLICE -> 0;
                    case SHAPE -> (double) limit.rateMicros() * delivery.maxDelayMs() / TimeUnit.SECONDS.toMillis(1);
                };
        return Math.max(1, (limit.burstMicros() + withinDelay) / Limit.MICROS);
    }

    /** Whether its brokers lend each other tokens. */
    public boolean borrows() {
        return delivery.borrow().on(limit.sharing());
    }

    /** A channel's own limit, if it has one. */
    public Optional<LimitVersion> channelLimit(String channel) {
        return Optional.ofNullable(channelLimits.get(channel))
                .filter(limited -> !limited.limit().none());
    }

    /** The channels that have a limit of their own. */
    public Set<String> limitedChannels() {
        return channelLimits.keySet().stream()
                .filter(channel -> channelLimit(channel).isPresent())
                .collect(Collectors.toUnmodifiableSet());
    }

    /** The key under which the store and the gates know a channel's limit. */
    public TopicName key(String channel) {
        return TopicName.ofChannel(name, new ChannelName(channel));
    }

    /** Every limit that the store has to have, by its key: the topic's own and its channels'. */
    Map<TopicName, LimitVersion> limits() {
        Map<TopicName, LimitVersion> all = new LinkedHashMap<>();
        all.put(name, new LimitVersion(limitVersion, limit));
        channelLimits.forEach((channel, limited) -> all.put(key(channel), limited));
        return all;
    }

    /** The keys of all limits that it has or had. */
    public Set<TopicName> limitKeys() {
        return limits().keySet();
    }

    /** The version of every limit, by its key. */
    Map<TopicName, Long> limitVersions() {
        Map<TopicName, Long> versions = new LinkedHashMap<>();
        limits().forEach((key, limit) -> versions.put(key, limit.version()));
        return versions;
    }

    /** The channels' limits share as the topic's does, so they may get a new version too. */
    TopicDefinition withLimit(LimitSettings newLimit) {
        return new TopicDefinition(
                name,
                revision + 1,
                limitVersion + 1,
                newLimit,
                delivery,
                paused,
                channels,
                deleted,
                eachChannelLimit(of -> newLimit.ofSize(of.rateMicros(), of.burstMicros())));
    }

    TopicDefinition created(LimitSettings newLimit, Delivery newDelivery) {
        return new TopicDefinition(
                name, revision + 1, limitVersion + 1, newLimit, newDelivery, false, Map.of(), false, channelLimits);
    }

    TopicDefinition withDelivery(Delivery newDelivery) {
        return new TopicDefinition(
                name, revision + 1, limitVersion, limit, newDelivery, paused, channels, deleted, channelLimits);
    }

    public TopicDefinition withPaused(boolean newPaused) {
        return new TopicDefinition(
                name, revision + 1, limitVersion, limit, delivery, newPaused, channels, deleted, channelLimits);
    }

    public TopicDefinition withChannel(String channel, ChannelSettings settings) {
        Map<String, ChannelSettings> changed = new TreeMap<>(channels);
        changed.put(channel, settings);
        return withChannels(changed, channelLimits);
    }

    /**
     * What is not there yet of the channel is made. Its first version is the definition's revision: above any that the
     * same key had in the life of another topic of this name.
     */
    TopicDefinition withChannelLimit(String channel, LimitSettings newLimit) {
        Map<String, ChannelSettings> changed = new TreeMap<>(channels);
        changed.putIfAbsent(channel, new ChannelSettings(false));
        Map<String, LimitVersion> limits = new TreeMap<>(channelLimits);
        limits.merge(channel, new LimitVersion(revision + 1, newLimit), (before, first) -> before.next(newLimit));
        return withChannels(changed, limits);
    }

    public TopicDefinition withoutChannel(String channel) {
        Map<String, ChannelSettings> changed = new TreeMap<>(channels);
        changed.remove(channel);
        Map<String, LimitVersion> limits = new TreeMap<>(channelLimits);
        limits.computeIfPresent(channel, (same, before) -> before.next(LimitSettings.NONE));
        return withChannels(changed, limits);
    }

    private TopicDefinition withChannels(
            Map<String, ChannelSettings> newChannels, Map<String, LimitVersion> newLimits) {
        return new TopicDefinition(
                name, revision + 1, limitVersion, limit, delivery, paused, newChannels, deleted, newLimits);
    }

    private Map<String, LimitVersion> eachChannelLimit(UnaryOperator<LimitSettings> change) {
        Map<String, LimitVersion> limits = new TreeMap<>(channelLimits);
        limits.replaceAll((channel, of) -> of.limit().none() ? of : of.next(change.apply(of.limit())));
        return limits;
    }

    /**
     * All limits go to nothing; the rows stay, so that the next topic of this name does not begin with a full bucket.
     */
    TopicDefinition gone() {
        return new TopicDefinition(
                name,
                revision + 1,
                limitVersion + 1,
                LimitSettings.NONE,
                delivery,
                false,
                Map.of(),
                true,
                eachChannelLimit(of -> LimitSettings.NONE));
    }
}

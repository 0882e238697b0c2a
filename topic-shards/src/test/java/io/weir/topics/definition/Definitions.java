package io.weir.topics.definition;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Sharing;
import io.weir.topics.definition.TopicDefinition.ChannelSettings;
import io.weir.topics.definition.TopicDefinition.Delivery;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import io.weir.topics.definition.TopicDefinition.LimitVersion;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Topics' definitions, each of a later revision than all before. */
public final class Definitions {
    private static final AtomicLong REVISIONS = new AtomicLong();
    private static final LimitSettings AMPLE =
            new LimitSettings(10_000_000_000_000L, 100_000_000_000L, 0, Sharing.DEFAULT);

    private Definitions() {}

    /** With a limit that nobody reaches; how much passes is what the gates hold. */
    public static TopicDefinition of(TopicName topic, TopicSettings settings, String... channels) {
        return of(topic, AMPLE, settings, channels);
    }

    public static TopicDefinition of(TopicName topic, LimitSettings limit, TopicSettings settings, String... channels) {
        Map<String, ChannelSettings> named = new TreeMap<>();
        for (String channel : channels) {
            named.put(channel, new ChannelSettings(false));
        }
        Delivery delivery = new Delivery(
                settings.mode(),
                TimeUnit.NANOSECONDS.toMillis(settings.maxDelayNs()),
                settings.maxWaiting(),
                settings.maxQueued(),
                settings.overflow(),
                settings.clock(),
                Borrow.AUTO);
        return new TopicDefinition(
                topic, REVISIONS.incrementAndGet(), 1, limit, delivery, false, named, false, Map.of());
    }

    /** The same with a limit of its own for that channel, which need not be there. */
    public static TopicDefinition limiting(TopicDefinition definition, String channel) {
        return new TopicDefinition(
                definition.name(),
                REVISIONS.incrementAndGet(),
                definition.limitVersion(),
                definition.limit(),
                definition.delivery(),
                definition.paused(),
                definition.channels(),
                false,
                Map.of(channel, new LimitVersion(1, AMPLE)));
    }

    /** The defaults, but for how long a publication may wait. */
    public static TopicSettings hasty(long maxDelayNs) {
        TopicSettings usual = TopicSettings.defaults();
        return new TopicSettings(
                usual.mode(), maxDelayNs, usual.maxWaiting(), usual.maxQueued(), usual.overflow(), usual.clock());
    }

    public static TopicDefinition gone(TopicName topic) {
        return of(topic, TopicSettings.defaults()).gone();
    }
}

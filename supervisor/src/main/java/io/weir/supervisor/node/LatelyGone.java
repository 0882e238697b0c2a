package io.weir.supervisor.node;

import io.weir.config.value.TopicName;
import io.weir.topics.definition.TopicDefinition;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The topics and channels that were deleted a moment ago, for those who ask several brokers to delete them. At most
 * {@value #MOST}: the first ones are forgotten sooner. For any thread.
 */
final class LatelyGone {
    /** Long enough for a tool that asks one broker after the other. */
    private static final long LATELY_NS = Duration.ofSeconds(10).toNanos();

    private static final int MOST = 10_000;

    private final Map<String, Long> goneNs = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Long> eldest) {
            return size() > MOST;
        }
    };

    synchronized void changed(TopicDefinition before, TopicDefinition after, long nowNs) {
        if (before.exists() && !after.exists()) {
            note(before.name().value(), nowNs);
        }
        for (String channel : before.channels().keySet()) {
            if (!after.channels().containsKey(channel)) {
                note(key(before.name(), channel), nowNs);
            }
        }
    }

    private void note(String key, long nowNs) {
        // Behind the others, so that the first are those that are gone for the longest.
        goneNs.remove(key);
        goneNs.put(key, nowNs);
    }

    synchronized boolean lately(TopicName topic, long nowNs) {
        return lately(topic.value(), nowNs);
    }

    synchronized boolean lately(TopicName topic, String channel, long nowNs) {
        return lately(key(topic, channel), nowNs);
    }

    private boolean lately(String key, long nowNs) {
        Long atNs = goneNs.get(key);
        return atNs != null && nowNs - atNs < LATELY_NS;
    }

    /** No topic's name has this between. */
    private static String key(TopicName topic, String channel) {
        return topic + ":" + channel;
    }
}

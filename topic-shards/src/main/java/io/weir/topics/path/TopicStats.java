package io.weir.topics.path;

import io.weir.config.value.TopicName;
import io.weir.topics.definition.TopicSettings;
import java.util.List;

/**
 * What a topic's shard at this broker does, for an operator's eyes.
 *
 * @param settings null while the broker waits for the topic's definition
 * @param waiting messages that wait for a token or for room
 * @param unrouted messages that passed and wait for a first channel, or for the end of a pause
 * @param dropped of these, those that gave way to newer ones; each channel counts its own
 */
public record TopicStats(
        TopicName topic,
        TopicSettings settings,
        boolean paused,
        long published,
        int waiting,
        int unrouted,
        long dropped,
        List<ChannelStats> channels) {
    /**
     * The same of one channel; the counters begin with the channel.
     *
     * @param consumers also other brokers on behalf of theirs
     * @param localConsumers without those
     */
    public record ChannelStats(
            String name,
            int queued,
            int deferred,
            int inFlight,
            int consumers,
            int localConsumers,
            boolean paused,
            long received,
            long delivered,
            long finished,
            long requeued,
            long timedOut,
            long dropped) {}
}

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
     * @param deferredOfOthers of those deferred, messages that another broker let in: there they are in flight
     * @param inFlight with consumers here, or with other brokers for theirs
     * @param inFlightOfOthers of these, messages that another broker let in: there they are in flight, too
     * @param consumers also other brokers on behalf of theirs
     * @param localConsumers without those
     */
    public record ChannelStats(
            String name,
            int queued,
            int deferred,
            int deferredOfOthers,
            int inFlight,
            int inFlightOfOthers,
            int consumers,
            int localConsumers,
            boolean paused,
            long received,
            long delivered,
            long finished,
            long requeued,
            long timedOut,
            long dropped) {
        /** Those that this broker let in, wherever their consumers are. Over all brokers, each counts once. */
        public int ownInFlight() {
            return inFlight - inFlightOfOthers;
        }

        /** The same for those that are not due yet. */
        public int ownDeferred() {
            return deferred - deferredOfOthers;
        }
    }
}

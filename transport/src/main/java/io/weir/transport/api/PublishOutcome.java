package io.weir.transport.api;

import io.weir.config.CrossesNodes;
import java.time.Duration;
import java.util.Optional;

/** What became of a publication. */
public sealed interface PublishOutcome extends CrossesNodes {
    /**
     * Every message has passed the topic's limit and is with the channels.
     *
     * @param delayedBy how long the limit made it wait, or a full channel, or a topic that its broker did not know yet;
     *     zero if it went straight on
     */
    record Accepted(Duration delayedBy) implements PublishOutcome {}

    /**
     * The topic is over its limit and does not let publishers wait; nothing was published.
     *
     * @param retryAfter when there will be tokens if nobody else takes them; empty if a batch is larger than the
     *     topic's burst here, or the topic has no supply on this broker now
     */
    record Refused(Optional<Duration> retryAfter) implements PublishOutcome {}

    /** There is no such topic, and none comes to be by being published to; or the cluster could not say in time. */
    record UnknownTopic(String topic, String reason) implements PublishOutcome {}

    /**
     * It cannot be done: what was asked is not allowed, too much waits already, or the broker is busy. Of a batch that
     * waited too long, the first messages may have been published.
     *
     * @param overLimit whether the topic's limit was the reason: more wait for it than may, or this waited for longer
     *     than may be
     */
    record Failed(String reason, boolean overLimit) implements PublishOutcome {
        /** For another reason than the limit. */
        public Failed(String reason) {
            this(reason, false);
        }
    }
}

package io.weir.topics.definition;

import io.weir.config.value.TopicName;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/**
 * The part of a broker that serves topics, as their definitions need it. Every call may come from any thread and does
 * not wait.
 */
public interface TopicServer {
    /**
     * The topic is like this from now on: its settings, its channels, and which of them are gone. If the topic itself
     * is gone, its messages are dropped and its consumers closed. A definition older than the one in force is ignored.
     */
    CompletionStage<Void> apply(TopicDefinition definition);

    /** The same, if the topic is served here; it does not begin to be by that. */
    CompletionStage<Void> update(TopicDefinition definition);

    /** Every topic that is served here, with the revision of the definition that was applied last; 0 where none was. */
    CompletionStage<Map<TopicName, Long>> revisions();

    /** The topic that was {@link TopicDirectory#wanted} will not exist: whoever waits for it gets this reason. */
    CompletionStage<Void> refuse(TopicName topic, String reason);

    /** Drops what waits for the topic's first channel, or for the end of its pause, at this broker. */
    CompletionStage<Void> empty(TopicName topic);

    /** Drops what a channel holds at this broker, also what consumers have and did not acknowledge. */
    CompletionStage<Void> emptyChannel(TopicName topic, String channel);
}

package io.weir.topics.definition;

import io.weir.config.value.TopicName;

/** Knows the topics of the cluster, and makes those that are published to first. */
public interface TopicDirectory {
    /**
     * Someone publishes to or consumes a topic that this broker does not know. Called by the message path's thread, so
     * it must not wait: the answer comes by {@link TopicServer#apply} or {@link TopicServer#refuse}. Until then it may
     * be asked again.
     *
     * @param token the name of the token by which the client may do that, whose quota counts the topic if it is made;
     *     empty for others
     */
    void wanted(TopicName topic, String token);

    /**
     * A consumer came for a channel that this broker did not have: the other brokers of the topic are to keep messages
     * for it, too. Must not wait, either.
     */
    default void channelWanted(TopicName topic, String channel) {}

    /**
     * Another broker asks for tokens of a topic that nobody publishes to or consumes here: as {@link #wanted}, but
     * nothing is made if there is no such topic, and nobody is answered then.
     */
    default void lenderWanted(TopicName topic) {}

    /**
     * This broker has nothing to do with the topic any more, until it is {@link #wanted} again. Must not wait, either.
     */
    default void ended(TopicName topic) {}
}

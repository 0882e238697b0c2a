package io.weir.topics;

import io.weir.config.value.BrokerId;
import io.weir.transport.gateway.Publisher;
import java.nio.ByteBuffer;

/** Knows at which broker a publisher's messages of a topic pass the limit. */
@FunctionalInterface
public interface Homes {
    /** Everybody is at home where they connected. */
    Homes LOCAL = (in, topicAt, topicLength, publisher) -> null;

    /**
     * Called by the message path's thread for every publication, so it must neither wait nor allocate.
     *
     * @param in holds the topic's name at {@code topicAt}, during the call
     * @return null for this broker
     */
    BrokerId homeOf(ByteBuffer in, int topicAt, int topicLength, Publisher publisher);
}

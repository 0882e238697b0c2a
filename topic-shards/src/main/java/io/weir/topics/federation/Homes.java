package io.weir.topics.federation;

import io.weir.config.value.BrokerId;
import io.weir.transport.gateway.PublishRequest;

/** Knows at which broker a publisher's messages of a topic pass the limit. */
@FunctionalInterface
public interface Homes {
    /** Everybody is at home where they connected. */
    Homes LOCAL = request -> null;

    /**
     * Called by the message path's thread for every publication, so it must neither wait nor allocate.
     *
     * @return null for this broker
     */
    BrokerId homeOf(PublishRequest request);
}

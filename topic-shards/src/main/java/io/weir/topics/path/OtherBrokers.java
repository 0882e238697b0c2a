package io.weir.topics.path;

import io.weir.topics.algorithm.MessageStore;
import io.weir.transport.gateway.Duty;
import io.weir.transport.gateway.MessagePort;

/** The other brokers of the cluster, as a message path needs them. A path without links does without. */
public interface OtherBrokers extends Duty {
    /**
     * Called once, before the loop starts and before the first channel exists; answers the way in that knows
     * publishers' homes.
     */
    MessagePort join(Shards shards, int maxMessageBytes);

    /** What other brokers have for a new channel's consumers. */
    RemoteSource sourceFor(Channel channel, MessageStore store);
}

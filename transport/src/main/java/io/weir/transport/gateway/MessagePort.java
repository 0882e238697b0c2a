package io.weir.transport.gateway;

/** What a way in needs of a broker. Called by the loop's thread only. */
public interface MessagePort extends Duty {
    /**
     * Publishes a message or a batch. The publisher is told the outcome once, perhaps before this returns.
     *
     * @param request its caller's again when this returns
     * @param nowNs what the loop read when the sockets woke it
     * @return false if it would overtake those that it {@link PublishRequest#follows}: nothing was done, and it can be
     *     tried again when the publisher is told the outcome of one of them
     */
    boolean publish(PublishRequest request, long nowNs);

    /**
     * Makes someone a consumer of a channel, which comes to be by that.
     *
     * @param timeoutNs how long the consumer may hold a message unacknowledged
     * @return null if the broker has no room for another topic or channel
     */
    Subscription subscribe(Subscriber subscriber, String topic, String channel, long timeoutNs, long nowNs);
}

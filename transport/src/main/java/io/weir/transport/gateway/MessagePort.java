package io.weir.transport.gateway;

import java.nio.ByteBuffer;

/**
 * What a way in needs of a broker. Called by the loop's thread only. Names and bodies are given as places in the caller's
 * buffer, valid during the call: whoever wants to keep them copies them.
 */
public interface MessagePort extends Duty {
    /**
     * Publishes a message. The publisher is told the outcome once, perhaps before this returns.
     *
     * @param ticket names this publication to its publisher
     * @param deferNs how long from now consumers do not get the message
     * @param nowNs also when it came: what the loop read when the sockets woke it
     */
    void publish(
            Publisher publisher,
            long ticket,
            ByteBuffer in,
            int topicAt,
            int topicLength,
            int bodyAt,
            int bodyLength,
            long deferNs,
            long nowNs);

    /**
     * The same for a message that came to the cluster earlier, at another broker.
     *
     * @param arrivalNs when that was, by this broker's clock; a port for which only now matters leaves it
     */
    default void publish(
            Publisher publisher,
            long ticket,
            ByteBuffer in,
            int topicAt,
            int topicLength,
            int bodyAt,
            int bodyLength,
            long deferNs,
            long arrivalNs,
            long nowNs) {
        publish(publisher, ticket, in, topicAt, topicLength, bodyAt, bodyLength, deferNs, nowNs);
    }

    /**
     * Publishes several messages with one outcome.
     *
     * @param firstAt where the first message's length (four bytes) stands; the others follow, all of them checked
     */
    void publishBatch(
            Publisher publisher,
            long ticket,
            ByteBuffer in,
            int topicAt,
            int topicLength,
            int firstAt,
            int messages,
            long nowNs);

    /** The same for messages that came to the cluster earlier, at another broker, at {@code arrivalNs}. */
    default void publishBatch(
            Publisher publisher,
            long ticket,
            ByteBuffer in,
            int topicAt,
            int topicLength,
            int firstAt,
            int messages,
            long arrivalNs,
            long nowNs) {
        publishBatch(publisher, ticket, in, topicAt, topicLength, firstAt, messages, nowNs);
    }

    /**
     * As the other, for a message with a context, which stands in the same buffer. A broker that could not carry it must not lose it
     * silently, so it fails.
     */
    default void publish(
            Publisher publisher,
            long ticket,
            ByteBuffer in,
            int topicAt,
            int topicLength,
            int contextAt,
            int contextLength,
            int bodyAt,
            int bodyLength,
            long deferNs,
            long nowNs) {
        if (contextLength == 0) {
            publish(publisher, ticket, in, topicAt, topicLength, bodyAt, bodyLength, deferNs, nowNs);
        } else {
            publisher.failed(ticket, "this broker does not carry a message's context");
        }
    }

    /** As the other, with one context for each of the messages. */
    default void publishBatch(
            Publisher publisher,
            long ticket,
            ByteBuffer in,
            int topicAt,
            int topicLength,
            int contextAt,
            int contextLength,
            int firstAt,
            int messages,
            long nowNs) {
        if (contextLength == 0) {
            publishBatch(publisher, ticket, in, topicAt, topicLength, firstAt, messages, nowNs);
        } else {
            publisher.failed(ticket, "this broker does not carry a message's context");
        }
    }

    /**
     * Makes someone a consumer of a channel, which comes to be by that.
     *
     * @param timeoutNs how long the consumer may hold a message unacknowledged
     * @return null if the broker has no room for another topic or channel
     */
    Subscription subscribe(Subscriber subscriber, String topic, String channel, long timeoutNs, long nowNs);
}

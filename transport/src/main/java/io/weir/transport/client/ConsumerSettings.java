package io.weir.transport.client;

import java.time.Duration;

/**
 * How a consumer takes messages.
 *
 * @param maxInFlight the credit: messages that it holds unacknowledged, over all its connections
 * @param connections to how many of the client's brokers it connects at a time; one gets the messages of all brokers
 * @param acknowledge whether a message is finished when the handler returns and requeued when it throws; otherwise the
 *     handler says so, then or later
 * @param messageTimeout after which the broker hands a message that was not finished to somebody else; zero: as the
 *     broker likes
 * @param requeueDelay of a message whose handler threw
 * @param shortestBackoff how long the consumer takes nothing after a handler threw; doubles while they go on throwing,
 *     and then one message is tried
 * @param closeWithin how long {@code close} waits for handlers to end
 */
public record ConsumerSettings(
        int maxInFlight,
        int connections,
        boolean acknowledge,
        Duration messageTimeout,
        Duration requeueDelay,
        Duration shortestBackoff,
        Duration longestBackoff,
        Duration closeWithin) {
    public ConsumerSettings {
        if (connections < 1 || maxInFlight < connections) {
            throw new IllegalArgumentException("a credit of " + maxInFlight + " on " + connections
                    + " connections: at least one connection, and one message each");
        }
        if (messageTimeout.isNegative()
                || requeueDelay.isNegative()
                || shortestBackoff.isNegative()
                || closeWithin.isNegative()
                || shortestBackoff.compareTo(longestBackoff) > 0) {
            throw new IllegalArgumentException(
                    "times must not be negative, nor the longest backoff below the shortest");
        }
    }

    public static ConsumerSettings defaults() {
        return new ConsumerSettings(
                200,
                1,
                true,
                Duration.ZERO,
                Duration.ofSeconds(1),
                Duration.ofMillis(200),
                Duration.ofSeconds(30),
                Duration.ofSeconds(5));
    }

    public ConsumerSettings withMaxInFlight(int maxInFlight) {
        return new ConsumerSettings(
                maxInFlight,
                connections,
                acknowledge,
                messageTimeout,
                requeueDelay,
                shortestBackoff,
                longestBackoff,
                closeWithin);
    }

    public ConsumerSettings withConnections(int connections) {
        return new ConsumerSettings(
                maxInFlight,
                connections,
                acknowledge,
                messageTimeout,
                requeueDelay,
                shortestBackoff,
                longestBackoff,
                closeWithin);
    }

    /** The handler finishes and requeues. */
    public ConsumerSettings acknowledgingByHand() {
        return new ConsumerSettings(
                maxInFlight,
                connections,
                false,
                messageTimeout,
                requeueDelay,
                shortestBackoff,
                longestBackoff,
                closeWithin);
    }

    public ConsumerSettings withBackoff(Duration requeueDelay, Duration shortest, Duration longest) {
        return new ConsumerSettings(
                maxInFlight, connections, acknowledge, messageTimeout, requeueDelay, shortest, longest, closeWithin);
    }
}

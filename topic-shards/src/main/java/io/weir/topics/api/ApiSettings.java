package io.weir.topics.api;

import io.weir.transport.gateway.GatewaySettings;
import java.util.concurrent.TimeUnit;

/**
 * The bounds of a broker's actor API.
 *
 * @param maxMessageBytes of one message's body and context together
 * @param maxBatchBytes of all bodies of a batch
 * @param maxCredit of one consumer
 * @param maxTimeoutMs the most a consumer may ask for
 * @param maxDelayMs of a requeued message
 * @param maxSubscriptions of this broker
 * @param maxOutstanding publications that have no outcome yet; further ones fail
 * @param maxQueuedBytes of publications on their way to the message path; further ones fail
 * @param maxRemoteBytes the largest message that can be sent to a consumer on another node
 */
public record ApiSettings(
        int maxMessageBytes,
        int maxBatchBytes,
        int maxCredit,
        long maxTimeoutMs,
        long maxDelayMs,
        int maxSubscriptions,
        int maxOutstanding,
        long maxQueuedBytes,
        int maxRemoteBytes) {
    /** Room in a frame between nodes for all that is not the message. */
    private static final int ENVELOPE_BYTES = 4 * 1024;

    /**
     * The gateway's bounds where it has them, so that both ways in are alike.
     *
     * @param maxFrameBytes of what can be sent to another node at once
     */
    public static ApiSettings of(GatewaySettings gateway, long maxFrameBytes) {
        return new ApiSettings(
                gateway.maxMessageBytes(),
                gateway.maxBodyBytes(),
                gateway.maxReady(),
                TimeUnit.NANOSECONDS.toMillis(gateway.maxMessageTimeoutNs()),
                TimeUnit.NANOSECONDS.toMillis(gateway.maxDelayNs()),
                gateway.maxConnections(),
                64 * 1024,
                64L << 20,
                (int) Math.min(Integer.MAX_VALUE, maxFrameBytes - ENVELOPE_BYTES));
    }

    InProcessPublisher.Bounds intake() {
        return new InProcessPublisher.Bounds(
                maxMessageBytes, maxBatchBytes, maxDelayMs, maxOutstanding, maxQueuedBytes);
    }
}

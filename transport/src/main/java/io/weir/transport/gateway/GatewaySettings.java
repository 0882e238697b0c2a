package io.weir.transport.gateway;

import java.util.concurrent.TimeUnit;

/**
 * The bounds of the gateway. What a client may say in IDENTIFY lies between the least and the greatest of each.
 *
 * @param maxConnections when so many are there, strangers give way; further ones are closed at once
 * @param maxConnectionsByAddress the same for those of one address
 * @param maxStrangersByAddress so many of one address may be there that have not said yet what is asked of them
 * @param maxMessageBytes of one message's body
 * @param maxBodyBytes of a whole batch
 * @param maxReady the most messages a consumer may leave unacknowledged
 * @param bufferBytes of a connection's buffer each way; it grows for one larger message and shrinks again
 * @param maxBufferBytes of all connections' buffers together. From the half on busy connections do not grow theirs,
 *     from three quarters on there are none for larger messages, and who needs one is closed with an error; small ones
 *     there are to the last
 * @param heartbeatNs between heartbeats, unless the client says otherwise
 * @param maxHeartbeatNs the most a client may ask for
 * @param messageTimeoutNs unless the client says otherwise
 * @param maxMessageTimeoutNs the most a client may ask for
 * @param maxDelayNs of a requeued or deferred message
 * @param stallNs a client that takes no byte for so long is closed
 * @param handshakeNs so long a client may take for its first four bytes, for TLS and compression after IDENTIFY, and
 *     then for AUTH where that is required
 */
public record GatewaySettings(
        int maxConnections,
        int maxConnectionsByAddress,
        int maxStrangersByAddress,
        int maxMessageBytes,
        int maxBodyBytes,
        int maxReady,
        int bufferBytes,
        long maxBufferBytes,
        long heartbeatNs,
        long maxHeartbeatNs,
        long messageTimeoutNs,
        long maxMessageTimeoutNs,
        long maxDelayNs,
        long stallNs,
        long handshakeNs) {
    /** The longest command line is a DPUB's: two words, a name of 64 and a number. */
    static final int MAX_LINE_BYTES = 256;

    private static final int LEAST_BUFFER = 4 * 1024;
    /** A client with TLS and deflate needs half as much. */
    private static final long LEAST_FOR_STRANGERS = 1L << 20;

    public GatewaySettings {
        if (maxConnections < 1 || maxReady < 1 || maxMessageBytes < 1) {
            throw new IllegalArgumentException("connections " + maxConnections + ", ready " + maxReady
                    + ", message bytes " + maxMessageBytes + ": each must be at least 1");
        }
        if (maxConnectionsByAddress < 1 || maxStrangersByAddress < 1) {
            throw new IllegalArgumentException("connections by address " + maxConnectionsByAddress
                    + ", strangers by address " + maxStrangersByAddress + ": each must be at least 1");
        }
        if (maxBodyBytes < maxMessageBytes || maxBodyBytes > 1 << 28) {
            throw new IllegalArgumentException("body of " + maxBodyBytes + " bytes is not between a message's "
                    + maxMessageBytes + " and " + (1 << 28));
        }
        if (bufferBytes < LEAST_BUFFER || bufferBytes > 1 << 24) {
            throw new IllegalArgumentException(
                    "buffer of " + bufferBytes + " bytes is not between " + LEAST_BUFFER + " and " + (1 << 24));
        }
        // Then the quarter between "no more for the busy" and "no more for the large" holds one of either.
        int largest = Math.max(maxBodyBytes + MAX_LINE_BYTES, ClientStream.BUSY_BYTES);
        if (maxBufferBytes < 4L * largest) {
            throw new IllegalArgumentException("buffers of " + maxBufferBytes
                    + " bytes for all connections are less than four times the largest one's " + largest);
        }
    }

    /** Of the buffers, what strangers may have together. */
    long maxStrangersBytes() {
        return Math.min(maxBufferBytes, Math.max(LEAST_FOR_STRANGERS, maxBufferBytes / 8));
    }

    /** nsqd's own defaults where it has them. */
    public static GatewaySettings defaults() {
        return new GatewaySettings(
                12_000,
                11_000,
                1_000,
                1 << 20,
                5 << 20,
                2_500,
                16 * 1024,
                128L << 20,
                TimeUnit.SECONDS.toNanos(30),
                TimeUnit.SECONDS.toNanos(60),
                TimeUnit.SECONDS.toNanos(60),
                TimeUnit.MINUTES.toNanos(15),
                TimeUnit.HOURS.toNanos(1),
                TimeUnit.SECONDS.toNanos(60),
                TimeUnit.SECONDS.toNanos(10));
    }
}

package io.weir.topics.path;

import java.util.concurrent.TimeUnit;

/**
 * The bounds of a broker's message path.
 *
 * @param storeBytes of all messages that the broker holds, outside the heap: the JVM must allow more direct memory than
 *     that, because connections have their buffers there too
 * @param definitionWaitNs how long a publication waits for a topic that this broker does not know yet
 * @param maxMessageTimeoutNs how long a consumer can hold one delivery by touching it
 */
public record PathSettings(
        int maxTopics, int maxChannels, long storeBytes, long definitionWaitNs, long maxMessageTimeoutNs) {
    public static PathSettings defaults() {
        return new PathSettings(100_000, 1_000, 256L << 20, TimeUnit.SECONDS.toNanos(5), TimeUnit.MINUTES.toNanos(15));
    }
}

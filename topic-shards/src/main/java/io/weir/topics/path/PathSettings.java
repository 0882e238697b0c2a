package io.weir.topics.path;

import io.weir.topics.algorithm.MessageStore;
import java.util.concurrent.TimeUnit;

/**
 * The bounds of a broker's message path.
 *
 * @param storeBytes of all messages that the broker holds, outside the heap: the JVM must allow more direct memory than
 *     that, because connections have their buffers there too
 * @param definitionWaitNs how long a publication waits for a topic that this broker does not know yet
 * @param maxMessageTimeoutNs how long a consumer can hold one delivery by touching it
 * @param maxEntries places of messages in lines, channels and with consumers, on the heap
 * @param topicShare the part of both memories that one topic may take if no other has a backlog
 * @param tokenShare the same for all messages of one client's token
 */
public record PathSettings(
        int maxTopics,
        int maxChannels,
        long storeBytes,
        long definitionWaitNs,
        long maxMessageTimeoutNs,
        long maxEntries,
        double topicShare,
        double tokenShare) {
    public PathSettings {
        if (maxTopics < 1 || maxTopics >= MessageStore.MAX_TOPICS || maxEntries < 1) {
            throw new IllegalArgumentException(maxTopics + " topics, " + maxEntries
                    + " entries: must be at least 1, and less than " + MessageStore.MAX_TOPICS + " topics");
        }
        if (!(topicShare > 0 && topicShare < 1 && tokenShare > 0 && tokenShare < 1)) {
            throw new IllegalArgumentException("share of a topic " + topicShare + ", of a token " + tokenShare
                    + ": each must be between 0 and 1, both excluded");
        }
    }

    /** With the default bounds of entries and shares. */
    public PathSettings(
            int maxTopics, int maxChannels, long storeBytes, long definitionWaitNs, long maxMessageTimeoutNs) {
        this(maxTopics, maxChannels, storeBytes, definitionWaitNs, maxMessageTimeoutNs, 1 << 22, 0.75, 0.9);
    }

    public static PathSettings defaults() {
        return new PathSettings(100_000, 1_000, 256L << 20, TimeUnit.SECONDS.toNanos(5), TimeUnit.MINUTES.toNanos(15));
    }

    /** With room for at least so many topics. */
    public PathSettings withTopics(int topics) {
        return new PathSettings(
                Math.max(maxTopics, topics),
                maxChannels,
                storeBytes,
                definitionWaitNs,
                maxMessageTimeoutNs,
                maxEntries,
                topicShare,
                tokenShare);
    }

    /** With so many bytes of heap for entries. */
    public PathSettings withMemory(long newStoreBytes, long queueBytes, double newTopicShare, double newTokenShare) {
        return new PathSettings(
                maxTopics,
                maxChannels,
                newStoreBytes,
                definitionWaitNs,
                maxMessageTimeoutNs,
                Math.max(1, queueBytes / MemoryBudget.ENTRY_BYTES),
                newTopicShare,
                newTokenShare);
    }
}

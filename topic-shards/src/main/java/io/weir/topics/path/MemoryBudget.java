package io.weir.topics.path;

import io.weir.config.value.TopicName;
import io.weir.topics.algorithm.MemoryAccount;
import io.weir.topics.algorithm.MessageStore;
import io.weir.transport.gateway.AccessRights;

/**
 * Who may take how much of the broker's memory for messages: bytes of the {@link MessageStore}, and entries on the
 * heap, one for each place that a message has in a line, a queue or with a consumer.
 *
 * <p>A topic may hold α times what is free, and no more: dynamic thresholds (Choudhury and Hahne, "Dynamic queue length
 * thresholds for shared-memory packet switches", 1998). So one topic alone with a backlog takes α/(1+α), and n of them
 * that are filled and emptied side by side α/(1+nα) each. The setting is the first of these parts: a share of 0.75 is
 * an α of 3. What waits for room or tokens may take a quarter more; beyond that it is refused before it is stored. A
 * client's token has a share of its own in the same way, over all its topics.
 *
 * <p>Backlogs that come one after the other and stay would in the end take nearly all. So an eighth of the memory does
 * not count as free, and is for those that hold little: a {@link #LITTLE}th of all at most.
 *
 * <p>Asked before a token is spent. What passed is never given up for want of memory.
 */
final class MemoryBudget {
    /** What an entry costs at most, wherever it is, with its part of the consumers' tables. */
    static final int ENTRY_BYTES = 32;

    private static final double FOR_WAITING = 1.25;
    private static final int RESERVE = 8;
    private static final int LITTLE = 128;

    private final MessageStore store;
    private final long maxEntries;
    private final double topicFactor;
    private final double tokenFactor;
    private long refused;

    MemoryBudget(MessageStore store, PathSettings settings) {
        this.store = store;
        maxEntries = settings.maxEntries();
        topicFactor = settings.topicShare() / (1 - settings.topicShare());
        tokenFactor = settings.tokenShare() / (1 - settings.tokenShare());
    }

    /** Whether a publication may come in, to pass at once or to wait. */
    boolean mayCome(MemoryAccount topic, MemoryAccount token, long bytes, int messages, int copies) {
        return (long) messages * copies <= mostAtOnce()
                && fits(topic, bytes, messages, FOR_WAITING * topicFactor)
                && (token == null || fits(token, bytes, messages, tokenFactor));
    }

    private boolean fits(MemoryAccount account, long bytes, long entries, double factor) {
        return account.bytes() + bytes <= most(store.maxBytes(), store.bytesInUse() + bytes, factor)
                && account.entries() + entries <= most(maxEntries, store.entries() + entries, factor);
    }

    private static double most(long of, long taken, double factor) {
        return Math.max(factor * (of - of / RESERVE - taken), of / LITTLE);
    }

    /** The entries of one publication that could pass if the broker had no other message. */
    private long mostAtOnce() {
        return (long) (topicFactor / (1 + FOR_WAITING * topicFactor) * (maxEntries - maxEntries / RESERVE));
    }

    /**
     * Whether messages that have come in may pass. Those that wait take nothing away from them.
     *
     * @param moreEntries than they have now
     */
    boolean mayPass(MemoryAccount topic, long waitingBytes, long waiting, long moreEntries) {
        return topic.bytes() - waitingBytes <= most(store.maxBytes(), store.bytesInUse(), topicFactor)
                && topic.entries() - waiting + moreEntries
                        <= most(maxEntries, store.entries() + moreEntries, topicFactor);
    }

    /** For the publisher that {@link #mayCome} or {@link #mayPass} refused. */
    String refusal(
            TopicName name, MemoryAccount topic, AccessRights.Grant grant, long bytes, int messages, int copies) {
        refused += messages;
        if ((long) messages * copies > mostAtOnce()) {
            return messages + " messages for " + copies + " channels of topic " + name
                    + " are more at once than this broker's memory allows: publish at most " + mostAtOnce() / copies
                    + " at once, or raise weir.topics.queue-size";
        }
        MemoryAccount token = grant == null ? null : store.token(grant.number());
        if (token != null && !fits(token, bytes, messages, tokenFactor)) {
            return overQuota("token " + grant.name(), token, "token-share");
        }
        return overQuota("topic " + name, topic, "topic-share");
    }

    private String overQuota(String who, MemoryAccount account, String setting) {
        return who + " holds " + account.entries() + " messages in lines and channels, with " + (account.bytes() >> 20)
                + " MiB: no more fit into its part of this broker's memory, of which " + store.entries() + " of "
                + maxEntries + " and " + (store.bytesInUse() >> 20) + " of " + (store.maxBytes() >> 20)
                + " MiB are in use. Consume or empty its channels, or raise weir.topics.store-size, queue-size or "
                + setting;
    }

    long maxEntries() {
        return maxEntries;
    }

    /** Messages that were refused for want of memory. */
    long refused() {
        return refused;
    }
}

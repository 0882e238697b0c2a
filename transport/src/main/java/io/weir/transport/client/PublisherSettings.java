package io.weir.transport.client;

import io.weir.transport.algorithm.BatchTuner;
import java.time.Duration;

/**
 * How a publisher batches, and what it does when things do not go on.
 *
 * @param batching what the tuner may choose from, for each topic; {@code Bounds.fixed} turns tuning off
 * @param workers batches of a topic that are on their way at a time. Two are enough for a publisher that gathers: while
 *     one is answered, the next is on its way, and batches grow as they must. More leave more messages' outcomes
 *     unknown when a connection breaks
 * @param maxMessages that the store holds: waiting, or sent and not answered
 * @param maxBytes of those messages
 * @param waitForRoom how long {@code publish} waits when the store is full; zero: fails at once
 * @param answerWithin after which a message's future completes in any case
 * @param retry whether a message whose connection broke before the answer is sent again (at least once), or ends as
 *     unknown
 * @param closeWithin how long {@code close} waits for the outcomes of what is still there
 */
public record PublisherSettings(
        BatchTuner.Bounds batching,
        int workers,
        int maxMessages,
        long maxBytes,
        Duration waitForRoom,
        Duration answerWithin,
        boolean retry,
        Duration closeWithin) {
    private static final int MOST_MESSAGES = 1 << 24;

    public PublisherSettings {
        if (workers < 1 || workers > 1_024) {
            throw new IllegalArgumentException("workers must be within 1 and 1024: " + workers);
        }
        if (maxMessages < 1 || maxMessages > MOST_MESSAGES || maxBytes < 1) {
            throw new IllegalArgumentException("a store of " + maxMessages + " messages and " + maxBytes
                    + " bytes: at least 1 each, and at most " + MOST_MESSAGES + " messages");
        }
        if (waitForRoom.isNegative() || answerWithin.toMillis() < 1 || closeWithin.isNegative()) {
            throw new IllegalArgumentException("waitForRoom " + waitForRoom + ", answerWithin " + answerWithin
                    + " and closeWithin " + closeWithin + " must not be negative, and an answer needs 1 ms");
        }
    }

    public static PublisherSettings defaults() {
        return new PublisherSettings(
                BatchTuner.Bounds.client(),
                2,
                20_000,
                64L << 20,
                Duration.ofSeconds(10),
                Duration.ofSeconds(60),
                true,
                Duration.ofSeconds(10));
    }

    public PublisherSettings withBatching(BatchTuner.Bounds batching) {
        return new PublisherSettings(
                batching, workers, maxMessages, maxBytes, waitForRoom, answerWithin, retry, closeWithin);
    }

    public PublisherSettings withWorkers(int workers) {
        return new PublisherSettings(
                batching, workers, maxMessages, maxBytes, waitForRoom, answerWithin, retry, closeWithin);
    }

    public PublisherSettings withStore(int maxMessages, long maxBytes, Duration waitForRoom) {
        return new PublisherSettings(
                batching, workers, maxMessages, maxBytes, waitForRoom, answerWithin, retry, closeWithin);
    }

    public PublisherSettings withAnswerWithin(Duration answerWithin) {
        return new PublisherSettings(
                batching, workers, maxMessages, maxBytes, waitForRoom, answerWithin, retry, closeWithin);
    }

    public PublisherSettings withRetry(boolean retry) {
        return new PublisherSettings(
                batching, workers, maxMessages, maxBytes, waitForRoom, answerWithin, retry, closeWithin);
    }

    public PublisherSettings withCloseWithin(Duration closeWithin) {
        return new PublisherSettings(
                batching, workers, maxMessages, maxBytes, waitForRoom, answerWithin, retry, closeWithin);
    }
}

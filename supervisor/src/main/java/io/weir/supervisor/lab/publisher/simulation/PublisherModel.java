package io.weir.supervisor.lab.publisher.simulation;

import java.util.random.RandomGenerator;

/**
 * The publisher's surroundings. Times are means of exponential distributions unless they say otherwise.
 *
 * <p>The paper publishes the round trip (140 ms on average), and the slow subscriber's pull (25 messages/s); it gives
 * neither the number of workers nor any time of the data store. {@link #paper()} says how those were chosen.
 *
 * @param workers worker threads, shared by receiving and publishing
 * @param reservedWorkers workers that publishing leaves free for receiving (0 in the paper)
 * @param receivePriority whether a received request takes a free worker before a message to publish
 * @param receiveBuffer requests that may wait for a worker; further ones are dropped
 * @param receiveMeanNs a worker's time on a received request, before it writes
 * @param writeMeanNs the data store's time for a write
 * @param readFixedNs the data store's fixed time for a read (constant)
 * @param readMessageNs the data store's time for each message read (constant)
 * @param sendMeanNs a worker's time on a message to publish, before its transfer
 * @param rttMinNs the shortest round trip (constant)
 * @param rttMeanNs the mean round trip; what is above the shortest is exponential
 * @param brokerBuffer messages that the broker holds for the subscriber
 * @param pullMeanNs the subscriber's time to pull a message
 * @param vacationMeanNs the subscriber's time between pulls
 */
public record PublisherModel(
        int workers,
        int reservedWorkers,
        boolean receivePriority,
        int receiveBuffer,
        long receiveMeanNs,
        long writeMeanNs,
        long readFixedNs,
        long readMessageNs,
        long sendMeanNs,
        long rttMinNs,
        long rttMeanNs,
        int brokerBuffer,
        long pullMeanNs,
        long vacationMeanNs) {
    private static final long MILLIS = 1_000_000L;

    public PublisherModel {
        if (workers < 1 || reservedWorkers < 0 || reservedWorkers >= workers) {
            throw new IllegalArgumentException(
                    workers + " workers, " + reservedWorkers + " reserved: at least one must be free to publish");
        }
        if (receiveBuffer < 1 || brokerBuffer < 1) {
            throw new IllegalArgumentException("buffers of " + receiveBuffer + " and " + brokerBuffer + " messages");
        }
        if (rttMinNs < 0 || rttMeanNs < rttMinNs) {
            throw new IllegalArgumentException("a round trip of " + rttMeanNs + " ns, at least " + rttMinNs + " ns");
        }
        if (Math.min(Math.min(receiveMeanNs, writeMeanNs), Math.min(sendMeanNs, pullMeanNs)) < 0
                || Math.min(readFixedNs, readMessageNs) < 0
                || vacationMeanNs < 1) {
            throw new IllegalArgumentException("times must not be negative, and a vacation must last: " + this);
        }
    }

    /**
     * The paper's publisher, with a subscriber that keeps up.
     *
     * <p>The one thing fitted is the data store's read, 120 ms and 3 ms a message: with it the fixed N that does best
     * at 35 requests/s comes out near 10, as in Fig. 8. It also fits Table I, whose polls of 50 to 200 ms are meant to
     * be 1.2 times a read and its hand-over. 24 workers are about twice what 55 requests/s keep busy. The rest is small
     * beside these.
     */
    public static PublisherModel paper() {
        return new PublisherModel(
                24,
                0,
                true,
                100,
                2 * MILLIS,
                MILLIS,
                120 * MILLIS,
                3 * MILLIS,
                2 * MILLIS,
                120 * MILLIS,
                140 * MILLIS,
                200,
                MILLIS,
                10 * MILLIS);
    }

    public PublisherModel withPool(boolean newReceivePriority, int newReservedWorkers) {
        return with(newReceivePriority, newReservedWorkers, brokerBuffer, pullMeanNs, vacationMeanNs);
    }

    public PublisherModel withSubscriber(int newBrokerBuffer, long newPullMeanNs, long newVacationMeanNs) {
        return with(receivePriority, reservedWorkers, newBrokerBuffer, newPullMeanNs, newVacationMeanNs);
    }

    private PublisherModel with(
            boolean newReceivePriority,
            int newReservedWorkers,
            int newBrokerBuffer,
            long newPullMeanNs,
            long newVacationMeanNs) {
        return new PublisherModel(
                workers,
                newReservedWorkers,
                newReceivePriority,
                receiveBuffer,
                receiveMeanNs,
                writeMeanNs,
                readFixedNs,
                readMessageNs,
                sendMeanNs,
                rttMinNs,
                rttMeanNs,
                newBrokerBuffer,
                newPullMeanNs,
                newVacationMeanNs);
    }

    long readNs(int messages) {
        return readFixedNs + messages * readMessageNs;
    }

    long rttNs(RandomGenerator random) {
        return rttMinNs + (long) (random.nextExponential() * (rttMeanNs - rttMinNs));
    }
}

package io.weir.transport.client;

import io.weir.config.Endpoint;
import io.weir.transport.algorithm.BatchTuner;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A publisher's messages of one topic, in order, and the tuner that batches them. All that is on its way is on one
 * connection: the lane changes to another only when nothing is, so that messages cannot overtake each other. For the
 * loop's thread, but for the figures.
 *
 * <p>The seed's workers are here the batches that may be on their way at a time: a worker is taken by a batch until its
 * acknowledgement, as in the paper, and needs no thread meanwhile. Receiving needs none of them, which is more than
 * priority.
 *
 * <p>T_mpt is not quite the paper's, nor the lab's: there it includes the wait for workers, here only the way into the
 * connection's buffer, since a lane takes nothing while all workers are out. In the paper each message needs a worker,
 * so the wait says that N is too large for them. Here a batch needs one, however large; what comes while all are out
 * gathers and goes together with the next, and N has no part in it. Were the wait counted, T_poll would grow to the
 * broker's round trip, and with it N_max = η·T_poll: messages that find a worker free would wait for company, and
 * longest where the broker is slow already. The price is that T_poll stays near its minimum and "handed over late" is
 * rare: N follows what waits, up by one with each full batch and down by half with each poll that finds less.
 */
final class TopicLane {
    /** Of a whole batch; brokers take at least 5 MiB. */
    private static final int MAX_BATCH_BYTES = 1 << 20;

    /** After the first refusal; doubles up to the longest with each that follows. */
    private static final long SHORTEST_PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(1);

    private static final int MOST_DOUBLINGS = 7;

    private final String topic;
    private final byte[] topicBytes;
    private final int workers;
    private final int maxBatch;
    private final BatchTuner tuner;
    private final ArrayDeque<Request> waiting = new ArrayDeque<>();
    private int transfers;
    private int inFlight;
    /** A broker refused more at once; doubles again with every batch that is accepted. */
    private int cap;

    private long places;
    /** Batches that a broker refused since it accepted the last. */
    private int refusals;

    private long pausedUntilNs;

    /** Among the publisher's busy ones. */
    boolean listed;
    /** Not among the publisher's topics any more; comes back if somebody still publishes by way of it. */
    boolean letGo;
    /** Since when it is not busy, if it is not. */
    long idleSinceNs;

    private Dialer dialer;
    private BrokerConnection connection;
    private Endpoint home;

    private volatile int batchNow;
    private volatile long pollNsNow;
    private volatile int waitingNow;
    private volatile int inFlightNow;
    private volatile double loadNow;
    private volatile Endpoint brokerNow;

    /** A batch on its way. */
    record Transfer(TopicLane lane, List<Request> messages, long bytes, long startedNs, long mark) {}

    TopicLane(String topic, BatchTuner.Bounds bounds, int workers, long nowNs) {
        this.topic = topic;
        this.workers = workers;
        topicBytes = topic.getBytes(StandardCharsets.US_ASCII);
        maxBatch = bounds.maxBatch();
        cap = maxBatch;
        pausedUntilNs = nowNs;
        idleSinceNs = nowNs;
        tuner = new BatchTuner(bounds, bounds.minBatch(), nowNs);
        show();
    }

    String topic() {
        return topic;
    }

    Endpoint home() {
        return home;
    }

    /** Where this topic's messages should go as soon as there is a connection; null: anywhere. */
    void home(Endpoint endpoint) {
        home = endpoint;
    }

    /** By way of which messages are under way; null if none are. */
    Dialer dialerInUse() {
        return transfers > 0 ? dialer : null;
    }

    /** Nothing waits, nothing is on its way. */
    boolean idle() {
        return transfers == 0 && waiting.isEmpty();
    }

    void receive(Request request, long nowNs) {
        if (waiting.isEmpty()) {
            tuner.resumed(nowNs);
        }
        tuner.arrived(1);
        request.place = ++places;
        waiting.add(request);
    }

    /**
     * Sends what is due by way of {@code wanted}, which may be null; answers in how many nanoseconds something will be.
     */
    long send(Dialer wanted, List<Transfer> started, long nowNs) {
        if (dialer != wanted && transfers == 0) {
            dialer = wanted;
        }
        connection = dialer == wanted && wanted != null ? wanted.connection() : null;
        if (connection == null || waiting.isEmpty()) {
            show();
            return ClientLoop.NEVER_NS;
        }
        if (nowNs - pausedUntilNs < 0) {
            show();
            return pausedUntilNs - nowNs;
        }
        long atNs = nowNs;
        // As long as more at once may be refused, a batch goes alone: none can pass while the one before it comes back.
        int mostTransfers = cap < maxBatch ? 1 : workers;
        while (transfers < mostTransfers) {
            int taken = Math.min(Math.min(tuner.take(waiting.size(), atNs), cap), waiting.size());
            if (taken == 0) {
                show();
                return waiting.isEmpty() ? ClientLoop.NEVER_NS : Math.max(1, tuner.nextTakeNs() - atNs);
            }
            long takenNs = atNs;
            List<Request> batch = new ArrayList<>(taken);
            long bytes = 0;
            while (batch.size() < taken && (batch.isEmpty() || bytes + waiting.peek().body.length <= MAX_BATCH_BYTES)) {
                Request request = waiting.poll();
                bytes += request.body.length;
                batch.add(request);
            }
            connection.publish(topicBytes, batch);
            atNs = System.nanoTime();
            tuner.handedOver(atNs);
            transfers++;
            inFlight += batch.size();
            started.add(new Transfer(this, batch, bytes, takenNs, tuner.started(batch.size(), takenNs)));
        }
        show();
        return ClientLoop.NEVER_NS;
    }

    void accepted(Transfer transfer, long nowNs) {
        done(transfer);
        tuner.acknowledged(transfer.messages.size(), transfer.startedNs, transfer.mark, nowNs);
        cap = Math.min(maxBatch, 2 * cap);
        refusals = 0;
    }

    /** The broker said no to it, or nobody knows. */
    void lost(Transfer transfer, long nowNs) {
        done(transfer);
        tuner.lost(transfer.messages.size(), nowNs);
    }

    /**
     * The broker refused it and took nothing of it: its messages are tried again after a pause, at most {@code most} at
     * once.
     */
    void tryFewer(Transfer transfer, int most, long nowNs) {
        cap = Math.max(1, most);
        pausedUntilNs = nowNs + (SHORTEST_PAUSE_NS << Math.min(refusals, MOST_DOUBLINGS));
        refusals++;
        putBack(transfer, nowNs);
    }

    /** Its messages wait again, at their place. */
    void putBack(Transfer transfer, long nowNs) {
        lost(transfer, nowNs);
        if (waiting.isEmpty()) {
            tuner.resumed(nowNs);
        }
        // What is on its way at a time was taken in order, so all of these are behind or all before whatever came back
        // already.
        ArrayDeque<Request> before = new ArrayDeque<>();
        while (!waiting.isEmpty() && waiting.peek().place < transfer.messages.get(0).place) {
            before.push(waiting.poll());
        }
        for (int i = transfer.messages.size() - 1; i >= 0; i--) {
            Request request = transfer.messages.get(i);
            if (!request.told) {
                waiting.addFirst(request);
            }
        }
        before.forEach(waiting::addFirst);
    }

    private void done(Transfer transfer) {
        transfers--;
        inFlight -= transfer.messages.size();
    }

    /** The oldest that waits, if it waits since {@code beforeNs} or longer; else null. */
    Request pollOlderThan(long beforeNs) {
        Request oldest = waiting.peek();
        return oldest != null && oldest.publishedNs - beforeNs <= 0 ? waiting.poll() : null;
    }

    Request poll() {
        return waiting.poll();
    }

    private void show() {
        batchNow = tuner.batch();
        pollNsNow = tuner.pollNs();
        waitingNow = waiting.size();
        inFlightNow = inFlight;
        loadNow = tuner.loadPerSecond();
        brokerNow = connection == null ? null : connection.endpoint();
    }

    PublisherStats.Topic stats() {
        return new PublisherStats.Topic(
                topic, batchNow, pollNsNow / 1e3, waitingNow, inFlightNow, loadNow, String.valueOf(brokerNow));
    }

    int batchNow() {
        return batchNow;
    }

    long pollNsNow() {
        return pollNsNow;
    }

    int waitingNow() {
        return waitingNow;
    }

    int inFlightNow() {
        return inFlightNow;
    }
}

package io.weir.limiter.simulation;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Borrowing;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.DemandWindow;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.TokenBucket;

/**
 * A broker of {@link LimiterWorld}: the production bucket, borrowing and demand window, and the messages that wait for
 * a token, first come first served.
 */
final class SimulatedBroker {
    static final long NOT_WAITING = Long.MAX_VALUE;

    final int index;
    final TokenBucket bucket;
    final DemandWindow window;
    /** Null in a world without borrowing. */
    final Borrowing borrowing;

    /** Arrival times of the waiting messages, as a ring: {@code waiting} of them from {@code first} on. */
    private long[] arrivedNs = new long[64];

    private int first;
    private int waiting;
    /** When a wake-up is planned; {@link #NOT_WAITING} if none is. */
    long wakeNs = NOT_WAITING;

    private long busyUntilNs;

    SimulatedBroker(int index, TokenBucket bucket, Borrowing borrowing, DemandWindow window) {
        this.index = index;
        this.bucket = bucket;
        this.borrowing = borrowing;
        this.window = window;
    }

    void arrive(long nowNs) {
        if (waiting == arrivedNs.length) {
            long[] larger = new long[waiting * 2];
            for (int i = 0; i < waiting; i++) {
                larger[i] = arrivedNs[(first + i) & (arrivedNs.length - 1)];
            }
            arrivedNs = larger;
            first = 0;
        }
        arrivedNs[(first + waiting++) & (arrivedNs.length - 1)] = nowNs;
        window.arrived(1, missingMicros(nowNs), waiting, bucket.levelMicros(nowNs) < Limit.MICROS, nowNs);
    }

    boolean waits() {
        return waiting > 0;
    }

    long waitingMicros() {
        return waiting * Limit.MICROS;
    }

    int waiting() {
        return waiting;
    }

    long firstArrivedNs() {
        return arrivedNs[first];
    }

    /** The first waiting message goes, with a token or refused; the answer is when it had arrived. */
    long leaveFirst(long nowNs) {
        long arrived = arrivedNs[first];
        first = (first + 1) & (arrivedNs.length - 1);
        waiting--;
        window.waiting(waiting, nowNs);
        return arrived;
    }

    /** The same for the one that came last. */
    long leaveLast(long nowNs) {
        waiting--;
        window.waiting(waiting, nowNs);
        return arrivedNs[(first + waiting) & (arrivedNs.length - 1)];
    }

    /** When a message that is admitted now has been served, one at a time. */
    long servedNs(long nowNs, long serviceNs) {
        busyUntilNs = Math.max(busyUntilNs, nowNs) + serviceNs;
        return busyUntilNs;
    }

    Share share() {
        return new Share(bucket.rateMicros(), bucket.burstMicros());
    }

    Demand demand(long nowNs) {
        return window.demand(nowNs);
    }

    /**
     * Removes supply at the gate before it is sent. Level leaves in proportion to burst, rounded up, so that neither
     * side ends above its burst.
     */
    Transfer handOver(Share part, long nowNs) {
        if (borrowing != null && part.burstMicros() > 0) {
            borrowing.cancel(nowNs);
        }
        long burst = bucket.burstMicros();
        long level = bucket.levelMicros(nowNs);
        long keep = burst - part.burstMicros();
        long leaving = part.burstMicros() == 0
                ? 0
                : Math.min(part.burstMicros(), Math.max(level - keep, (long)
                        (level * (part.burstMicros() / (double) burst))));
        long removed = bucket.removeMicros(leaving, nowNs);
        bucket.change(bucket.rateMicros() - part.rateMicros(), keep, nowNs);
        return new Transfer(part, removed);
    }

    void credit(Transfer transfer, long nowNs) {
        bucket.change(
                bucket.rateMicros() + transfer.share().rateMicros(),
                bucket.burstMicros() + transfer.share().burstMicros(),
                nowNs);
        bucket.addMicros(transfer.levelMicros(), nowNs);
    }

    private long missingMicros(long nowNs) {
        return bucket.burstMicros() - bucket.levelMicros(nowNs);
    }

    /** Supply on its way: in flight it accrues nothing. */
    record Transfer(Share share, long levelMicros) {}

    /** What neighbours and the adaptor are told once a period. */
    record Tell(Share share, Demand demand) {}

    /** The adaptor calls supply in. */
    record Recall(Share part) {}
}

package io.weir.cluster.bench;

import java.util.SplittableRandom;

/**
 * When each of many publishers, or groups of them, means to publish. A publisher's next time follows from its last
 * <em>intended</em> one, never from when something was sent or answered: a broker that stalls does not slow its
 * publishers down, it makes their messages late. A heap of fixed size; nothing is allocated once it is built.
 */
public final class SendSchedule {
    /** How a publisher's times follow each other. */
    public enum Distribution {
        /** Exponential gaps. */
        poisson,
        /** Equal gaps, each publisher with a random phase. */
        periodic
    }

    private final Distribution distribution;
    private final double gapNs;
    private final SplittableRandom random;
    private int times = 1;
    private final long[] dueNs;
    private final int[] publishers;

    SendSchedule(Distribution distribution, int publishers, double eventsPerSecond, long startNs, long seed) {
        this.distribution = distribution;
        this.gapNs = 1e9 * publishers / eventsPerSecond;
        this.random = new SplittableRandom(seed);
        this.dueNs = new long[publishers];
        this.publishers = new int[publishers];
        for (int i = 0; i < publishers; i++) {
            this.publishers[i] = i;
            dueNs[i] = startNs + (distribution == Distribution.periodic ? (long) (random.nextDouble() * gapNs) : gap());
        }
        for (int i = publishers / 2 - 1; i >= 0; i--) {
            siftDown(i);
        }
    }

    private long gap() {
        return distribution == Distribution.periodic
                ? times * (long) gapNs
                : (long) (-Math.log(1.0 - random.nextDouble()) * gapNs * times);
    }

    /** From the next gaps on, all are so many times as long; a periodic publisher keeps its phase. */
    void stretch(int newTimes) {
        times = newTimes;
    }

    /** The earliest intended time. */
    public long nextNs() {
        return dueNs[0];
    }

    /** Whose it is. */
    public int nextPublisher() {
        return publishers[0];
    }

    /** That one is sent: its publisher's next time takes its place. */
    public void advance() {
        dueNs[0] += gap();
        siftDown(0);
    }

    private void siftDown(int from) {
        long due = dueNs[from];
        int publisher = publishers[from];
        int at = from;
        while (true) {
            int child = 2 * at + 1;
            if (child >= dueNs.length) {
                break;
            }
            if (child + 1 < dueNs.length && dueNs[child + 1] - dueNs[child] < 0) {
                child++;
            }
            if (due - dueNs[child] <= 0) {
                break;
            }
            dueNs[at] = dueNs[child];
            publishers[at] = publishers[child];
            at = child;
        }
        dueNs[at] = due;
        publishers[at] = publisher;
    }
}

package io.weir.supervisor.lab.publisher.simulation;

import java.util.Arrays;

/** What a simulated publisher did: where every request ended, and how N went. */
public final class PublisherRun {
    private static final long INSIDE = -1;
    private static final long DROPPED = -2;

    private final long[] arrivalsNs;
    private final long[] deliveredNs;
    private final int[] sent;
    private final int[] delivered;
    private int sentCount;
    private int deliveredCount;
    private int droppedCount;

    private long[] pollsNs = new long[256];
    private int[] batches = new int[256];
    private int polls;

    PublisherRun(long[] arrivalsNs) {
        this.arrivalsNs = arrivalsNs;
        deliveredNs = new long[arrivalsNs.length];
        Arrays.fill(deliveredNs, INSIDE);
        sent = new int[arrivalsNs.length];
        delivered = new int[arrivalsNs.length];
    }

    void dropped(int message) {
        expectInside(message);
        deliveredNs[message] = DROPPED;
        droppedCount++;
    }

    void sent(int message) {
        sent[sentCount++] = message;
    }

    void delivered(int message, long nowNs) {
        expectInside(message);
        deliveredNs[message] = nowNs;
        delivered[deliveredCount++] = message;
    }

    void polled(long nowNs, int batch) {
        if (polls == pollsNs.length) {
            pollsNs = Arrays.copyOf(pollsNs, polls * 2);
            batches = Arrays.copyOf(batches, polls * 2);
        }
        pollsNs[polls] = nowNs;
        batches[polls++] = batch;
    }

    private void expectInside(int message) {
        if (deliveredNs[message] != INSIDE) {
            throw new IllegalStateException("message " + message + " ends twice, first at " + deliveredNs[message]);
        }
    }

    public int offered() {
        return arrivalsNs.length;
    }

    public int dropped() {
        return droppedCount;
    }

    public int delivered() {
        return deliveredCount;
    }

    /** Requests that were neither dropped nor delivered when the run ended. */
    public int inside() {
        return offered() - droppedCount - deliveredCount;
    }

    /** Messages in the order in which their transfers to the broker started. */
    public int[] sendOrder() {
        return Arrays.copyOf(sent, sentCount);
    }

    /** Messages in the order in which the subscriber had them. */
    public int[] deliveryOrder() {
        return Arrays.copyOf(delivered, deliveredCount);
    }

    /**
     * Milliseconds from arrival until the subscriber had the message, for arrivals in {@code [fromNs, toNs)}. One that
     * was still inside counts with the time it had waited when the run ended at {@code endNs}, so that a publisher that
     * falls behind does not look fast by what it has not delivered; a dropped one does not count.
     */
    public double[] latenciesMs(long fromNs, long toNs, long endNs) {
        double[] latencies = new double[arrivalsNs.length];
        int count = 0;
        for (int i = 0; i < arrivalsNs.length; i++) {
            if (arrivalsNs[i] >= fromNs && arrivalsNs[i] < toNs && deliveredNs[i] != DROPPED) {
                long untilNs = deliveredNs[i] == INSIDE ? endNs : deliveredNs[i];
                latencies[count++] = (untilNs - arrivalsNs[i]) / 1e6;
            }
        }
        return Arrays.copyOf(latencies, count);
    }

    /** Times of the publish thread's polls. */
    public long[] pollsNs() {
        return Arrays.copyOf(pollsNs, polls);
    }

    /** N at each poll. */
    public int[] batches() {
        return Arrays.copyOf(batches, polls);
    }

    /** N averaged over the time from {@code fromNs} to {@code toNs}; NaN if no poll fell into it. */
    public double meanBatch(long fromNs, long toNs) {
        double area = 0;
        long covered = 0;
        for (int i = 0; i < polls; i++) {
            long startNs = Math.max(pollsNs[i], fromNs);
            long endNs = Math.min(i + 1 < polls ? pollsNs[i + 1] : pollsNs[i], toNs);
            if (endNs > startNs) {
                area += (double) batches[i] * (endNs - startNs);
                covered += endNs - startNs;
            }
        }
        return covered == 0 ? Double.NaN : area / covered;
    }
}

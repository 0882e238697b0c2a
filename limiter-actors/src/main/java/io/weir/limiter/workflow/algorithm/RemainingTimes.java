package io.weir.limiter.workflow.algorithm;

import java.util.Arrays;

/**
 * R and L of each workflow from one shard to its ends: R is service time only, L what a message really takes, lines and
 * queues included. Wisp has them from replies; a broker's messages have none, so they travel upstream with the rates:
 *
 * <p>R_T = s + Σ α·R_D ÷ max(1, Σα) with s the channel's own mean service time, the maximum over channels, at most ten
 * minutes; L the same with the time from the shard to FIN in place of s. Dividing by Σα takes what is published side by
 * side as done side by side; a join that waits for the slowest is underestimated. A channel without samples lets its L
 * fall to its R (τ = 1 s): a queue that nobody passes is soon empty.
 *
 * <p>A channel and workflow beyond the table's size is not measured, and adds nothing.
 */
public final class RemainingTimes {
    public static final long LONGEST_NS = 600_000_000_000L;
    private static final double TAU_NS = 1e9;

    private final LongIndex sources;
    private final int[] numbers;
    private final double[] servedNs;
    private final double[] tookNs;
    private final long[] count;
    private final double[] ownServiceNs;
    private final double[] ownLatencyNs;
    private final double[] belowR;
    private final double[] belowL;
    private final double[] alphaSum;
    private final double[] remaining = new double[WorkflowSlots.COUNT];
    private final double[] latency = new double[WorkflowSlots.COUNT];

    public RemainingTimes(int mostSources) {
        sources = new LongIndex(mostSources);
        numbers = new int[mostSources];
        servedNs = new double[mostSources];
        tookNs = new double[mostSources];
        count = new long[mostSources];
        ownServiceNs = new double[mostSources];
        ownLatencyNs = new double[mostSources];
        belowR = new double[mostSources];
        belowL = new double[mostSources];
        alphaSum = new double[mostSources];
    }

    /**
     * A delivery was finished.
     *
     * @param serviceNs the expected or reported service time
     * @param sinceNs from the moment at which the shard passed it on, its own line excluded, to FIN
     */
    public void finished(int channel, int workflow, long serviceNs, long sinceNs) {
        int number = sources.add(Edge.of(channel, workflow, 0, 0));
        if (number != LongIndex.NONE) {
            servedNs[number] += serviceNs;
            tookNs[number] += sinceNs;
            count[number]++;
        }
    }

    /** Once an interval. */
    public void interval(Amplification amplification, Announced announced, long elapsedNs) {
        int used = sources.numbers(numbers);
        double weight = 1 - Math.exp(-elapsedNs / TAU_NS);
        for (int i = 0; i < used; i++) {
            int number = numbers[i];
            if (count[number] > 0) {
                boolean first = ownServiceNs[number] == 0;
                ownServiceNs[number] +=
                        (first ? 1 : weight) * (servedNs[number] / count[number] - ownServiceNs[number]);
                ownLatencyNs[number] += (first ? 1 : weight) * (tookNs[number] / count[number] - ownLatencyNs[number]);
            } else {
                ownLatencyNs[number] += weight * (ownServiceNs[number] - ownLatencyNs[number]);
            }
            servedNs[number] = 0;
            tookNs[number] = 0;
            count[number] = 0;
            belowR[number] = 0;
            belowL[number] = 0;
            alphaSum[number] = 0;
        }
        amplification.visit((edge, alpha) -> below(edge, alpha, announced.of(edge)));
        Arrays.fill(remaining, 0);
        Arrays.fill(latency, 0);
        for (int i = 0; i < used; i++) {
            int number = numbers[i];
            int workflow = Edge.workflow(sources.key(number));
            double parallel = Math.max(1, alphaSum[number]);
            remaining[workflow] = Math.max(remaining[workflow], ownServiceNs[number] + belowR[number] / parallel);
            latency[workflow] = Math.max(latency[workflow], ownLatencyNs[number] + belowL[number] / parallel);
        }
    }

    private void below(long edge, double alpha, Announcement announcement) {
        int number = sources.find(Edge.of(Edge.channel(edge), Edge.workflow(edge), 0, 0));
        if (number != LongIndex.NONE && announcement != null) {
            belowR[number] += alpha * announcement.remainingNs();
            belowL[number] += alpha * announcement.latencyNs();
            alphaSum[number] += alpha;
        }
    }

    /** R: service time from here to the end. */
    public long remainingNs(int workflow) {
        return (long) Math.min(LONGEST_NS, remaining[workflow]);
    }

    /** L: latency from here to the end, this shard's own line excluded; never below R. */
    public long latencyNs(int workflow) {
        return (long) Math.min(LONGEST_NS, Math.max(latency[workflow], remaining[workflow]));
    }
}

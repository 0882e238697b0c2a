package io.weir.topics.algorithm;

import java.util.Arrays;

/**
 * Deficit round robin over workflows (Shreedhar and Varghese), with the deficit paid afterwards: each workflow has a
 * queue of its own, in the order of a {@link Schedule}, and in its turn gets a quantum of consumer time in proportion
 * to its weight. It is served while its credit is above 0, pays the expected cost of what is served, and takes a debt,
 * of less than one message, into its next turns. So of any stretch in which two workflows have messages waiting, each
 * has its weighted part of the consumers' time, up to one quantum and one message of each.
 *
 * <p>The quantum is the mean cost, so turns are short and a cheap workflow is not kept waiting by a dear one. It
 * changes between rounds only: whoever had the larger of two quanta in every round would get ahead without bound. An
 * expected cost is its workflow's (the latest that a tag has told).
 *
 * <p>A workflow may add while it holds less than {@value #ROOM} times the room that is left: one that floods fills
 * eight ninths of the queue, and the others still find room.
 */
public final class FairQueue implements EntryQueue {
    private static final int ROOM = 8;
    private static final double MEAN_WEIGHT = 1.0 / 64;
    /** A message of unknown cost costs something, or its workflow's turn would have no end. */
    private static final long LEAST_COST_NS = 1_000;
    /** Stands among the turns where a round ends. */
    private static final long ROUND = -1;

    private final int most;
    private final Schedule inside;
    private final long maxDelayNs;
    private final LongSegments segments;
    private final EntryQueue[] queues;
    private final double[] weights;
    private final double[] credits;
    private final double[] costsNs;
    /** The workflows that have something, the one whose turn it is first, and {@link #ROUND} between rounds. */
    private final LongRing turns;

    private double meanCostNs = LEAST_COST_NS;
    private double quantumNs = LEAST_COST_NS;
    /** Whether the first of {@link #turns} has got its quantum. */
    private boolean granted;

    private int size;

    /** @param workflows how many there may be, numbered from 0 */
    public FairQueue(int workflows, Schedule inside, int most, long maxDelayNs, LongSegments segments) {
        this.most = most;
        this.inside = inside;
        this.maxDelayNs = maxDelayNs;
        this.segments = segments;
        turns = new LongRing(segments);
        queues = new EntryQueue[workflows];
        weights = new double[workflows];
        credits = new double[workflows];
        costsNs = new double[workflows];
        Arrays.fill(weights, 1);
        turns.add(ROUND);
    }

    public void weight(int workflow, double weight) {
        if (!(weight > 0)) {
            throw new IllegalArgumentException("a workflow's weight is above 0, not " + weight);
        }
        weights[workflow] = weight;
    }

    @Override
    public boolean add(long entry, MessageTag tag) {
        int workflow = tag.workflow;
        EntryQueue queue = queues[workflow];
        if (queue == null) {
            queue = queues[workflow] = EntryQueue.of(inside, most, maxDelayNs, segments);
        }
        if (size >= most || queue.size() >= (long) ROOM * (most - size)) {
            return false;
        }
        if (queue.isEmpty()) {
            turns.add(workflow);
        }
        queue.add(entry, tag);
        costsNs[workflow] = Math.max(LEAST_COST_NS, Math.min(MessageTag.LONGEST_NS, tag.costNs));
        meanCostNs += MEAN_WEIGHT * (costsNs[workflow] - meanCostNs);
        size++;
        return true;
    }

    @Override
    public long peek() {
        return queues[turn()].peek();
    }

    @Override
    public long poll() {
        int workflow = turn();
        EntryQueue queue = queues[workflow];
        long entry = queue.poll();
        size--;
        credits[workflow] -= costsNs[workflow];
        if (queue.isEmpty()) {
            // Credit is lost, debt is not: a workflow can't shed it by sending one message at a time.
            credits[workflow] = Math.min(0, credits[workflow]);
            turns.poll();
            granted = false;
        }
        return entry;
    }

    /** Whose turn it is: the first with credit. Asked again it answers the same. */
    private int turn() {
        if (size == 0) {
            throw new IllegalStateException("the queue is empty");
        }
        int rounds = 0;
        while (true) {
            long first = turns.peek();
            if (first == ROUND) {
                quantumNs = meanCostNs;
                if (++rounds == 2) {
                    // A whole round, and nobody was served.
                    skipRounds();
                    rounds = 1;
                }
            } else {
                int workflow = (int) first;
                if (!granted) {
                    credits[workflow] += quantumNs * weights[workflow];
                    granted = true;
                }
                if (credits[workflow] > 0) {
                    return workflow;
                }
                granted = false;
            }
            turns.add(turns.poll());
        }
    }

    /** All are in debt: passes as many rounds at once as nobody would be served in. */
    private void skipRounds() {
        double rounds = Double.POSITIVE_INFINITY;
        for (int i = 1; i < turns.size(); i++) {
            int workflow = (int) turns.get(i);
            rounds = Math.min(rounds, Math.floor(-credits[workflow] / (quantumNs * weights[workflow])));
        }
        for (int i = 1; i < turns.size(); i++) {
            int workflow = (int) turns.get(i);
            credits[workflow] += rounds * quantumNs * weights[workflow];
        }
    }

    @Override
    public int size() {
        return size;
    }
}

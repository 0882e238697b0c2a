package io.weir.limiter.workflow.algorithm;

/**
 * How many publications follow from one finished delivery: Wisp's α, observed. α = Σ publications ÷ Σ finished
 * deliveries, both sums that forget with τ = 10 s; an edge that was idle for 60 s is gone, and α is at most
 * {@value #HIGHEST}. It is measured against what was finished, not against what arrived: while a queue builds up, or
 * drains, arrivals say nothing about a consumer's habits.
 *
 * <p>Counting is one lookup and one addition; {@link #age} runs once an interval. An edge beyond the bound is not
 * counted ({@link #untracked} is), so it bounds nobody, until another is forgotten.
 */
public final class Amplification {
    public static final double HIGHEST = 10_000;
    private static final double TAU_NS = 10e9;
    private static final long FORGET_NS = 60_000_000_000L;

    /** Told of every edge that is known. */
    @FunctionalInterface
    public interface Visitor {
        /** @param edge an {@link Edge} */
        void edge(long edge, double alpha);
    }

    private final LongIndex sources;
    private final double[] finished;
    private final long[] sourceUsedNs;
    private final LongIndex edges;
    private final double[] published;
    private final long[] edgeUsedNs;
    private final int[] numbers;
    private long agedNs;
    private long untracked;

    public Amplification(int mostEdges, long nowNs) {
        sources = new LongIndex(mostEdges);
        finished = new double[mostEdges];
        sourceUsedNs = new long[mostEdges];
        edges = new LongIndex(mostEdges);
        published = new double[mostEdges];
        edgeUsedNs = new long[mostEdges];
        numbers = new int[mostEdges];
        agedNs = nowNs;
    }

    /** Deliveries of a channel that its consumers finished. */
    public void finished(int channel, int workflow, int count, long nowNs) {
        int number = sources.add(Edge.of(channel, workflow, 0, 0));
        if (number == LongIndex.NONE) {
            untracked += count;
            return;
        }
        finished[number] += count;
        sourceUsedNs[number] = nowNs;
    }

    /** Publications whose context came with a delivery of the edge's channel. */
    public void published(long edge, int count, long nowNs) {
        int number = edges.add(edge);
        if (number == LongIndex.NONE) {
            untracked += count;
            return;
        }
        published[number] += count;
        edgeUsedNs[number] = nowNs;
    }

    /** 0 if nothing was published along the edge, or nothing finished yet. */
    public double alpha(long edge) {
        int to = edges.find(edge);
        int from = sources.find(Edge.of(Edge.channel(edge), Edge.workflow(edge), 0, 0));
        // Less than half a delivery is what is left of one that was finished seven seconds ago: too little to divide
        // by.
        if (to == LongIndex.NONE || from == LongIndex.NONE || finished[from] < 0.5) {
            return 0;
        }
        return Math.min(HIGHEST, published[to] / finished[from]);
    }

    /** Lets the sums forget; call it once an interval. */
    public void age(long nowNs) {
        double kept = Math.exp(-Math.max(0, nowNs - agedNs) / TAU_NS);
        agedNs = nowNs;
        age(sources, finished, sourceUsedNs, kept, nowNs);
        age(edges, published, edgeUsedNs, kept, nowNs);
    }

    private void age(LongIndex index, double[] sums, long[] usedNs, double kept, long nowNs) {
        int count = index.numbers(numbers);
        for (int i = 0; i < count; i++) {
            int number = numbers[i];
            if (nowNs - usedNs[number] >= FORGET_NS) {
                sums[number] = 0;
                index.remove(index.key(number));
            } else {
                sums[number] *= kept;
            }
        }
    }

    public void visit(Visitor visitor) {
        int count = edges.numbers(numbers);
        for (int i = 0; i < count; i++) {
            long edge = edges.key(numbers[i]);
            visitor.edge(edge, alpha(edge));
        }
    }

    public int edges() {
        return edges.size();
    }

    /** Deliveries and publications that found no room in the tables. */
    public long untracked() {
        return untracked;
    }
}

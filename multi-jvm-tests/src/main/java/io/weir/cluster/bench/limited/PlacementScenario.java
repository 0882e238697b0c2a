package io.weir.cluster.bench.limited;

import io.weir.cluster.bench.Load;
import io.weir.cluster.bench.SendSchedule;
import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.BucketProfiler;
import java.util.List;
import java.util.function.IntFunction;

/**
 * A topic as SRTM's section 6 has them, scaled to a small machine, and the policy that srtm is held against on it.
 *
 * <p>The limit is the paper's: r a tenth above the topic's rate, b the smallest with which one bucket makes no more
 * than one message in a hundred wait. A splitting that costs nothing would keep it so; what a policy's p99 shows beyond
 * is the DRL penalty. Rates are so low that tokens, not processors, are what messages wait for: with a fraction of the
 * paper's rate, each wait for a token is as many times longer.
 *
 * @param baseline the policy
 * @param publishers each with a connection of its own, round the brokers
 * @param batch messages that a publisher sends at a time
 * @param adapt how its limit follows demand
 */
record PlacementScenario(
        String name,
        String baseline,
        int publishers,
        double messagesPerSecond,
        int groups,
        int batch,
        SendSchedule.Distribution distribution,
        String adapt,
        String says) {
    static final String SUBJECT = "srtm";
    /** That of every broker, in messages a second: the first scenario fits one broker, the second needs six. */
    static final double CAPACITY = 500;

    private static final double MARGIN = 0.1;
    private static final int TRACE_MESSAGES = 200_000;

    static final PlacementScenario LOW_LOAD = new PlacementScenario(
            "low-load",
            "lb",
            48,
            480,
            48,
            1,
            SendSchedule.Distribution.poisson,
            "gossip",
            "48 Poisson publishers of 10 msg/s; one broker carries them (SRTM 6.1, 6.2: 1,000 publishers, 10,000 msg/s)");

    static final PlacementScenario CORRELATED = new PlacementScenario(
            "correlated",
            "max-min",
            144,
            2_880,
            12,
            10,
            SendSchedule.Distribution.periodic,
            "static",
            "144 publishers in 12 groups of 12 that send together, batches of 10 twice a second; six brokers are needed"
                    + " (SRTM 6.4: 1,000 publishers, 10,000 msg/s, groups of 5 to 30)");

    static final List<PlacementScenario> ALL = List.of(LOW_LOAD, CORRELATED);

    Load.Shape.OpenLoop shape(long seed) {
        return new Load.Shape.OpenLoop(
                messagesPerSecond, publishers, groups, new Load.Batch(batch, Load.Batch.As.mpub), distribution, seed);
    }

    /** A group that each publisher belongs to; empty where each is for itself. */
    IntFunction<String> group() {
        if (groups == publishers) {
            return publisher -> "";
        }
        return publisher -> {
            int group = 0;
            while (shape(0).firstOf(group + 1) <= publisher) {
                group++;
            }
            return "g" + group;
        };
    }

    /** Profiled on a trace of the load itself: that of {@code seed}. */
    Limit limit(long seed) {
        Limit exact = new BucketProfiler(MARGIN)
                .profile(shape(seed).trace(TRACE_MESSAGES))
                .limit();
        // Rounded, so that what is printed is what is set.
        return Limit.of(
                Math.ceil(exact.rateMicros() / (double) Limit.MICROS), exact.burstMicros() / (double) Limit.MICROS);
    }
}

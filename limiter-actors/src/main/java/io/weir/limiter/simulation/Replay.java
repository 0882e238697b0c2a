package io.weir.limiter.simulation;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Graph;
import io.weir.limiter.algorithm.Sharing;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * A recorded topic under a limit that is only thought of: its arrivals go through the bucket, the borrowing and the
 * rules of sharing that brokers run, in a {@link LimiterWorld}.
 *
 * <p>If as many brokers are asked for as were recorded, each message comes to the broker that it came to. Else each
 * instant goes to one of them at random, the same each time: publishers that are spread over brokers do so. (In turn,
 * each broker's arrivals would be more regular than any publisher's, and wait too little.) Messages of one instant stay
 * together.
 *
 * <p>Where supply follows demand, the recording is replayed twice and only the second time counts: a cluster that runs
 * has found its shares before.
 */
public final class Replay {
    /** One way between two brokers. A link's thread wakes up within about this time. */
    private static final SimulatedLinks LINKS = SimulatedLinks.perfect(TimeUnit.MICROSECONDS.toNanos(100));

    private static final long GOSSIP_ROUND_NS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long ADAPTOR_PERIOD_NS = TimeUnit.SECONDS.toNanos(1);
    /** As a broker: up to so many brokers everybody lends to everybody. */
    private static final int ALL_LEND = 8;
    /** What still waits so long after the last arrival counts with its wait so far. */
    private static final long DRAIN_NS = TimeUnit.HOURS.toNanos(1);

    private static final long SEED = 1;

    /**
     * What is thought of.
     *
     * @param maxWaiting messages that may wait at a broker; 0 for a topic that polices
     * @param maxDelayNs after which a message that waits is refused
     */
    public record Terms(Limit limit, int brokers, Sharing sharing, boolean borrows, int maxWaiting, long maxDelayNs) {
        public Terms {
            if (brokers < 1) {
                throw new IllegalArgumentException("a limit is held by 1 broker or more, not " + brokers);
            }
            if (limit.burstMicros() / brokers < Limit.MICROS) {
                throw new IllegalArgumentException("a burst of " + limit.burstMessages() + " over " + brokers
                        + " brokers leaves each less than one message, so none would pass");
            }
        }

        /** The same, but what finds no token is refused. */
        public Terms policing() {
            return new Terms(limit, brokers, sharing, borrows, 0, maxDelayNs);
        }

        public Terms at(int otherBrokers, boolean borrowing) {
            return new Terms(limit, otherBrokers, sharing, borrowing, maxWaiting, maxDelayNs);
        }
    }

    /**
     * What came of it.
     *
     * @param delayed messages that did not pass at once, without those that were refused at once
     * @param refused messages that were turned away: the line was full, or their wait too long
     * @param p50Seconds of those that passed, as the other two; 0 if none did
     */
    public record Outcome(
            long messages, long delayed, long refused, double p50Seconds, double p99Seconds, double longestSeconds) {
        public double delayedFraction() {
            return delayed / (double) messages;
        }

        public double refusedFraction() {
            return refused / (double) messages;
        }
    }

    private Replay() {}

    /** @param trace at least one message */
    public static Outcome of(ArrivalTrace trace, Terms terms) {
        int k = terms.brokers();
        boolean adapts = k > 1 && terms.sharing() != Sharing.STATIC;
        LimiterWorld.Setup setup = LimiterWorld.Setup.of(terms.limit(), k, LINKS)
                .sharing(terms.sharing())
                .every(terms.sharing() == Sharing.ADAPTOR ? ADAPTOR_PERIOD_NS : GOSSIP_ROUND_NS)
                .line(terms.maxWaiting(), terms.maxDelayNs());
        if (terms.borrows() && k > 1) {
            setup = setup.borrowing(lenders(k));
        }
        SplittableRandom random = new SplittableRandom(SEED);
        int passes = adapts ? 2 : 1;
        long periodNs = trace.periodNs();
        LimiterWorld.Result result = new LimiterWorld(setup, random.split())
                .run(
                        new Passes(trace, brokers(trace, k, random), passes),
                        (passes - 1) * periodNs,
                        passes * periodNs + Math.min(terms.maxDelayNs(), DRAIN_NS));
        Sample delay = result.accessDelay();
        boolean none = delay.size() == 0;
        return new Outcome(
                delay.size() + result.refused(),
                result.delayed(),
                result.refused(),
                none ? 0 : delay.quantile(0.5),
                none ? 0 : delay.quantile(0.99),
                none ? 0 : delay.max());
    }

    private static Graph lenders(int k) {
        return k <= ALL_LEND
                ? Graph.ring(k, IntStream.rangeClosed(2, k / 2).toArray())
                : Graph.ring(k, Graph.binaryChords(k));
    }

    private static int[] brokers(ArrivalTrace trace, int k, SplittableRandom random) {
        return k == trace.brokers().size()
                ? trace.brokerOf()
                : random.ints(trace.timesNs().length, 0, k).toArray();
    }

    /** A trace again and again, from time 0 on. */
    private static final class Passes implements Arrivals {
        private final ArrivalTrace trace;
        private final int[] brokerOf;
        private final int passes;
        private int pass;
        private int instant;
        private int taken;

        Passes(ArrivalTrace trace, int[] brokerOf, int passes) {
            this.trace = trace;
            this.brokerOf = brokerOf;
            this.passes = passes;
        }

        @Override
        public long nextNs() {
            return pass == passes ? NO_MORE : pass * trace.periodNs() + trace.timesNs()[instant] - trace.timesNs()[0];
        }

        @Override
        public int takeBroker() {
            int broker = brokerOf[instant];
            if (++taken == trace.counts()[instant]) {
                taken = 0;
                if (++instant == trace.timesNs().length) {
                    instant = 0;
                    pass++;
                }
            }
            return broker;
        }
    }
}

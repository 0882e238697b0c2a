package io.weir.limiter.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Borrowing;
import io.weir.limiter.algorithm.BrokenBorrowing;
import io.weir.limiter.algorithm.BucketModel;
import io.weir.limiter.algorithm.Graph;
import io.weir.limiter.algorithm.Loan;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.algorithm.TokenBucket;
import io.weir.limiter.simulation.LimiterWorld.BorrowingFactory;
import io.weir.limiter.simulation.LimiterWorld.Result;
import io.weir.limiter.simulation.LimiterWorld.Setup;
import io.weir.limiter.simulation.PublisherArrivals.Placement;
import java.util.SplittableRandom;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;

class LimiterWorldTest {
    private static final Limit FIG_6A = Limit.of(11_000, 27);
    private static final int STORM_MESSAGES = 1_000;
    private static final long SECOND_NS = 1_000_000_000L;
    private static final int SEEDS = 3_000;

    @Test
    void shouldDelayAsTheModelSaysWhenTheSplitIsStatic() {
        for (int k : new int[] {1, 2, 6}) {
            double modelMs = new BucketModel(10_000, 11_000, 27).share(k).delayQuantileSeconds(0.99) * 1e3;
            Result result = figure6a(Setup.of(FIG_6A, k, SimulatedLinks.perfect(50_000)), 1, 30);
            assertThat(result.accessDelay().quantile(0.99) * 1e3)
                    .as("k = %d", k)
                    .isBetween(modelMs * 0.8, modelMs * 1.2 + 0.1);
        }
    }

    @Test
    void shouldReplayExactlyWhenTheSeedIsTheSame() {
        Setup setup = Setup.of(FIG_6A, 6, new SimulatedLinks(50_000, 0.1, 0.1, 0.1, 5_000_000))
                .sharing(Sharing.GOSSIP)
                .borrowing(Graph.ring(6, 2, 3));
        Result first = figure6a(setup, 5, 3);
        Result second = figure6a(setup, 5, 3);

        assertThat(second.accessDelay().mean()).isEqualTo(first.accessDelay().mean());
        assertThat(second.controlMessages()).isEqualTo(first.controlMessages());
    }

    @Test
    void shouldKeepTheDelayBelowItsTargetWhenTokensAreBorrowed() {
        Result result =
                figure6a(Setup.of(FIG_6A, 6, SimulatedLinks.perfect(50_000)).borrowing(Graph.ring(6, 2, 3)), 2, 20);

        assertThat(result.accessDelay().quantile(0.99)).isLessThanOrEqualTo(0.8e-3);
        assertThat(result.controlPerMessage()).isLessThan(0.9);
        assertThat(result.inventedMicros()).isZero();
        assertThat(result.excessMicros()).isZero();
    }

    @Test
    void shouldFollowTheLoadWhenHalfOfItIsAtOneBroker() {
        for (Sharing sharing : new Sharing[] {Sharing.GOSSIP, Sharing.ADAPTOR}) {
            LimiterWorld world = new LimiterWorld(
                    Setup.of(FIG_6A, 6, SimulatedLinks.perfect(50_000)).sharing(sharing), new SplittableRandom(1));
            Placement skewed = publisher -> publisher % 2 == 0 ? 0 : 1 + publisher / 2 % 5;
            Result result = world.run(
                    new PublisherArrivals(1_000, 10, 1, 1, skewed, new SplittableRandom(2)), 0, 40 * SECOND_NS);

            assertThat(world.share(0).rateMicros() / (double) FIG_6A.rateMicros())
                    .as("part of the rate at the busy broker, %s, which needs 0.4545", sharing)
                    .isBetween(0.47, 0.52);
            assertThat(result.excessMicros()).isZero();
            assertThat(result.inventedMicros()).isZero();
        }
    }

    @Test
    void shouldCountWhatStillWaitsWhenABrokerIsOverloaded() {
        Setup setup = Setup.of(Limit.of(100, 2), 1, SimulatedLinks.perfect(0));
        Result result = new LimiterWorld(setup, new SplittableRandom(1))
                .run(
                        new PublisherArrivals(20, 10, 1, 1, publisher -> 0, new SplittableRandom(3)),
                        9 * SECOND_NS,
                        10 * SECOND_NS);

        assertThat(result.accessDelay().size()).isBetween(150, 250);
        assertThat(result.accessDelay().max()).isGreaterThan(0.9);
    }

    @Test
    void shouldNeverExceedTheLimitWhenMessagesAreLostRepeatedAndLate() {
        long borrowed = 0;
        for (long seed = 0; seed < SEEDS; seed++) {
            Result result = storm(seed, Borrowing::new);
            borrowed += result.controlMessages();
            assertThat(result.inventedMicros())
                    .as("Σλ + in flight − b, seed %d", seed)
                    .isZero();
            assertThat(result.excessMicros()).as("C1, seed %d", seed).isZero();
        }
        assertThat(borrowed).as("control messages in all storms").isGreaterThan(100L * SEEDS);
    }

    @Test
    void shouldCatchBorrowingWhenItDoesNotReserve() {
        assertThat(brokenStorms(BrokenBorrowing::withoutReservation, Result::inventedMicros))
                .isPositive();
    }

    /** Both sides refill while tokens are on their way, and 12 go out at once against b = 10. */
    @Test
    void shouldAdmitNoMoreThanTheBurstWhenAReplyIsLate() {
        assertThat(lateReply(Borrowing::new)).isZero();
        assertThat(lateReply(BrokenBorrowing::withoutReservation)).isEqualTo(2 * Limit.MICROS);
    }

    private static long lateReply(BorrowingFactory factory) {
        Limit limit = Limit.of(10, 10);
        HardBound bound = new HardBound(limit, 0);
        TokenBucket giving =
                new TokenBucket(limit.rateMicros() / 2, limit.burstMicros() / 2, limit.burstMicros() / 2, 0);
        TokenBucket asking = new TokenBucket(limit.rateMicros() / 2, limit.burstMicros() / 2, 0, 0);
        Borrowing giver = factory.create(giving, 1, 100 * SECOND_NS, 0);
        Borrowing asker = factory.create(asking, 1, 100 * SECOND_NS, 0);
        Loan request = new Loan();
        Loan reply = new Loan();
        assertThat(asker.ask(Borrowing.EVERYBODY, 0, 0, request)).isTrue();
        assertThat(giver.onRequest(0, request, 0, 0, reply)).isTrue();

        long lateNs = 12 * SECOND_NS;
        spendAll(giving, bound, lateNs);
        spendAll(asking, bound, lateNs);
        asker.onReply(0, reply, lateNs);
        spendAll(asking, bound, lateNs);
        return bound.excessMicros();
    }

    private static void spendAll(TokenBucket bucket, HardBound bound, long nowNs) {
        while (bucket.tryTake(1, nowNs)) {
            bound.admitted(Limit.MICROS, nowNs);
        }
    }

    @Test
    void shouldCatchBorrowingWhenAReplyCountsTwice() {
        assertThat(brokenStorms(BrokenBorrowing::withoutOnceOnly, Result::excessMicros))
                .isPositive();
    }

    private static long brokenStorms(BorrowingFactory broken, ToLongFunction<Result> excess) {
        int caught = 0;
        for (long seed = 0; seed < 300; seed++) {
            caught += excess.applyAsLong(storm(seed, broken)) > 0 ? 1 : 0;
        }
        return caught;
    }

    /**
     * A small cluster with bursts, idle or overloaded, whose control messages are lost, repeated and late by more than
     * b/r.
     */
    private static Result storm(long seed, BorrowingFactory borrowing) {
        SplittableRandom random = new SplittableRandom(seed);
        int brokers = 2 + random.nextInt(6);
        double rate = 500 + random.nextInt(5_000);
        double burst = brokers * (1 + random.nextDouble() * 8);
        double load = 0.2 + random.nextDouble() * 1.2;
        long fillNs = (long) (burst / rate * SECOND_NS);
        SimulatedLinks links = new SimulatedLinks(
                random.nextLong(1, 1_000_000),
                random.nextDouble() * 0.3,
                random.nextDouble() * 0.3,
                random.nextDouble(),
                2 * fillNs);
        Sharing[] ways = Sharing.values();
        Setup setup = Setup.of(Limit.of(rate, burst), brokers, links)
                .sharing(ways[random.nextInt(ways.length)])
                .borrowing(random.nextBoolean() ? Graph.ring(brokers) : Graph.ring(brokers, 2, 3), borrowing)
                .every(fillNs);
        int batch = 1 + random.nextInt(2 + (int) (burst / brokers));
        PublisherArrivals arrivals = new PublisherArrivals(
                4 * brokers, rate * load / (4 * brokers), batch, 2, Placement.together(brokers, 2), random.split());
        return new LimiterWorld(setup, random.split()).run(arrivals, 0, (long) (STORM_MESSAGES / rate * SECOND_NS));
    }

    private static Result figure6a(Setup setup, long seed, int seconds) {
        PublisherArrivals arrivals =
                new PublisherArrivals(1_000, 10, 1, 1, Placement.spread(setup.brokers()), new SplittableRandom(seed));
        return new LimiterWorld(setup, new SplittableRandom(seed + 1_000))
                .run(arrivals, SECOND_NS / 2, seconds * SECOND_NS);
    }
}

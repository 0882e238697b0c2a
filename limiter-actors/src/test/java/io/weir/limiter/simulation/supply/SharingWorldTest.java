package io.weir.limiter.simulation.supply;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Supply follows means: a broker's own times and classes, and publishers of every kind. */
class SharingWorldTest {
    /** Measured on a real cluster, where shares followed noise and messages waited a hundred times as long. */
    private static final Limit LIMIT = Limit.of(10_000, 27);

    private static final double LOAD = 3_000;
    private static final int OPEN = 1_000;
    private static final int SEEDS = 5;

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "STATIC")
    void shouldNotBeWorseThanStaticWhenDemandIsEqualAndSteady(Sharing sharing) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld fixed = steady(Sharing.STATIC, seed, false);
            SharingWorld world = steady(sharing, seed, false);
            for (double quantile : new double[] {0.5, 0.95, 0.99}) {
                assertThat(world.accessDelay().quantile(quantile))
                        .as("%s's access delay, quantile %s, seed %d", sharing, quantile, seed)
                        .isLessThanOrEqualTo(fixed.accessDelay().quantile(quantile) * 1.05 + 1e-5);
            }
            assertEvenRates(world, 0.01, seed);
            assertThat(world.transfers()).as("transfers, seed %d", seed).isLessThanOrEqualTo(4);
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "STATIC")
    void shouldKeepEvenSharesWhenTheThreadsStandStillNowAndThen(Sharing sharing) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            assertEvenRates(steady(sharing, seed, true), 0.02, seed);
        }
    }

    private static SharingWorld steady(Sharing sharing, long seed, boolean stalls) {
        SharingWorld world = even(LIMIT, sharing, seed);
        for (int broker = 0; broker < 3; broker++) {
            world.publish(broker, LOAD, OPEN);
        }
        if (stalls) {
            world.stall(2, 10e6);
        }
        world.run(3);
        world.measure();
        world.run(40);
        return world;
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "STATIC")
    void shouldComeBackToEvenSharesWhenTheyAreFarFromThem(Sharing sharing) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = new SharingWorld(shares(27, 6_000, 3_600, 400), sharing, seed);
            for (int broker = 0; broker < 3; broker++) {
                world.publish(broker, LOAD, OPEN);
            }
            // What could not be sent meanwhile has to be caught up with, too.
            world.run(30);
            assertEvenRates(world, 0.06, seed);
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "STATIC")
    void shouldGiveEqualPartsToPublishersThatWaitForTheirAnswers(Sharing sharing) {
        for (int publishers : new int[] {1, 4, 100}) {
            for (long seed = 1; seed <= SEEDS; seed++) {
                SharingWorld world = new SharingWorld(shares(90, 694, 164, 42), sharing, seed);
                for (int broker = 0; broker < 3; broker++) {
                    world.publishWhenAnswered(broker, publishers);
                }
                world.run(20);
                world.measure();
                world.run(20);
                for (int broker = 0; broker < 3; broker++) {
                    assertThat(world.admitted(broker) / (double) world.admitted())
                            .as("broker %d, %d publishers each, seed %d", broker, publishers, seed)
                            .isBetween(0.95 / 3, 1.05 / 3);
                }
                assertThat(world.admitted()).isGreaterThan((long) (0.97 * 900 * 20));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "STATIC")
    void shouldMoveNothingWhenABurstIsShorterThanTheWindow(Sharing sharing) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = even(LIMIT, sharing, seed);
            for (int broker = 0; broker < 3; broker++) {
                world.publish(broker, 1_000, OPEN);
            }
            world.run(15);
            List<Share> before = shares(world);
            // 6,000 messages while 3,333 tokens come; the line is gone 0.8 s later.
            world.publish(0, 6_000, OPEN);
            world.run(0.7);
            world.publish(0, 1_000, OPEN);
            world.run(15);
            assertThat(shares(world)).as("seed %d", seed).isEqualTo(before);
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "STATIC")
    void shouldTakeSupplyAlongWhenDemandMovesToAnotherBroker(Sharing sharing) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = even(LIMIT, sharing, seed);
            world.publish(0, 9_000, OPEN);
            world.run(20);
            assertThat(world.share(0).rateMicros()).as("seed %d", seed).isGreaterThan(9_000 * MICROS);
            world.publish(0, 0, OPEN);
            world.publish(1, 9_000, OPEN);
            world.run(sharing == Sharing.GOSSIP ? 5.5 : 6.5);
            assertThat(world.share(1).rateMicros()).as("seed %d", seed).isGreaterThan(9_000 * MICROS);
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "STATIC")
    void shouldTakeSupplyAlongWhenATopicIsSlow(Sharing sharing) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = even(Limit.of(30, 6), sharing, seed);
            world.publish(0, 10, OPEN);
            world.run(30);
            world.publish(0, 0, OPEN);
            world.publish(1, 20, OPEN);
            world.run(15);
            assertThat(world.share(1).rateMicros()).as("seed %d", seed).isGreaterThan(20 * MICROS);
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "STATIC")
    void shouldUseTheLimitWhenThereIsEnoughDemandWhereverItIs(Sharing sharing) {
        double[][] loads = {{20_000, 0, 0}, {8_000, 4_000, 4_000}, {12_000, 500, 100}};
        for (double[] load : loads) {
            SharingWorld world = even(LIMIT, sharing, 1);
            for (int broker = 0; broker < 3; broker++) {
                world.publish(broker, load[broker], OPEN);
            }
            world.run(10);
            world.measure();
            world.run(30);
            assertThat(world.admitted() / 30.0)
                    .as("%s at %s", sharing, Arrays.toString(load))
                    .isGreaterThan(0.97 * LIMIT.ratePerSecond());
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldMakeStaticSharesEqualWhateverDemandAndIndicatorAre(Indicator indicator) {
        SharingWorld world = new SharingWorld(shares(27, 3_325, 3_275, 3_400), Sharing.STATIC, indicator, 1);
        world.publish(0, 5_000, OPEN);
        world.run(10);
        assertEvenRates(world, 0.003, 1);
    }

    @Test
    void shouldLetNobodyStarveWhoNeedsLittleBesideOneWhoWantsAll() {
        SharingWorld world = even(LIMIT, Sharing.GOSSIP, 1);
        world.publishWhenAnswered(0, 500);
        world.publish(1, 1_000, OPEN);
        world.publish(2, 1_000, OPEN);
        world.run(20);
        world.measure();
        world.run(20);
        assertThat(world.admitted(1)).isGreaterThan(19_000);
        assertThat(world.admitted(2)).isGreaterThan(19_000);
        assertThat(world.admitted()).isGreaterThan((long) (0.97 * 200_000));
    }

    private static SharingWorld even(Limit limit, Sharing sharing, long seed) {
        return new SharingWorld(Share.even(limit, 3), sharing, seed);
    }

    private static List<Share> shares(long burst, long... rates) {
        return Arrays.stream(rates)
                .mapToObj(rate -> new Share(rate * MICROS, burst / rates.length * MICROS))
                .toList();
    }

    private static List<Share> shares(SharingWorld world) {
        return List.of(world.share(0), world.share(1), world.share(2));
    }

    private static void assertEvenRates(SharingWorld world, double within, long seed) {
        double even = LIMIT.rateMicros() / 3.0;
        for (int broker = 0; broker < 3; broker++) {
            assertThat((double) world.share(broker).rateMicros())
                    .as("share of broker %d, seed %d", broker, seed)
                    .isBetween(even * (1 - within), even * (1 + within));
        }
    }

    /** All demand at one broker, which dies: what its buddy kept is there at once. It costs the busy broker nothing. */
    @Test
    void shouldLeaveAReserveAtTheBuddyThatTheBusyBrokerBorrows() {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = even(LIMIT, Sharing.GOSSIP, seed);
            world.borrow();
            world.publish(1, 9_000, OPEN);
            world.run(30);
            world.measure();
            world.run(20);
            assertThat(world.share(2).rateMicros())
                    .as("what the buddy has of the rate, seed %d", seed)
                    .isBetween(1_450 * MICROS, 1_750 * MICROS);
            assertThat(world.share(2).burstMicros())
                    .as("what the buddy has of the burst, seed %d", seed)
                    .isBetween(3 * MICROS, 6 * MICROS);
            assertThat(world.admitted(1)).as("messages, seed %d", seed).isGreaterThan(9_000 * 20 / 100 * 97);
            assertThat(world.transfers()).as("transfers, seed %d", seed).isLessThanOrEqualTo(4);
            assertThat(world.accessDelay().quantile(0.99))
                    .as("p99, seed %d", seed)
                    .isLessThan(0.001);
            assertThat(world.loanMessages()).as("seed %d", seed).isLessThan(world.admitted() / 4);
        }
    }

    @Test
    void shouldUseAllOfTheLimitThoughAPartIsReservedWhenOneBrokerWantsMore() {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = even(LIMIT, Sharing.GOSSIP, seed);
            world.borrow();
            world.publishWhenAnswered(1, 100);
            world.run(20);
            world.measure();
            world.run(20);
            assertThat(world.admitted(1)).as("messages, seed %d", seed).isGreaterThan(10_000 * 20 / 100 * 97);
            assertThat(world.share(2).rateMicros()).as("seed %d", seed).isGreaterThan(1_450 * MICROS);
        }
    }

    @Test
    void shouldReserveNothingWhereTokensAreNotBorrowed() {
        SharingWorld world = even(LIMIT, Sharing.GOSSIP, 1);
        world.publish(1, 9_000, OPEN);
        world.run(30);
        assertThat(world.share(1).rateMicros()).isGreaterThan(9_700 * MICROS);
    }

    @Test
    void shouldPutTheBucketWherePlacementPutThePublishers() {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = even(LIMIT, Sharing.PLACED, seed);
            world.place(new double[] {6_000, 3_000, 0});
            world.run(20);
            assertShare(world.share(0), 6_667, 18, seed);
            assertShare(world.share(1), 3_333, 9, seed);
            world.publish(0, 6_000, OPEN);
            world.publish(1, 3_000, OPEN);
            world.run(5);
            world.measure();
            world.run(20);
            assertThat(world.transfers())
                    .as("transfers for noise, seed %d", seed)
                    .isLessThanOrEqualTo(4);
            world.place(null);
            world.publish(0, 0, OPEN);
            world.publish(1, 0, OPEN);
            world.publish(2, 9_000, OPEN);
            world.run(20);
            assertThat(world.share(2).rateMicros())
                    .as("no longer placed, so by demand, seed %d", seed)
                    .isGreaterThan(9_500 * MICROS);
        }
    }

    @Test
    void shouldServePublishersThatPlacementDoesNotKnow() {
        SharingWorld world = even(LIMIT, Sharing.PLACED, 1);
        world.place(new double[] {3_000, 0, 0});
        world.publish(0, 3_000, OPEN);
        world.publish(2, 6_000, OPEN);
        world.run(20);
        assertThat(world.share(2).rateMicros()).isGreaterThan(6_200 * MICROS);
        assertThat(world.share(0).rateMicros()).isGreaterThan(3_100 * MICROS);
    }

    @ParameterizedTest
    @EnumSource
    void shouldRestAtEqualSharesByEveryIndicatorWhenDemandIsEqualAndSteady(Indicator indicator) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = new SharingWorld(Share.even(LIMIT, 3), Sharing.GOSSIP, indicator, seed);
            publish(world, LOAD, LOAD, LOAD);
            world.run(3);
            world.measure();
            world.run(20);
            assertEvenRates(world, 0.01, seed);
            assertThat(world.transfers()).as("transfers, seed %d", seed).isLessThanOrEqualTo(4);
        }
    }

    /** The discard rate has no such place: it rests wherever nobody is short. */
    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "DISCARD_RATE")
    void shouldComeBackToEqualSharesByEveryIndicatorThatHasAPlaceToRest(Indicator indicator) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = new SharingWorld(shares(27, 6_000, 3_600, 400), Sharing.GOSSIP, indicator, seed);
            publish(world, LOAD, LOAD, LOAD);
            world.run(30);
            assertEvenRates(world, 0.06, seed);
        }
    }

    /** In proportion to demand, or with the same spare rate of 333 at all three. */
    @ParameterizedTest
    @CsvSource({
        "FILL_RATIO, 6667, 3333, 33",
        "UTILISATION, 6667, 3333, 33",
        "SPARE_BANDWIDTH, 6333, 3333, 333",
        "MEAN_RESPONSE_TIME, 6333, 3333, 333",
    })
    void shouldRestWhereTheIndicatorSaysWhenDemandIsUnequal(
            Indicator indicator, double first, double second, double third) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = new SharingWorld(Share.even(LIMIT, 3), Sharing.GOSSIP, indicator, seed);
            publish(world, 6_000, 3_000, 0);
            world.run(30);
            // Shares rest within the error of a measured demand; that of an idle broker is known.
            assertRate(world, 0, first, 200, seed);
            assertRate(world, 1, second, 200, seed);
            assertRate(world, 2, third, 50, seed);
        }
    }

    @Test
    void shouldMoveRateByDiscardRateOnlyWhereSomebodyIsShort() {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = new SharingWorld(Share.even(LIMIT, 3), Sharing.GOSSIP, Indicator.DISCARD_RATE, seed);
            publish(world, 2_500, 1_000, 0);
            world.run(20);
            assertThat(rates(shares(world))).as("seed %d", seed).isEqualTo(rates(Share.even(LIMIT, 3)));
            publish(world, 6_000, 2_500, 0);
            world.run(10);
            world.measure();
            List<Long> enough = rates(shares(world));
            world.run(20);
            assertThat(world.admitted(0)).as("seed %d", seed).isGreaterThan(6_000 * 20 / 100 * 98);
            assertThat(world.admitted(1)).as("seed %d", seed).isGreaterThan(2_500 * 20 / 100 * 98);
            assertThat(rates(shares(world)))
                    .as("both have enough, seed %d", seed)
                    .isEqualTo(enough);
        }
    }

    private static List<Long> rates(List<Share> shares) {
        return shares.stream().map(Share::rateMicros).toList();
    }

    private static void publish(SharingWorld world, double... messagesPerSecond) {
        for (int broker = 0; broker < messagesPerSecond.length; broker++) {
            world.publish(broker, messagesPerSecond[broker], OPEN);
        }
    }

    private static void assertRate(SharingWorld world, int broker, double rate, double within, long seed) {
        assertThat(world.share(broker).rateMicros() / (double) MICROS)
                .as("share of broker %d, seed %d", broker, seed)
                .isBetween(rate - within, rate + within);
    }

    private static void assertShare(Share share, double rate, double burst, long seed) {
        assertThat(share.rateMicros() / (double) MICROS)
                .as("rate, seed %d", seed)
                .isBetween(rate * 0.96, rate * 1.04);
        assertThat(share.burstMicros() / (double) MICROS)
                .as("burst, seed %d", seed)
                .isBetween(burst - 1.5, burst + 1.5);
    }
}

package io.weir.limiter.simulation.supply;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How supply follows demand around rings of up to a hundred brokers, with a broker's own times and classes. */
class LargeRingTest {
    private static final Limit LIMIT = Limit.of(10_000, 300);
    private static final double LOAD = 9_000;
    private static final int OPEN = 1_000;
    private static final int SEEDS = 3;

    /** By the ring alone it took 15 s with 16 brokers, 34 s with 30, and more than a minute with 60. */
    @ParameterizedTest
    @CsvSource({"3, 4", "8, 6", "16, 7", "30, 8", "60, 8.5", "100, 9"})
    void shouldTakeSupplyToTheHotSpotWithinSecondsHoweverLargeTheRingIs(int brokers, double seconds) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = steady(brokers, false, seed);
            double need = moveTo(world, brokers, brokers / 2, 0);
            world.run(seconds);
            assertThat(world.share(brokers / 2).rateMicros() / MICROS)
                    .as("seed %d", seed)
                    .isGreaterThan((long) (0.9 * need));
        }
    }

    /** Before brokers with demand of their own gave, too, this never happened with 16 brokers or more. */
    @ParameterizedTest
    @CsvSource({"8, 10", "16, 13", "30, 14", "100, 14"})
    void shouldTakeSupplyToTheHotSpotWhenTheOthersAreBusyToo(int brokers, double seconds) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = steady(brokers, false, seed);
            double need = moveTo(world, brokers, brokers / 2, 0.3);
            world.run(seconds);
            assertThat(world.share(brokers / 2).rateMicros() / MICROS)
                    .as("seed %d", seed)
                    .isGreaterThan((long) (0.9 * need));
            world.run(10);
            world.measure();
            world.run(10);
            assertThat(world.admitted())
                    .as("all of the limit is used while they catch up, seed %d", seed)
                    .isGreaterThan((long) (0.95 * LIMIT.ratePerSecond() * 10));
        }
    }

    /** The first to be ahead gets more at first, and gives once its publishers have caught up. */
    @Test
    void shouldServeTwoHotSpotsThatAreFarFromEachOther() {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = steady(30, false, seed);
            for (int broker = 0; broker < 30; broker++) {
                world.publish(broker, broker == 5 || broker == 20 ? LOAD / 2 : 0, OPEN);
            }
            world.run(40);
            assertThat(world.share(5).rateMicros()).as("seed %d", seed).isGreaterThan((long) (LOAD / 2) * MICROS);
            assertThat(world.share(20).rateMicros()).as("seed %d", seed).isGreaterThan((long) (LOAD / 2) * MICROS);
        }
    }

    /** What does move is for brokers where messages happened to wait for a whole window; it was so before. */
    @ParameterizedTest
    @ValueSource(ints = {8, 16, 30})
    void shouldMoveNextToNothingWhenDemandIsEqualAndSteady(int brokers) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            SharingWorld world = steady(brokers, false, seed);
            world.measure();
            world.run(20);
            assertThat(world.transfers()).as("transfers, seed %d", seed).isLessThanOrEqualTo(8);
        }
    }

    /** A share of three messages' burst at 90% load has long lines now and then, unless brokers borrow. */
    @Test
    void shouldMoveNothingOnAVeryLargeRingWhereBrokersBorrow() {
        SharingWorld world = steady(100, true, 1);
        world.measure();
        world.run(20);
        assertThat(world.transfers()).isLessThanOrEqualTo(4);
        assertThat(world.accessDelay().quantile(0.99)).isLessThan(0.005);
    }

    /** Two neighbours hear of news, one other broker is asked, and nothing that moves has to be answered. */
    @Test
    void shouldAskNoMoreThanOneFurtherBrokerARoundWhenAllStarve() {
        SharingWorld world = steady(30, false, 1);
        for (int broker = 0; broker < 30; broker++) {
            world.publish(broker, 2 * LOAD / 30, OPEN);
        }
        world.run(20);
        world.measure();
        world.run(20);
        int rounds = 40;
        assertThat(world.ringMessages() - 2 * world.transfers()).isLessThanOrEqualTo(30L * rounds * 3);
        assertThat(world.admitted()).isGreaterThan((long) (0.97 * LIMIT.ratePerSecond() * 20));
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 30, 100})
    void shouldServeTheHotSpotOfALargeRingWhereBrokersBorrow(int brokers) {
        SharingWorld world = steady(brokers, true, 1);
        moveTo(world, brokers, brokers / 2, 0);
        // What could not be sent at first has to be caught up with.
        world.run(70);
        world.measure();
        world.run(10);
        assertThat(world.admitted(brokers / 2)).isGreaterThan((long) (0.97 * LOAD * 10));
        assertThat(world.accessDelay().quantile(0.99)).isLessThan(0.01);
    }

    private static SharingWorld steady(int brokers, boolean borrow, long seed) {
        SharingWorld world = new SharingWorld(Share.even(LIMIT, brokers), Sharing.GOSSIP, seed);
        if (borrow) {
            world.borrow();
        }
        for (int broker = 0; broker < brokers; broker++) {
            world.publish(broker, LOAD / brokers, OPEN);
        }
        world.run(12);
        return world;
    }

    /** Demand goes to one broker, but for a part that stays. Answers what is asked for there. */
    private static double moveTo(SharingWorld world, int brokers, int hot, double staying) {
        double others = staying * LOAD / brokers;
        double need = LOAD - (brokers - 1) * others;
        for (int broker = 0; broker < brokers; broker++) {
            world.publish(broker, broker == hot ? need : others, OPEN);
        }
        return need;
    }
}

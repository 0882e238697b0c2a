package io.weir.limiter.algorithm;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.Limit;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class SupplyEdgeTest {
    private static final int SEEDS = 2_000;

    @Test
    void shouldReachTheAdaptorsProportionsWhenTheRingHasTalkedForAWhile() {
        Limit limit = Limit.of(1_100, 110);
        Demand[] demands = {demand(1_000, 10), demand(10, 80), demand(10, 10)};
        Share[] shares = Share.even(limit, 3).toArray(Share[]::new);
        rounds(new SupplyEdge(limit, 3, 2, 0), shares, demands, 200);

        assertThat(shares[0].rateMicros()).isBetween(1_070 * MICROS, 1_080 * MICROS);
        assertThat(shares[1].burstMicros()).isBetween(87 * MICROS, 89 * MICROS);
        assertThat(shares[2].burstMicros()).isBetween(10 * MICROS, 12 * MICROS);
    }

    @Test
    void shouldMoveEverythingWhenTheBurstCannotBeDivided() {
        Limit limit = Limit.of(300, 3);
        Demand[] demands = {demand(0, 0), demand(0, 0), demand(0, 0), demand(200, 5), demand(0, 0)};
        Share[] shares = Share.even(limit, 5).toArray(Share[]::new);
        assertThat(shares[3]).isEqualTo(Share.NONE);
        rounds(new SupplyEdge(limit, 5, 2, 0.02), shares, demands, 20);

        assertThat(shares[3].admits()).isTrue();
        assertThat(shares[3].rateMicros()).isGreaterThanOrEqualTo(100 * MICROS);
    }

    @Test
    void shouldLeaveHardlyAnythingIdleWhenOneBrokerOfManyHasAllTheDemand() {
        for (int brokers = 2; brokers <= 12; brokers++) {
            Limit limit = Limit.of(1_200, 120);
            Demand[] demands = new Demand[brokers];
            // What is left of a demand that was there long ago, the more the further from the busy broker.
            Arrays.setAll(demands, i -> new Demand(Math.min(100, 1L << i), 0));
            demands[0] = demand(2_000, 200);
            Share[] shares = Share.even(limit, brokers).toArray(Share[]::new);
            rounds(new SupplyEdge(limit, brokers, 2, 0.03), shares, demands, 500);

            assertThat(shares[0].rateMicros())
                    .as("of %d brokers", brokers)
                    .isGreaterThanOrEqualTo(limit.rateMicros() / 100 * 95);
            // Both ends of every edge have nothing more to say.
            Share[] before = shares.clone();
            rounds(new SupplyEdge(limit, brokers, 2, 0.03), shares, demands, 1);
            assertThat(shares).isEqualTo(before);
        }
    }

    @Test
    void shouldBeSilentWhenTheProportionsAreRight() {
        Limit limit = Limit.of(300, 30);
        Share share = new Share(100 * MICROS, 10 * MICROS);

        assertThat(new SupplyEdge(limit, 3, 2, 0.02).handedOver(share, demand(101, 11), share, demand(100, 11)))
                .isEqualTo(Share.NONE);
    }

    @Test
    void shouldMoveNothingWithinTheErrorOfMeasurement() {
        SupplyEdge edge = new SupplyEdge(Limit.of(300, 30), 3, 2, 0);
        Share share = new Share(100 * MICROS, 10 * MICROS);
        Demand less = new Demand(estimate(80, 90, 100), estimate(4, 8, 12), Estimate.NONE);
        Demand more = new Demand(estimate(99, 110, 121), estimate(8, 16, 24), Estimate.NONE);
        assertThat(edge.handedOver(share, less, share, more)).isEqualTo(Share.NONE);
        Demand surelyMore = new Demand(estimate(120, 130, 140), estimate(8, 16, 24), Estimate.NONE);
        assertThat(edge.handedOver(share, less, share, surelyMore).rateMicros())
                .as("half of what makes 100 and 120 equal")
                .isBetween(4 * MICROS, 5 * MICROS);
    }

    @Test
    void shouldKeepWhatItMayNeedWhenTheNeighbourWantsAll() {
        SupplyEdge edge = new SupplyEdge(Limit.of(300, 30), 3, 2, 0);
        Share share = new Share(100 * MICROS, 10 * MICROS);
        Demand mine = new Demand(estimate(50, 60, 70), estimate(4, 8, 12), Estimate.NONE);
        assertThat(edge.handedOver(share, mine, share, saturated(100, 500)).rateMicros())
                .isEqualTo(15 * MICROS);
        assertThat(edge.handedOver(share, saturated(100, 500), share, mine).rateMicros())
                .as("back")
                .isZero();
    }

    @Test
    void shouldWaitAndSeeWhenTheNeighbourHasJustBeenGivenMore() {
        SupplyEdge edge = new SupplyEdge(Limit.of(300, 30), 3, 2, 0);
        Share share = new Share(100 * MICROS, 10 * MICROS);
        Demand mine = new Demand(estimate(50, 60, 70), estimate(4, 8, 12), Estimate.NONE);
        Demand lately = saturated(40, 2);
        assertThat(edge.handedOver(share, mine, share, lately).rateMicros()).isZero();
        assertThat(edge.handedOver(share, lately, share, mine).rateMicros()).isZero();
    }

    @ParameterizedTest
    @CsvSource({
        "FILL_RATIO, 40",
        "UTILISATION, 40",
        "SPARE_BANDWIDTH, 20",
        "MEAN_RESPONSE_TIME, 20",
        "DISCARD_RATE, 0",
    })
    void shouldMoveHalfOfWhatMakesTheIndicatorEqual(Indicator indicator, long messagesPerSecond) {
        SupplyEdge edge = new SupplyEdge(Limit.of(300, 30), 3, 2, 0, indicator);
        Share share = new Share(100 * MICROS, 10 * MICROS);
        assertThat(edge.handedOver(share, demand(30, 5), share, demand(70, 5)))
                .as("half of the way to 60 and 140, or to 80 and 120 with 50 to spare each")
                .isEqualTo(new Share(messagesPerSecond * MICROS / 2, 0));
    }

    @Test
    void shouldGiveWhatIsRefusedAndNoMoreByDiscardRate() {
        SupplyEdge edge = new SupplyEdge(Limit.of(300, 30), 3, 2, 0, Indicator.DISCARD_RATE);
        Share share = new Share(100 * MICROS, 10 * MICROS);
        assertThat(edge.handedOver(share, demand(30, 5), share, demand(120, 5)).rateMicros())
                .as("half of the 20 that are missing")
                .isEqualTo(10 * MICROS);
        assertThat(edge.handedOver(share, demand(120, 5), share, demand(120, 5)))
                .as("both are short")
                .isEqualTo(Share.NONE);
    }

    /** Two brokers whose publishers wait for every answer: what arrives is what is let through. */
    @ParameterizedTest
    @EnumSource
    void shouldShareByHowManyWaitWhereDemandIsHidden(Indicator indicator) {
        assertThat(rateOfFirstAfterRounds(indicator, 4, 4)).isBetween(440L, 460L);
        assertThat(rateOfFirstAfterRounds(indicator, 4, 8)).isBetween(290L, 310L);
        assertThat(rateOfFirstAfterRounds(indicator, 1, 1)).isBetween(440L, 460L);
    }

    /** 850 and 50 of 900 at first, each letting through what it has. */
    private static long rateOfFirstAfterRounds(Indicator indicator, int waitingAtFirst, int waitingAtSecond) {
        SupplyEdge edge = new SupplyEdge(Limit.of(900, 900), 2, 1, 0.005, indicator);
        Share first = new Share(850 * MICROS, 450 * MICROS);
        Share second = new Share(50 * MICROS, 450 * MICROS);
        for (int round = 0; round < 20; round++) {
            Demand atFirst = saturated(first.rateMicros() / MICROS, waitingAtFirst);
            Demand atSecond = saturated(second.rateMicros() / MICROS, waitingAtSecond);
            Share given = edge.handedOver(first, atFirst, second, atSecond);
            Share taken = edge.handedOver(second, atSecond, first, atFirst);
            assertThat(given.rateMicros()).as("a tenth at once").isLessThanOrEqualTo(first.rateMicros() / 10);
            first = first.minus(given).plus(taken);
            second = second.minus(taken).plus(given);
        }
        return first.rateMicros() / MICROS;
    }

    @Test
    void shouldGoByArrivalsWhereMoreArrivesThanBothAdmit() {
        SupplyEdge edge = new SupplyEdge(Limit.of(300, 30), 3, 2, 0);
        Share share = new Share(100 * MICROS, 10 * MICROS);
        assertThat(edge.handedOver(share, saturated(200, 500), share, saturated(600, 500))
                        .rateMicros())
                .as("to 50 and 150, by half")
                .isBetween(25 * MICROS - 2, 25 * MICROS);
    }

    private static Estimate estimate(long least, long mean, long most) {
        return new Estimate(least * MICROS, mean * MICROS, most * MICROS);
    }

    @Test
    void shouldKeepTheLargerOfTwoFloors() {
        SupplyEdge.Floors floors = new SupplyEdge.Floors(new Share(10, 20), new Share(1, 2));
        assertThat(floors.keeping(new Share(15, 5)))
                .isEqualTo(new SupplyEdge.Floors(new Share(15, 20), new Share(1, 2)));
    }

    private static Demand saturated(long messagesPerSecond, long waiting) {
        return new Demand(
                Estimate.exactly(messagesPerSecond * MICROS),
                Estimate.exactly(10 * MICROS),
                Estimate.exactly(waiting * MICROS));
    }

    @Test
    void shouldConserveAndNeverStrandARateWhateverTheDemands() {
        for (long seed = 0; seed < SEEDS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int brokers = 2 + random.nextInt(7);
            Limit limit = new Limit(
                    1 + random.nextLong(random.nextBoolean() ? 100 : 1_000_000 * MICROS),
                    MICROS + random.nextLong(random.nextBoolean() ? 10 * MICROS : 1_000 * MICROS));
            Share[] shares = Share.even(limit, brokers).toArray(Share[]::new);
            Indicator indicator = Indicator.values()[(int) (seed % Indicator.values().length)];
            SupplyEdge edge = new SupplyEdge(limit, brokers, 2, 0.02, indicator);
            Demand[] demands = new Demand[brokers];
            for (int change = 0; change < 4; change++) {
                Arrays.setAll(
                        demands,
                        i -> random.nextInt(3) == 0 ? demand(0, 0) : demand(random.nextInt(5_000), random.nextInt(90)));
                rounds(edge, shares, demands, 5);
                assertThat(Arrays.stream(shares).mapToLong(Share::rateMicros).sum())
                        .as("Σρ, seed %d", seed)
                        .isEqualTo(limit.rateMicros());
                assertThat(Arrays.stream(shares).mapToLong(Share::burstMicros).sum())
                        .as("Σβ, seed %d", seed)
                        .isEqualTo(limit.burstMicros());
                assertThat(shares)
                        .as("seed %d", seed)
                        .allMatch(share -> share.rateMicros() == 0 || share.admits(), "ρ > 0 has β of a message");
            }
        }
    }

    /** Edge after edge of the ring; both ends decide on what they hold when it is their turn. */
    private static void rounds(SupplyEdge edge, Share[] shares, Demand[] demands, int rounds) {
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < shares.length; i++) {
                int j = (i + 1) % shares.length;
                Share toJ = edge.handedOver(shares[i], demands[i], shares[j], demands[j]);
                Share toI = edge.handedOver(shares[j], demands[j], shares[i], demands[i]);
                shares[i] = shares[i].minus(toJ).plus(toI);
                shares[j] = shares[j].minus(toI).plus(toJ);
            }
        }
    }

    private static Demand demand(long messagesPerSecond, long backlog) {
        return new Demand(messagesPerSecond * MICROS, backlog * MICROS);
    }
}

package io.weir.limiter.algorithm;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.Limit;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class TbAdaptorTest {
    private static final int SEEDS = 5_000;

    @Test
    void shouldGiveRatesByAverageRateAndBurstsByBacklogWhenBothDiffer() {
        List<Share> shares = new TbAdaptor(Limit.of(1_000, 100))
                .shares(List.of(demand(300, 10), demand(100, 30), demand(0, 0), demand(0, 0)));

        // Every broker keeps a hundredth of 250 msg/s and one message; the rest of 990 and 96 goes by demand.
        assertThat(shares)
                .containsExactly(
                        new Share(745 * MICROS, 25 * MICROS),
                        new Share(250 * MICROS, 73 * MICROS),
                        new Share(2_500_000, MICROS),
                        new Share(2_500_000, MICROS));
    }

    @Test
    void shouldSplitEvenlyWhenNobodyHasDemand() {
        List<Share> shares = new TbAdaptor(Limit.of(100, 10)).shares(List.of(demand(0, 0), demand(0, 0)));

        assertThat(shares).containsExactly(new Share(50 * MICROS, 5 * MICROS), new Share(50 * MICROS, 5 * MICROS));
    }

    @Test
    void shouldServeTheBusiestOnlyWhenTheBurstHasNotAMessageForEach() {
        List<Share> shares = new TbAdaptor(Limit.of(100, 2.5))
                .shares(List.of(demand(1, 1), demand(50, 1), demand(2, 1), demand(40, 1)));

        assertThat(shares.get(0)).isEqualTo(Share.NONE);
        assertThat(shares.get(2)).isEqualTo(Share.NONE);
        assertThat(shares.get(1).admits()).isTrue();
        assertThat(shares.get(3).admits()).isTrue();
    }

    @Test
    void shouldDivideWhatOthersDoNotNeedByHowManyWait() {
        Limit limit = Limit.of(1_000, 100);
        List<Share> held = Share.even(limit, 4);
        Demand open = new Demand(
                new Estimate(80 * MICROS, 90 * MICROS, 100 * MICROS), Estimate.exactly(10 * MICROS), Estimate.NONE);
        List<Demand> demands = List.of(saturated(250, 10), open, saturated(250, 30), open);
        List<Share> shares = new TbAdaptor(limit).shares(held, demands);

        assertThat(shares.get(1).rateMicros()).isEqualTo(100 * MICROS);
        assertThat(shares.get(3).rateMicros()).isEqualTo(100 * MICROS);
        // Two minimum shares of 2.5, and a quarter and three quarters of the rest of 795.
        assertThat(shares.get(0).rateMicros()).isEqualTo(201_250_000);
        assertThat(shares.get(2).rateMicros()).isEqualTo(598_750_000);
        assertThat(new TbAdaptor(limit).ratesFit(held, demands, MICROS)).isFalse();
    }

    @Test
    void shouldFitWithinTheErrorsAndNotBeyond() {
        Limit limit = Limit.of(1_000, 100);
        List<Share> held = Share.even(limit, 2);
        Demand some = new Demand(
                new Estimate(360 * MICROS, 400 * MICROS, 440 * MICROS), Estimate.exactly(MICROS), Estimate.NONE);
        Demand more = new Demand(
                new Estimate(420 * MICROS, 460 * MICROS, 500 * MICROS), Estimate.exactly(MICROS), Estimate.NONE);
        Demand much = new Demand(
                new Estimate(450 * MICROS, 500 * MICROS, 550 * MICROS), Estimate.exactly(MICROS), Estimate.NONE);
        assertThat(new TbAdaptor(limit).ratesFit(held, List.of(some, more), 0)).isTrue();
        assertThat(new TbAdaptor(limit).ratesFit(held, List.of(some, much), 0)).isFalse();
        assertThat(new TbAdaptor(limit).burstsFit(held, List.of(some, much))).isTrue();
    }

    private static Demand saturated(long messagesPerSecond, long waiting) {
        return new Demand(
                Estimate.exactly(messagesPerSecond * MICROS),
                Estimate.exactly(10 * MICROS),
                Estimate.exactly(waiting * MICROS));
    }

    @Test
    void shouldConserveTheLimitExactlyWhateverTheDemands() {
        for (long seed = 0; seed < SEEDS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Limit limit =
                    new Limit(wide(random, 1, Limit.MAX_RATE_MICROS), wide(random, MICROS, Limit.MAX_BURST_MICROS));
            List<Demand> demands = new ArrayList<>();
            int brokers = 1 + random.nextInt(12);
            for (int i = 0; i < brokers; i++) {
                demands.add(new Demand(
                        random.nextInt(3) == 0 ? 0 : wide(random, 1, 2 * Limit.MAX_RATE_MICROS),
                        random.nextInt(3) == 0 ? 0 : wide(random, 1, 2 * Limit.MAX_BURST_MICROS)));
            }
            List<Share> adapted = new TbAdaptor(limit).shares(demands);
            assertWhole(adapted, limit, seed);
            assertWhole(Share.even(limit, brokers), limit, seed);
            if (limit.burstMicros() >= brokers * MICROS && limit.rateMicros() >= brokers) {
                assertThat(adapted).as("seed %d", seed).allMatch(share -> share.rateMicros() > 0);
            }
        }
    }

    private static void assertWhole(List<Share> shares, Limit limit, long seed) {
        assertThat(shares.stream().mapToLong(Share::rateMicros).sum())
                .as("Σρ, seed %d", seed)
                .isEqualTo(limit.rateMicros());
        assertThat(shares.stream().mapToLong(Share::burstMicros).sum())
                .as("Σβ, seed %d", seed)
                .isEqualTo(limit.burstMicros());
        assertThat(shares)
                .as("seed %d", seed)
                .allMatch(share -> share.rateMicros() == 0 || share.admits(), "ρ > 0 has β of a message");
    }

    /** Evenly distributed in its logarithm, since limits differ by orders of magnitude. */
    private static long wide(SplittableRandom random, long least, long most) {
        return Math.min(most, Math.max(least, (long) Math.exp(random.nextDouble(Math.log(least), Math.log(most)))));
    }

    private static Demand demand(long messagesPerSecond, long backlog) {
        return new Demand(messagesPerSecond * MICROS, backlog * MICROS);
    }
}

package io.weir.limiter.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.weir.config.value.Limit;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class EdgeStepTest {
    private static final long M = Limit.MICROS;

    @Test
    void shouldMoveEtaTimesTheDifferenceOfSpareBandwidth() {
        EdgeStep step = EdgeStep.synchronous(Indicator.SPARE_BANDWIDTH, 0.25, 2);
        assertThat(step.toFirst(100 * M, 140 * M, 100 * M, 60 * M)).isEqualTo(20 * M);
    }

    @Test
    void shouldMoveEtaTimesTheEqualisingAmountForTheFillRatio() {
        EdgeStep step = EdgeStep.pairwise(Indicator.FILL_RATIO, 0.5);
        // (100·300 − 100·100) / 400 = 50, half of it
        assertThat(step.toFirst(100 * M, 300 * M, 100 * M, 100 * M)).isEqualTo(25 * M);
    }

    @ParameterizedTest
    @EnumSource
    void shouldHandSupplyToThePoorerSide(Indicator indicator) {
        EdgeStep step = EdgeStep.pairwise(indicator, 0.5);
        assertThat(step.toFirst(10 * M, 100 * M, 90 * M, 100 * M)).isPositive();
        assertThat(step.toFirst(90 * M, 100 * M, 10 * M, 100 * M)).isNegative();
    }

    @ParameterizedTest
    @EnumSource
    void shouldAgreeWithTheOtherEndAndNeverOverdraw(Indicator indicator) {
        SplittableRandom random = new SplittableRandom(3);
        for (int n = 0; n < 5_000; n++) {
            long minimum = random.nextInt(3) == 0 ? random.nextLong(10 * M) : 0;
            EdgeStep step = EdgeStep.synchronous(indicator, indicator == Indicator.SPARE_BANDWIDTH ? 0.5 : 1.0, 1)
                    .withMinimumShare(minimum)
                    .withMomentum(1 + random.nextDouble(0.999));
            long si = anything(random);
            long di = anything(random);
            long sj = anything(random);
            long dj = anything(random);
            long last = random.nextLong(-Limit.MAX_RATE_MICROS, Limit.MAX_RATE_MICROS);
            long move = step.toFirst(si, di, sj, dj, last);
            assertThat(step.toFirst(sj, dj, si, di, -last)).isEqualTo(-move);
            assertThat(si + move)
                    .as("i of %d %d %d %d last %d", si, di, sj, dj, last)
                    .isGreaterThanOrEqualTo(Math.min(si, minimum));
            assertThat(sj - move)
                    .as("j of %d %d %d %d last %d", si, di, sj, dj, last)
                    .isGreaterThanOrEqualTo(Math.min(sj, minimum));
        }
    }

    private static long anything(SplittableRandom random) {
        return switch (random.nextInt(5)) {
            case 0 -> 0;
            case 1 -> random.nextLong(10);
            case 2 -> random.nextLong(Limit.MAX_RATE_MICROS);
            default -> random.nextLong(1_000 * M);
        };
    }

    @Test
    void shouldRefuseAGainBeyondTheorem1() {
        EdgeStep.synchronous(Indicator.SPARE_BANDWIDTH, 0.25, 2);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EdgeStep.synchronous(Indicator.SPARE_BANDWIDTH, 0.2501, 2))
                .withMessageContaining("Theorem 1")
                .withMessageContaining("0.25")
                .withMessageContaining("spare bandwidth");
        EdgeStep.synchronous(Indicator.FILL_RATIO, 0.5, 2);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EdgeStep.synchronous(Indicator.FILL_RATIO, 0.51, 2))
                .withMessageContaining("Theorem 1");
    }

    @Test
    void shouldRefuseAGainBeyondTheorem2() {
        EdgeStep.pairwise(Indicator.SPARE_BANDWIDTH, 0.5);
        EdgeStep.pairwise(Indicator.FILL_RATIO, 1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EdgeStep.pairwise(Indicator.SPARE_BANDWIDTH, 0.51))
                .withMessageContaining("Theorem 2");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EdgeStep.pairwise(Indicator.FILL_RATIO, 1.01))
                .withMessageContaining("Theorem 2");
    }

    @Test
    void shouldRefuseAGainThatIsNotPositive() {
        for (double gain : new double[] {0, -0.1, Double.NaN}) {
            assertThatIllegalArgumentException().isThrownBy(() -> EdgeStep.pairwise(Indicator.FILL_RATIO, gain));
        }
    }

    @Test
    void shouldBoundThePrintedFillRatioByTheSmallestDemand() {
        long[] supplies = {340 * M, 340 * M, 340 * M};
        long[] demands = {1000 * M, 10 * M, 10 * M};
        EdgeStep.synchronousAsPrinted(Indicator.FILL_RATIO, 2.5 * M, 2, supplies, demands);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EdgeStep.synchronousAsPrinted(Indicator.FILL_RATIO, 2.6 * M, 2, supplies, demands))
                .withMessageContaining("eq. 9");
        EdgeStep.pairwiseAsPrinted(Indicator.FILL_RATIO, 5.0 * M, supplies, demands);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EdgeStep.pairwiseAsPrinted(Indicator.FILL_RATIO, 5.1 * M, supplies, demands))
                .withMessageContaining("eq. 17");
    }

    @Test
    void shouldRefuseWhatEquation9AllowsWhenItWouldOverdrawABroker() {
        // Utilisation 0.01 and 10. As printed, eq. 9 takes −g' = C²/λ at each broker's own q: ½·min(1e8, 1e6) = 5e5.
        long[] supplies = {M, 10 * M};
        long[] demands = {M / 100, 100 * M};
        double allowedAsPrinted = 5e5;
        double difference =
                Indicator.UTILISATION.q(supplies[1], demands[1]) - Indicator.UTILISATION.q(supplies[0], demands[0]);
        assertThat(allowedAsPrinted * difference).isGreaterThan(supplies[0]);
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        EdgeStep.synchronousAsPrinted(Indicator.UTILISATION, allowedAsPrinted, 1, supplies, demands));
    }

    @Test
    void shouldMoveNothingInsideTheDeadBand() {
        EdgeStep step = EdgeStep.pairwise(Indicator.FILL_RATIO, 0.5).withDeadBand(0.01);
        assertThat(step.toFirst(99 * M, 100 * M, 101 * M, 100 * M)).isZero();
        assertThat(step.toFirst(90 * M, 100 * M, 110 * M, 100 * M)).isEqualTo(5 * M);
    }

    @Test
    void shouldKeepTheMinimumShareWhenThereIsNoDemand() {
        EdgeStep step = EdgeStep.pairwise(Indicator.FILL_RATIO, 1).withMinimumShare(2 * M);
        assertThat(step.toFirst(50 * M, 100 * M, 50 * M, 0)).isEqualTo(48 * M);
        assertThat(step.toFirst(98 * M, 100 * M, 2 * M, 0)).isZero();
    }

    @Test
    void shouldFillUpANewBrokerToTheMinimumWhenItHasNoDemandYet() {
        EdgeStep step = EdgeStep.pairwise(Indicator.FILL_RATIO, 0.5)
                .withMinimumShare(2 * M)
                .withDeadBand(0.05);
        assertThat(step.toFirst(0, 0, 100 * M, 100 * M)).isEqualTo(2 * M);
    }

    @Test
    void shouldSpreadAnIdleTopicEvenly() {
        assertThat(EdgeStep.pairwise(Indicator.FILL_RATIO, 1).toFirst(0, 0, 100 * M, 0))
                .isEqualTo(50 * M);
    }

    @Test
    void shouldRefuseToAccelerateWithoutAConstantSpeed() {
        long[] some = {M, M};
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EdgeStep.pairwiseAsPrinted(Indicator.UTILISATION, 1, some, some)
                        .accelerated(10));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EdgeStep.pairwise(Indicator.FILL_RATIO, 1).accelerated(10));
        assertThatIllegalArgumentException().isThrownBy(() -> EdgeStep.synchronous(Indicator.FILL_RATIO, 0.5, 2)
                .withMomentum(2));
        EdgeStep.pairwise(Indicator.FILL_RATIO, 0.5).withMomentum(1.4);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EdgeStep.pairwise(Indicator.FILL_RATIO, 0.5).withMomentum(1.41))
                .withMessageContaining("1.4");
    }
}

package io.weir.limiter.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.config.value.Limit;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class IndicatorTest {
    private static final long M = Limit.MICROS;

    @Test
    void shouldGiveThePapersValues() {
        assertThat(Indicator.SPARE_BANDWIDTH.q(110 * M, 100 * M)).isEqualTo(-10.0 * M);
        assertThat(Indicator.FILL_RATIO.q(50 * M, 100 * M)).isEqualTo(-0.5);
        assertThat(Indicator.UTILISATION.q(200 * M, 100 * M)).isEqualTo(0.5);
        assertThat(Indicator.MEAN_RESPONSE_TIME.q(110 * M, 100 * M)).isEqualTo(0.1);
        assertThat(Indicator.DISCARD_RATE.q(75 * M, 100 * M)).isEqualTo(0.25);
        assertThat(Indicator.DISCARD_RATE.q(175 * M, 100 * M)).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void shouldFallAsSupplyRises(Indicator indicator) {
        SplittableRandom random = new SplittableRandom(1);
        for (int n = 0; n < 2_000; n++) {
            long demand = random.nextLong(1_000 * M);
            long supply = random.nextLong(1_000 * M);
            long more = supply + 1 + random.nextLong(100 * M);
            assertThat(indicator.q(more, demand))
                    .as("%s, demand %d, supply %d and %d", indicator, demand, supply, more)
                    .isFinite()
                    .isLessThanOrEqualTo(indicator.q(supply, demand));
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldBeEqualWhenTheEqualisingAmountHasMoved(Indicator indicator) {
        SplittableRandom random = new SplittableRandom(2);
        for (int n = 0; n < 2_000; n++) {
            long demandI = M + random.nextLong(1_000 * M);
            long demandJ = M + random.nextLong(1_000 * M);
            long supplyI = random.nextLong(1_000 * M);
            long supplyJ = random.nextLong(1_000 * M);
            double move = indicator.equalising(supplyI, demandI, supplyJ, demandJ);
            assertThat(indicator.equalising(supplyJ, demandJ, supplyI, demandI)).isEqualTo(-move);
            double qi = indicator.q(Math.round(supplyI + move), demandI);
            double qj = indicator.q(Math.round(supplyJ - move), demandJ);
            // Half a micro-token of rounding is worth the more q, the steeper the indicator.
            assertThat(qi)
                    .as("%s, supplies %d %d, demands %d %d", indicator, supplyI, supplyJ, demandI, demandJ)
                    .isCloseTo(qj, within(2.0 + Math.abs(qj) * 1e-3));
            assertThat(Math.abs(qi - qj))
                    .isLessThanOrEqualTo(
                            1e-3 + Math.abs(indicator.q(supplyI, demandI) - indicator.q(supplyJ, demandJ)));
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldKnowItsSlope(Indicator indicator) {
        long demand = 100 * M;
        for (long supply : new long[] {20 * M, 60 * M, 99 * M}) {
            assertSlope(indicator, supply, demand);
        }
        if (indicator != Indicator.DISCARD_RATE) {
            assertSlope(indicator, 150 * M, demand);
        }
    }

    private static void assertSlope(Indicator indicator, long supply, long demand) {
        long small = 100;
        double slope = (indicator.q(supply + small, demand) - indicator.q(supply - small, demand)) / (2.0 * small);
        double perQ = indicator.supplyPerQ(indicator.q(supply, demand), demand);
        assertThat(-1 / slope).as("%s at %d", indicator, supply).isCloseTo(perQ, within(perQ * 1e-4));
    }

    @Test
    void shouldContinueTheResponseTimeSmoothlyWhenTheQueueIsOverloaded() {
        long demand = 100 * M;
        double justStable = Indicator.MEAN_RESPONSE_TIME.q(101 * M, demand);
        assertThat(Indicator.MEAN_RESPONSE_TIME.q(101 * M - 1, demand)).isCloseTo(justStable, within(1e-5));
        assertThat(Indicator.MEAN_RESPONSE_TIME.q(0, demand)).isEqualTo(102.0);
    }

    @Test
    void shouldMoveNothingForTheDiscardRateWhenNobodyDiscards() {
        assertThat(Indicator.DISCARD_RATE.equalising(500 * M, 100 * M, 20 * M, 10 * M))
                .isZero();
    }
}

package io.weir.limiter.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.Limit;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class SynchronousGdrlTest {
    private static final long M = Limit.MICROS;

    @Test
    void shouldPutTheSupplyOnTheHotBrokerWithinFiveRounds() {
        long[] supplies = SynchronousGdrl.evenSplit(1_000 * M, 3);
        long[] demands = {1_000 * M, 10 * M, 10 * M};
        SynchronousGdrl gdrl = new SynchronousGdrl(Graph.ring(3), EdgeStep.synchronous(Indicator.FILL_RATIO, 0.5, 2));
        for (int round = 0; round < 5; round++) {
            gdrl.round(supplies, demands);
        }
        assertThat(supplies[0]).isBetween(960 * M, 962 * M);
        assertThat(Arrays.stream(supplies).sum()).isEqualTo(1_000 * M);
    }

    @Test
    void shouldReachAHotBrokerFromAcrossIdleOnes() {
        long rate = 1_000 * M;
        long minimum = EdgeStep.minimumShare(rate, 7);
        long[] supplies = SynchronousGdrl.evenSplit(rate, 7);
        long[] demands = {1_000 * M, 0, 0, 0, 0, 0, 0};
        SynchronousGdrl gdrl = new SynchronousGdrl(
                Graph.ring(7),
                EdgeStep.synchronous(Indicator.FILL_RATIO, 0.5, 2).withMinimumShare(minimum));
        for (int round = 0; round < 200; round++) {
            gdrl.round(supplies, demands);
        }
        assertThat(supplies[0]).isGreaterThan(990 * M);
        // A move rounds towards zero, so a few units may stay.
        assertThat(Arrays.stream(supplies).min().getAsLong()).isBetween(minimum, minimum + 5);
    }

    @Test
    void shouldNeedTheRoundsThatDiffusionNeedsWithSortedDemand() {
        EdgeStep plain = EdgeStep.synchronous(Indicator.SPARE_BANDWIDTH, 0.25, 2);
        assertThat(roundsToJain99(10, plain)).isEqualTo(38);
        assertThat(roundsToJain99(100, plain)).isEqualTo(3_842);
    }

    @Test
    void shouldNeedFarFewerRoundsWhenAccelerated() {
        EdgeStep plain = EdgeStep.synchronous(Indicator.SPARE_BANDWIDTH, 0.25, 2);
        assertThat(roundsToJain99(10, plain.accelerated(10))).isEqualTo(13);
        // The unbounded scheme needs 129 and 1,286, but lends supply that brokers do not have.
        assertThat(roundsToJain99(100, plain.accelerated(100))).isBetween(129, 140);
        assertThat(roundsToJain99(1_000, plain.accelerated(1_000))).isBetween(1_286, 1_400);
    }

    @Test
    void shouldNeedOnlyTensOfRoundsWithChords() {
        EdgeStep plain = EdgeStep.synchronous(Indicator.SPARE_BANDWIDTH, 0.125, 4);
        assertThat(roundsToJain99(1_000, plain.accelerated(1_000, 32), 32)).isLessThan(70);
    }

    /** gdrl III-A with exact knowledge of the demand: λ_i = i/(N+1), C = 1.1·Σλ, even split. */
    private static int roundsToJain99(int nodes, EdgeStep step, int... chords) {
        long[] demands = new long[nodes];
        for (int i = 0; i < nodes; i++) {
            demands[i] = Math.round(1_000.0 * M * (i + 1) / (nodes + 1));
        }
        long rate = Math.round(1.1 * Arrays.stream(demands).sum());
        long[] supplies = SynchronousGdrl.evenSplit(rate, nodes);
        SynchronousGdrl gdrl = new SynchronousGdrl(Graph.ring(nodes, chords), step);
        double[] q = new double[nodes];
        for (int round = 0; round < 10_000; round++) {
            for (int i = 0; i < nodes; i++) {
                q[i] = step.indicator().q(supplies[i], demands[i]);
                assertThat(supplies[i]).isNotNegative();
            }
            if (FairnessIndex.jain(q) >= 0.99) {
                assertThat(Arrays.stream(supplies).sum()).isEqualTo(rate);
                return round;
            }
            gdrl.round(supplies, demands);
        }
        return Integer.MAX_VALUE;
    }

    @Test
    void shouldFallSilentInsideTheDeadBand() {
        long[] supplies = SynchronousGdrl.evenSplit(900 * M, 5);
        long[] demands = {100 * M, 200 * M, 300 * M, 400 * M, 500 * M};
        SynchronousGdrl gdrl = new SynchronousGdrl(
                Graph.ring(5),
                EdgeStep.synchronous(Indicator.FILL_RATIO, 0.5, 2).withDeadBand(0.002));
        int rounds = 0;
        while (gdrl.round(supplies, demands) > 0) {
            assertThat(++rounds).isLessThan(200);
        }
        assertThat(rounds).isGreaterThan(3);
        for (int i = 0; i < 5; i++) {
            assertThat(supplies[i] / (double) demands[i]).isBetween(0.58, 0.62);
        }
    }

    @Test
    void shouldSplitEvenlyToTheLastUnit() {
        assertThat(SynchronousGdrl.evenSplit(11, 4)).containsExactly(3, 3, 3, 2);
    }
}

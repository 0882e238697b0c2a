package io.weir.limiter.workflow.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class MaxMinTest {
    private static final long SEED = 7;

    @Test
    void shouldAgreeWithFillingDropByDrop() {
        Random random = new Random(SEED);
        for (int trial = 0; trial < 300; trial++) {
            int count = 1 + random.nextInt(8);
            double[] demands = new double[count];
            double[] weights = new double[count];
            double[] shares = new double[count];
            for (int i = 0; i < count; i++) {
                demands[i] = random.nextInt(5) == 0 ? 0 : random.nextInt(100);
                weights[i] = 1 + random.nextInt(4);
            }
            double capacity = random.nextInt(250);
            double level = MaxMin.divide(capacity, demands, weights, shares, count);
            double[] filled = drops(capacity, demands, weights);
            for (int i = 0; i < count; i++) {
                assertThat(shares[i]).as("seed %d, trial %d", SEED, trial).isCloseTo(filled[i], within(0.1));
                if (!Double.isInfinite(level)) {
                    assertThat(shares[i]).isCloseTo(Math.min(demands[i], level * weights[i]), within(1e-6));
                }
            }
            double sum = Arrays.stream(demands).sum();
            assertThat(Arrays.stream(shares).sum()).isCloseTo(Math.min(capacity, sum), within(1e-6));
            assertThat(Double.isInfinite(level)).isEqualTo(sum <= capacity);
        }
    }

    /** One hundredth at a time to whoever has least for its weight and wants more. */
    private static double[] drops(double capacity, double[] demands, double[] weights) {
        double[] filled = new double[demands.length];
        for (double left = capacity; left > 1e-9; left -= 0.01) {
            int poorest = -1;
            for (int i = 0; i < demands.length; i++) {
                if (filled[i] < demands[i] - 1e-9
                        && (poorest < 0 || filled[i] / weights[i] < filled[poorest] / weights[poorest])) {
                    poorest = i;
                }
            }
            if (poorest < 0) {
                break;
            }
            filled[poorest] += 0.01;
        }
        return filled;
    }

    @Test
    void shouldChooseTheProcessThatTheKnobNames() {
        Downstream service = new Downstream();
        service.add(300, 1);
        service.add(100, 1);
        service.add(800, 4);
        // σ ÷ α: 300, 100, 200; four of six publications go to the third.
        assertThat(service.quantile(0)).isEqualTo(100);
        assertThat(service.quantile(0.5)).isEqualTo(200);
        assertThat(service.quantile(0.9)).isEqualTo(300);
        assertThat(service.quantile(1)).isEqualTo(300);
        assertThat(service.pool()).isEqualTo(200);
    }

    @Test
    void shouldBoundNobodyWhereOneOfAPoolDoesNotBind() {
        Downstream service = new Downstream();
        service.add(10, 1);
        service.add(Double.POSITIVE_INFINITY, 1);
        assertThat(service.pool()).isInfinite();
        assertThat(service.quantile(0.5)).isEqualTo(10);
    }
}

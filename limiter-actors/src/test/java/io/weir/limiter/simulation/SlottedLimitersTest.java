package io.weir.limiter.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.EdgeStep;
import io.weir.limiter.algorithm.Graph;
import io.weir.limiter.algorithm.Indicator;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SlottedLimitersTest {
    private static final int N = 10;

    @Test
    void shouldEqualiseTheIndicatorsAsThePaperShows() {
        SlottedLimiters limiters = new SlottedLimiters(
                Graph.ring(N),
                EdgeStep.synchronous(Indicator.SPARE_BANDWIDTH, 0.25, 2),
                1e-3,
                5.5,
                (i, slot) -> (i + 1.0) / (N + 1),
                new SplittableRandom(1));
        double jain = 0;
        for (int slot = 0; slot < 10_000; slot++) {
            limiters.slot();
            jain += slot < 5_000 ? 0 : limiters.jain() / 5_000;
            assertThat(limiters.totalSupplyMicros()).isEqualTo(5_500_000);
        }
        assertThat(jain).isBetween(0.94, 0.99);
        assertThat(limiters.jainOfEstimates()).isGreaterThan(0.999);
        assertThat(limiters.admitted()).isCloseTo(5.0, within(0.05));
    }

    @Test
    void shouldReplayFromItsSeed() {
        for (int run = 0; run < 2; run++) {
            SlottedLimiters a = short4(7);
            SlottedLimiters b = short4(7);
            for (int slot = 0; slot < 100; slot++) {
                a.slot();
                b.slot();
            }
            assertThat(a.supply(2)).isEqualTo(b.supply(2));
        }
    }

    private static SlottedLimiters short4(long seed) {
        return new SlottedLimiters(
                Graph.ring(4),
                EdgeStep.synchronous(Indicator.FILL_RATIO, 0.5, 2),
                0.1,
                1,
                (i, slot) -> 0.3,
                new SplittableRandom(seed));
    }

    @Test
    void shouldAdmitTooMuchByGossipWhenDemandRisesFasterThanItsEstimate() {
        int warm = 4_000;
        SlottedLimiters.Demand surge = (i, slot) -> (slot < warm ? 0.45 : 0.9);
        double rate = 0.5 * N;
        GossipLimiters gossip = new GossipLimiters(N, 1e-3, rate, surge, new SplittableRandom(1));
        for (int slot = 0; slot < warm; slot++) {
            gossip.slot();
        }
        assertThat(gossip.admittedByRandomDrop() / rate).isGreaterThan(1.5);
        for (int slot = 0; slot < 10_000; slot++) {
            gossip.slot();
        }
        assertThat(gossip.admittedByRandomDrop() / rate).isCloseTo(1, within(0.05));
        assertThat(gossip.sumOfProportionalShares() / rate).isCloseTo(1, within(0.05));
        assertThat(gossip.admittedByProportionalShare()).isLessThanOrEqualTo(gossip.sumOfProportionalShares());
    }

    @Test
    void shouldFindTheSumByGossip() {
        PushSum gossip = new PushSum(50);
        for (int i = 0; i < 50; i++) {
            gossip.set(i, i * (double) Limit.MICROS);
        }
        SplittableRandom random = new SplittableRandom(3);
        for (int round = 0; round < 60; round++) {
            gossip.round(random);
        }
        for (int i = 0; i < 50; i++) {
            assertThat(gossip.total(i) / Limit.MICROS).isCloseTo(1_225, within(0.01));
        }
    }
}

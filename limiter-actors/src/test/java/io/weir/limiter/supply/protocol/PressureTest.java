package io.weir.limiter.supply.protocol;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.SupplyEdge;
import org.junit.jupiter.api.Test;

/** Brokers whose publishers wait for every answer: what arrives is what is let through. */
class PressureTest {
    private static final Share LIMIT = new Share(900 * MICROS, 900 * MICROS);

    @Test
    void shouldChangeNothingWhereNobodyWaits() {
        Demand arrives = new Demand(300 * MICROS, 5 * MICROS);
        assertThat(Pressure.demand(arrives, 0, LIMIT)).isEqualTo(arrives);
    }

    @Test
    void shouldDrawBrokersLevelWherePublishersWaitOnAllOfThem() {
        assertThat(ratesAfterRounds(4, 4))
                .satisfies(rates -> assertThat(rates[0]).isBetween(430L, 470L));
    }

    @Test
    void shouldShareByHowManyWait() {
        // Twice as many publishers at the second: it ends up with about two thirds.
        assertThat(ratesAfterRounds(4, 8))
                .satisfies(rates -> assertThat(rates[1]).isBetween(550L, 640L));
    }

    @Test
    void shouldHaveNothingToGoByWithoutThePressure() {
        assertThat(ratesAfterRounds(0, 0))
                .satisfies(rates -> assertThat(rates[0]).isGreaterThan(840L));
    }

    /** Two brokers, 850 and 50 of 900 at first, each letting through what it has. */
    private static long[] ratesAfterRounds(int waitingAtFirst, int waitingAtSecond) {
        SupplyEdge edge = new SupplyEdge(new Limit(900 * MICROS, 900 * MICROS), 2, 1, 0.01);
        Share first = new Share(850 * MICROS, 450 * MICROS);
        Share second = new Share(50 * MICROS, 450 * MICROS);
        for (int round = 0; round < 40; round++) {
            Demand atFirst = Pressure.demand(new Demand(first.rateMicros(), 450 * MICROS), waitingAtFirst, LIMIT);
            Demand atSecond = Pressure.demand(new Demand(second.rateMicros(), 450 * MICROS), waitingAtSecond, LIMIT);
            Share given = edge.handedOver(first, atFirst, second, atSecond);
            Share taken = edge.handedOver(second, atSecond, first, atFirst);
            first = first.minus(given).plus(taken);
            second = second.minus(taken).plus(given);
        }
        return new long[] {first.rateMicros() / MICROS, second.rateMicros() / MICROS};
    }
}

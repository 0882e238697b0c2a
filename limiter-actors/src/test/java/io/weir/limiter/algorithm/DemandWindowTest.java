package io.weir.limiter.algorithm;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class DemandWindowTest {
    private static final long SECOND_NS = 1_000_000_000L;
    private static final long START_NS = 77 * SECOND_NS;

    private final DemandWindow window = new DemandWindow(SECOND_NS, 10, START_NS);

    @Test
    void shouldAverageOverTheTimeSoFarWhenTheWindowIsNotFull() {
        arrive(0.5, 3);
        arrive(1.5, 7);

        assertThat(window.demand(at(2))).isEqualTo(new Demand(MICROS, 7 * MICROS));
    }

    @Test
    void shouldForgetASlotWhenItLeavesTheWindow() {
        arrive(0.5, 9);
        arrive(5.5, 4);

        assertThat(window.demand(at(9.999)).backlogMicros()).isEqualTo(9 * MICROS);
        assertThat(window.demand(at(10)).backlogMicros()).isEqualTo(4 * MICROS);
        assertThat(window.demand(at(15)).backlogMicros()).isZero();
    }

    @Test
    void shouldKnowARateWhenItIsSteady() {
        for (int i = 1; i <= 3_000; i++) {
            arrive(i / 100.0, 1);
        }

        assertThat(window.demand(at(30)).rateMicros()).isBetween(99 * MICROS, 101 * MICROS);
    }

    @Test
    void shouldBeEmptyWhenNothingCameForLongerThanTheWindow() {
        arrive(1, 5);

        assertThat(window.demand(at(1_000_000))).isEqualTo(new Demand(0, 0));
    }

    private void arrive(double seconds, long backlog) {
        window.arrived(MICROS, backlog * MICROS, at(seconds));
    }

    private static long at(double seconds) {
        return START_NS + Math.round(seconds * SECOND_NS);
    }
}

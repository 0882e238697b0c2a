package io.weir.limiter.algorithm;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class DemandWindowTest {
    private static final long SLOT_NS = 250_000_000L;
    private static final long START_NS = 77 * SLOT_NS;
    private static final int SLOTS = 8;
    private static final int LONG_SLOTS = 40;

    private final DemandWindow window = new DemandWindow(new DemandWindow.Shape(SLOT_NS, SLOTS, LONG_SLOTS), START_NS);

    @Test
    void shouldKnowARateAndItsErrorWhenItIsSteady() {
        int outside = 0;
        for (long seed = 0; seed < 200; seed++) {
            DemandWindow fresh = new DemandWindow(DemandWindow.Shape.USUAL, 0);
            SplittableRandom random = new SplittableRandom(seed);
            double atNs = 0;
            while (atNs < 50 * SLOT_NS) {
                atNs += -Math.log(1 - random.nextDouble()) * 1e9 / 1_000;
                fresh.arrived(1, 0, 0, false, (long) atNs);
            }
            Estimate rate = fresh.demand(50 * SLOT_NS).rate();
            assertThat(rate.mostMicros() - rate.leastMicros()).isLessThan(320 * MICROS);
            outside += rate.leastMicros() > 1_000 * MICROS || rate.mostMicros() < 1_000 * MICROS ? 1 : 0;
        }
        assertThat(outside)
                .as("of 200 estimates that miss the rate by more than three errors")
                .isLessThanOrEqualTo(4);
    }

    @Test
    void shouldClaimNothingForABurstThatIsShorterThanTheWindow() {
        for (int slot = 0; slot < SLOTS - 1; slot++) {
            arrive(slot, 500, 300, true);
            Demand demand = window.demand(at(slot + 1));
            assertThat(demand.rate().leastMicros()).as("after slot %d", slot).isLessThan(40 * MICROS);
            assertThat(demand.waiting()).isEqualTo(Estimate.NONE);
            assertThat(demand.rate().mostMicros()).isGreaterThanOrEqualTo(200 * MICROS);
        }
        arrive(SLOTS - 1, 500, 300, true);
        Demand demand = window.demand(at(SLOTS));
        assertThat(demand.rate().leastMicros()).isGreaterThan(1_800 * MICROS);
        assertThat(demand.waiting()).isEqualTo(Estimate.exactly(300 * MICROS));
    }

    @Test
    void shouldMeasureOverTheLongWindowWhatTheShortOneDoesNotContradict() {
        for (int slot = 0; slot < 2 * LONG_SLOTS; slot++) {
            arrive(slot, slot % 2 == 0 ? 90 : 110, 0, false);
        }
        Estimate rate = window.demand(at(2 * LONG_SLOTS)).rate();
        assertThat(rate.meanMicros()).isEqualTo(400 * MICROS);
        assertThat(rate.mostMicros()).as("3·√4000 in 10 s").isBetween(418 * MICROS, 420 * MICROS);
        for (int slot = 2 * LONG_SLOTS; slot < 2 * LONG_SLOTS + SLOTS; slot++) {
            arrive(slot, 200, 0, false);
        }
        assertThat(window.demand(at(2 * LONG_SLOTS + SLOTS)).rateMicros()).isEqualTo(800 * MICROS);
    }

    @Test
    void shouldNotCountAsSaturatedWhereSomeMessagesFindTokens() {
        for (int slot = 0; slot < SLOTS; slot++) {
            arrive(slot, 85, 20, true);
            arrive(slot, 15, 0, false);
        }
        assertThat(window.demand(at(SLOTS)).waiting()).isEqualTo(Estimate.NONE);
    }

    @Test
    void shouldCountAsSaturatedWhereOneMessageWaitsForLongerThanASlot() {
        window.arrived(1, 5 * MICROS, 1, true, at(0));
        assertThat(window.demand(at(SLOTS)).waiting()).isEqualTo(Estimate.exactly(MICROS));
        window.waiting(0, at(SLOTS));
        assertThat(window.demand(at(SLOTS + 1)).waiting()).isEqualTo(Estimate.NONE);
    }

    @Test
    void shouldLeaveTheLineThatStandsOutOfTheBacklog() {
        for (int slot = 0; slot < LONG_SLOTS; slot++) {
            window.arrived(1, 9 * MICROS, 100, true, at(slot));
        }
        assertThat(window.demand(at(LONG_SLOTS)).backlog()).isEqualTo(Estimate.exactly(9 * MICROS));
    }

    @Test
    void shouldBeEmptyWhenNothingCameForLongerThanTheWindow() {
        arrive(1, 5, 0, false);

        Demand demand = window.demand(at(1_000_000));
        assertThat(demand.rateMicros()).isZero();
        assertThat(demand.rate().mostMicros())
                .as("three messages in 10 s may come")
                .isEqualTo(300_000);
        assertThat(demand.backlogMicros()).isZero();
        assertThat(demand.waiting()).isEqualTo(Estimate.NONE);
    }

    /** So many messages, evenly over a slot. */
    private void arrive(int slot, int messages, int waiting, boolean foundNone) {
        for (int i = 0; i < messages; i++) {
            window.arrived(1, MICROS, waiting, foundNone, at(slot) + i * SLOT_NS / messages);
        }
    }

    private static long at(int slot) {
        return START_NS + slot * SLOT_NS;
    }
}

package io.weir.cluster.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.cluster.Measuring;
import io.weir.cluster.failpoints.BrokenRule;
import io.weir.cluster.history.Invariant;
import io.weir.cluster.history.Verdict;
import io.weir.cluster.stage.Stage;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Every fault of the catalogue, in each mode, and every broken variant: {@code mvn -Pchaos verify}, about three
 * quarters of an hour. {@code -Dweir.chaos.minutes=30} and {@code -Dweir.chaos.seed=7} change how long each mode takes
 * and what comes.
 */
@Measuring
@Tag("chaos")
class ChaosLongIT {
    private static final long MINUTES = Long.getLong("weir.chaos.minutes", 10);
    private static final long SEED = Long.getLong("weir.chaos.seed", 1);
    private static final int BROKERS = 5;

    @BeforeAll
    static void hasNetworks() {
        Optional<String> obstacle = Stage.obstacle();
        assumeTrue(obstacle.isEmpty(), obstacle.orElse(""));
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, 0.5, 1})
    void shouldKeepEveryPromiseThroughEveryFault(double floor) throws IOException, InterruptedException {
        long seed = SEED + (long) (floor * 2);
        ChaosOutcome outcome = ChaosIT.run(
                ChaosPlan.of(BROKERS, seed, Duration.ofMinutes(MINUTES), ChaosIT.directory("floor-" + floor))
                        .withFloors(List.of(floor)));

        assertThat(outcome.check().verdicts())
                .as("seed " + seed + ": " + outcome.history())
                .allMatch(Verdict::held);
        assertThat(outcome.troubles()).as("seed " + seed).isEmpty();
    }

    @Test
    void shouldNoticeWhenATransferIsCreditedTwice() throws IOException, InterruptedException {
        ChaosOutcome outcome = broken(BrokenRule.CREDIT_TWICE, Fault.LIMIT, 21);
        assertThat(outcome.check().verdict(Invariant.C3).violated()).isTrue();
    }

    @Test
    void shouldNoticeWhenAnHeirStartsFull() throws IOException, InterruptedException {
        ChaosOutcome outcome = broken(BrokenRule.HEIR_STARTS_FULL, Fault.KILL, 22);
        assertThat(outcome.check().verdict(Invariant.C1).violated()
                        || outcome.check().verdict(Invariant.C5).violated())
                .isTrue();
    }

    /**
     * Every clock is within what is promised, and that nobody allows for it shows under load that uses every token: at
     * each broker for itself, and in the whole limit unless pauses have left that some room.
     */
    @Test
    void shouldNoticeWhenNobodyAllowsForDrift() throws IOException, InterruptedException {
        ChaosOutcome outcome = ChaosIT.run(
                plan(BrokenRule.NO_DRIFT_DEFLATION, Fault.PAUSE_SHORT, 23, 60).withClockRate(1.000999));
        assertThat(outcome.check().verdict(Invariant.C5).violated()).isTrue();
    }

    /** The control: the same clocks, and the rule that allows for them. */
    @Test
    void shouldKeepTheLimitWhenClocksAreFastAndDriftIsAllowedFor() throws IOException, InterruptedException {
        ChaosOutcome outcome = ChaosIT.run(ChaosPlan.of(3, 23, Duration.ofSeconds(60), ChaosIT.directory("fast-clocks"))
                .withFaults(List.of(Fault.PAUSE_SHORT))
                .flooding()
                .endingBriefly()
                .withClockRate(1.000999));
        assertThat(outcome.violated()).isEmpty();
        assertThat(outcome.check().verdict(Invariant.C1).held()).isTrue();
    }

    private static ChaosOutcome broken(BrokenRule rule, Fault fault, long seed)
            throws IOException, InterruptedException {
        ChaosOutcome outcome = ChaosIT.run(plan(rule, fault, seed, 20));
        assertThat(outcome.allHeld()).isFalse();
        return outcome;
    }

    private static ChaosPlan plan(BrokenRule rule, Fault fault, long seed, int seconds) throws IOException {
        return ChaosPlan.of(3, seed, Duration.ofSeconds(seconds), ChaosIT.directory(rule.key()))
                .withFaults(List.of(fault))
                .flooding()
                .endingBriefly()
                .breaking(rule);
    }
}

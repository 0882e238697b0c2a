package io.weir.cluster.failpoints;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.limiter.supply.actor.Failpoints.Step;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class SabotageTest {
    @Test
    void shouldBeReadAsItWasWritten() {
        Sabotage all = Sabotage.NONE
                .crashingAt(CrashPoint.sometimes(Step.AFTER_DEBIT, 0.05, 7))
                .crashingAt(CrashPoint.nth(Step.BEFORE_CREDIT, 3).later(Duration.ofMillis(2)))
                .crashingAsSaidIn(Path.of("/tmp/points"))
                .withClockRate(1.0009)
                .breaking(BrokenRule.NO_LEASE_CHECK)
                .breaking(BrokenRule.HEIR_STARTS_FULL);
        assertThat(all.environment())
                .isEqualTo(Map.of(
                        "WEIR_FAILPOINT_CRASH", "after-debit:p=0.05:seed=7,before-credit:n=3:delay=2",
                        "WEIR_FAILPOINT_CRASH_FILE", "/tmp/points",
                        "WEIR_FAILPOINT_CLOCK_RATE", "1.0009",
                        "WEIR_FAILPOINT_BREAK", "heir-starts-full,no-lease-check"));
        assertThat(Sabotage.of(all.environment())).isEqualTo(all);
    }

    @Test
    void shouldBeNoneWhenNothingIsSaid() {
        assertThat(Sabotage.of(Map.of("WEIR_BROKER_ID", "b1"))).isEqualTo(Sabotage.NONE);
        assertThat(Sabotage.NONE.environment()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void shouldKnowEveryStepByItsKey(Step step) {
        assertThat(CrashPoint.parse(step.key() + ":n=1")).isEqualTo(CrashPoint.nth(step, 1));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "after-debit",
                "after-debit:p=0.5:n=2",
                "after-debit:n=0",
                "after-debit:p=x",
                "after-debit:p",
                "after-debit:p=1.5",
                "after-debit:n=-1",
                "after-debit:often=1",
                "never:n=1",
                "after-debit:n=1:delay=-5"
            })
    void shouldSayWhatIsWrongWithACrashPoint(String text) {
        assertThatThrownBy(() -> CrashPoint.parseAll(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageMatching("(?s).*(a crash point is STEP|no step is called 'never': before-mint).*");
    }

    @Test
    void shouldNameTheVariableThatIsWrong() {
        assertThatThrownBy(() -> Sabotage.of(Map.of(Sabotage.CLOCK_RATE, "fast")))
                .hasMessageContaining("WEIR_FAILPOINT_CLOCK_RATE");
        assertThatThrownBy(() -> Sabotage.of(Map.of(Sabotage.CLOCK_RATE, "0")))
                .hasMessageContaining("WEIR_FAILPOINT_CLOCK_RATE");
        assertThatThrownBy(() -> Sabotage.of(Map.of(Sabotage.BREAK, "everything")))
                .hasMessageContaining("no-lease-check");
    }
}

package io.weir.cluster.failpoints.armed;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.cluster.failpoints.BrokenRule;
import io.weir.cluster.failpoints.CrashPoint;
import io.weir.cluster.failpoints.LoanTrouble;
import io.weir.cluster.failpoints.Sabotage;
import io.weir.limiter.supply.actor.Failpoints;
import io.weir.limiter.supply.actor.Failpoints.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(30)
class ArmedFailpointsTest {
    private final AtomicInteger halts = new AtomicInteger();

    @TempDir
    private Path directory;

    private ArmedFailpoints armed(Sabotage sabotage) {
        return new ArmedFailpoints(
                sabotage, halts::incrementAndGet, new SkewedClock(sabotage.clockRate(), System::nanoTime));
    }

    @ParameterizedTest
    @EnumSource
    void shouldHaltTheProcessTheNthTimeItIsAtTheStep(Step step) {
        Failpoints failpoints = armed(Sabotage.NONE.crashingAt(CrashPoint.nth(step, 2)));
        for (Step other : Step.values()) {
            failpoints.reached(other);
        }
        assertThat(halts).hasValue(0);
        failpoints.reached(step);
        assertThat(halts).hasValue(1);
    }

    @Test
    void shouldLoseAndRepeatFramesOfLoansAsTheSeedSaysUntilItIsToldNotTo() {
        ArmedFailpoints failpoints = armed(Sabotage.NONE);
        IntSupplier copies = failpoints.loanCopies();
        assertThat(drawn(copies)).containsOnly(1);
        String trouble = new LoanTrouble(0.25, 0.5, 7).toString();
        failpoints.loanTrouble(trouble);
        List<Integer> first = drawn(copies);
        failpoints.loanTrouble(trouble);
        assertThat(drawn(copies)).isEqualTo(first);
        assertThat(Collections.frequency(first, 0)).isBetween(200, 300);
        assertThat(Collections.frequency(first, 2)).isBetween(450, 550);
        failpoints.loanTrouble("lost=0.9:repeated=0.9:seed=1");
        assertThat(drawn(copies)).as("after a text that makes no sense").containsOnly(1);
        failpoints.loanTrouble(trouble);
        failpoints.loanTrouble("");
        assertThat(drawn(copies)).containsOnly(1);
    }

    private static List<Integer> drawn(IntSupplier copies) {
        return IntStream.generate(copies).limit(1_000).boxed().toList();
    }

    @Test
    void shouldHaltAtTheSameTimesWhenTheSeedIsTheSame() {
        assertThat(haltsOf(7)).isEqualTo(haltsOf(7)).isNotEqualTo(haltsOf(8)).hasSizeBetween(5, 40);
    }

    private List<Integer> haltsOf(long seed) {
        halts.set(0);
        Failpoints failpoints = armed(Sabotage.NONE.crashingAt(CrashPoint.sometimes(Step.AFTER_DEBIT, 0.1, seed)));
        List<Integer> when = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            int before = halts.get();
            failpoints.reached(Step.AFTER_DEBIT);
            if (halts.get() > before) {
                when.add(i);
            }
        }
        return when;
    }

    @Test
    void shouldHaltAWhileAfterTheStepWhenThereIsADelay() throws InterruptedException {
        CountDownLatch halted = new CountDownLatch(1);
        Failpoints failpoints = new ArmedFailpoints(
                Sabotage.NONE.crashingAt(CrashPoint.nth(Step.BEFORE_DEBIT, 1).later(Duration.ofMillis(20))),
                halted::countDown,
                new SkewedClock(1, System::nanoTime));
        long beganNs = System.nanoTime();
        failpoints.reached(Step.BEFORE_DEBIT);
        assertThat(halted.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(System.nanoTime() - beganNs).isGreaterThanOrEqualTo(20_000_000L);
    }

    @Test
    void shouldDoWhatTheFileSaysWhileTheBrokerRuns() throws IOException {
        Path file = directory.resolve("points");
        Failpoints failpoints = armed(Sabotage.NONE.crashingAsSaidIn(file));
        failpoints.reached(Step.AFTER_MINT);
        Files.writeString(file, "after-mint:n=2\n");
        failpoints.reached(Step.AFTER_MINT);
        assertThat(halts).as("counted from when it was armed").hasValue(0);
        Files.writeString(file, "");
        failpoints.reached(Step.AFTER_MINT);
        Files.writeString(file, "what is this");
        failpoints.reached(Step.AFTER_MINT);
        assertThat(halts).hasValue(0);
        Files.writeString(file, "after-burn:n=5, after-mint:n=1");
        failpoints.reached(Step.AFTER_MINT);
        assertThat(halts).hasValue(1);
        Files.delete(file);
        failpoints.reached(Step.AFTER_BURN);
        assertThat(halts).hasValue(1);
    }

    @Test
    void shouldLeaveAllAsItIsWhenNothingIsArmed() {
        Failpoints failpoints = armed(Sabotage.NONE);
        long beforeNs = System.nanoTime();
        long readNs = failpoints.clock().getAsLong();
        assertThat(readNs).isBetween(beforeNs, System.nanoTime());
        assertThat(failpoints.trueTime().applyAsLong(readNs)).isEqualTo(readNs);
        assertThat(failpoints.driftPpm(1_000)).isEqualTo(1_000);
        assertThat(failpoints.patienceNs(6_000)).isEqualTo(6_000);
        assertThat(failpoints.armed()).isEmpty();
    }

    @Test
    void shouldSayWhatIsArmed() {
        assertThat(armed(Sabotage.NONE.breaking(BrokenRule.CREDIT_TWICE).withClockRate(0.9))
                        .armed())
                .containsExactly("WEIR_FAILPOINT_CLOCK_RATE=0.9", "WEIR_FAILPOINT_BREAK=credit-twice");
    }
}

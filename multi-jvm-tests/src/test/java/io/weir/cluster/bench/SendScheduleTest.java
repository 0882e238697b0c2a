package io.weir.cluster.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SendScheduleTest {
    private static final long START_NS = Long.MAX_VALUE - 1_000_000_000L; // wraps within the run, as nanoTime may

    @ParameterizedTest
    @EnumSource
    void shouldHoldTheRateInOrderOverAllPublishers(SendSchedule.Distribution distribution) {
        SendSchedule schedule = new SendSchedule(distribution, 100, 10_000, START_NS, 42);
        int[] perPublisher = new int[100];
        long last = START_NS;
        int events = 0;
        while (schedule.nextNs() - (START_NS + 10_000_000_000L) < 0) {
            assertThat(schedule.nextNs() - last).isNotNegative();
            last = schedule.nextNs();
            perPublisher[schedule.nextPublisher()]++;
            schedule.advance();
            events++;
        }

        assertThat(events).isCloseTo(100_000, within(1_500));
        assertThat(Arrays.stream(perPublisher).min().orElseThrow()).isGreaterThan(850);
    }

    @Test
    void shouldLeaveEqualGapsWhenPeriodic() {
        SendSchedule schedule = new SendSchedule(SendSchedule.Distribution.periodic, 1, 1_000, 0, 1);
        long first = schedule.nextNs();
        for (int i = 0; i < 10; i++) {
            assertThat(schedule.nextNs()).isEqualTo(first + i * 1_000_000L);
            schedule.advance();
        }
    }

    @Test
    void shouldSpreadGapsAsAPoissonProcessDoes() {
        SendSchedule schedule = new SendSchedule(SendSchedule.Distribution.poisson, 1, 1_000, 0, 7);
        int shorterThanTheMean = 0;
        int gaps = 20_000;
        for (int i = 0; i < gaps; i++) {
            long from = schedule.nextNs();
            schedule.advance();
            shorterThanTheMean += schedule.nextNs() - from < 1_000_000 ? 1 : 0;
        }

        assertThat((double) shorterThanTheMean / gaps).isCloseTo(1 - Math.exp(-1), within(0.01));
    }

    @Test
    void shouldDrawTheSameTimesFromTheSameSeed() {
        SendSchedule one = new SendSchedule(SendSchedule.Distribution.poisson, 10, 1_000, 0, 5);
        SendSchedule two = new SendSchedule(SendSchedule.Distribution.poisson, 10, 1_000, 0, 5);
        for (int i = 0; i < 100; i++) {
            assertThat(one.nextNs()).isEqualTo(two.nextNs());
            one.advance();
            two.advance();
        }
    }

    @Test
    void shouldStretchGapsAndKeepPhases() {
        SendSchedule usual = new SendSchedule(SendSchedule.Distribution.periodic, 1, 10, 0, 5);
        long phaseNs = usual.nextNs();
        SendSchedule schedule = new SendSchedule(SendSchedule.Distribution.periodic, 1, 10, 0, 5);
        schedule.stretch(3);
        schedule.advance();
        assertThat(schedule.nextNs()).isEqualTo(phaseNs + 300_000_000);
        schedule.stretch(1);
        schedule.advance();
        assertThat(schedule.nextNs()).isEqualTo(phaseNs + 400_000_000);
    }
}

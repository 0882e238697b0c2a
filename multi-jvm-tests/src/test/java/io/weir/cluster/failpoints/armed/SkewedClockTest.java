package io.weir.cluster.failpoints.armed;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SkewedClockTest {
    /** A machine that was up for 2,000 days, or whose clock began below zero. */
    private static final long[] BEGINS = {TimeUnit.DAYS.toNanos(2_000), -5_000_000_000L, Long.MAX_VALUE - 7};

    private long trueNs;

    @ParameterizedTest
    @CsvSource({
        "1, 3600000000000",
        "1.0009, 3603240000000",
        "0.9991, 3596760000000",
        "1.05, 3780000000000",
        "0.5, 1800000000000"
    })
    void shouldRunAtItsRate(double rate, long anHourNs) {
        for (long begin : BEGINS) {
            trueNs = begin;
            SkewedClock clock = new SkewedClock(rate, () -> trueNs);
            assertThat(clock.getAsLong()).isEqualTo(begin);
            trueNs += TimeUnit.HOURS.toNanos(1);
            assertThat(clock.getAsLong() - begin).isEqualTo(anHourNs);
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {1, 1.0009, 0.9991, 1.05, 3.3, 0.9, 0.5})
    void shouldTellWhenItWasReallyToTheNanosecond(double rate) {
        SplittableRandom random = new SplittableRandom(1);
        for (long begin : BEGINS) {
            trueNs = begin;
            SkewedClock clock = new SkewedClock(rate, () -> trueNs);
            long lastNs = clock.getAsLong();
            for (int i = 0; i < 10_000; i++) {
                trueNs += random.nextLong(TimeUnit.SECONDS.toNanos(10));
                long skewedNs = clock.getAsLong();
                assertThat(skewedNs - lastNs).as("it never runs backwards").isNotNegative();
                lastNs = skewedNs;
                assertThat(trueNs - clock.trueNs(skewedNs)).isBetween(0L, (long) Math.ceil(1 / rate));
            }
        }
    }
}

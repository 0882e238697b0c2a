package io.weir.cluster.history;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.PrimitiveIterator;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ClockReadingTest {
    private static final long MS = 1_000_000L;

    @Test
    void shouldTellTheTimeThatLiesBetweenItsReadings() {
        PrimitiveIterator.OfLong nanoTime = LongStream.of(7_000, 7_200).iterator();

        ClockReading clock = ClockReading.read(nanoTime::nextLong, () -> 3);

        assertThat(clock.nanoTime(3)).isEqualTo(7_100);
        assertThat(clock.nanoTime(5)).isEqualTo(7_100 + 2 * MS);
        assertThat(clock.errorNs()).isEqualTo(100);
    }

    @Test
    void shouldReadAgainWhenTheThreadStoodStillBetweenTwoReadings() {
        // 30 ms pass before the wall clock is read for the first time; then all goes well.
        PrimitiveIterator.OfLong nanoTime =
                LongStream.of(0, 30 * MS, 30 * MS, 30 * MS + 10).iterator();
        PrimitiveIterator.OfLong wallMs = LongStream.of(130, 130).iterator();

        ClockReading clock = ClockReading.read(nanoTime::nextLong, wallMs::nextLong);

        assertThat(clock.nanoTime(130)).isEqualTo(30 * MS + 5);
        assertThat(clock.errorNs()).isEqualTo(5);
    }

    @Test
    void shouldKnowItsErrorWhereNoReadingIsGood() {
        long[] nowNs = {0};

        ClockReading clock = ClockReading.read(() -> nowNs[0] += 25 * MS, () -> nowNs[0] / MS);

        assertThat(clock.errorNs()).isEqualTo(25 * MS / 2);
        assertThat(Math.abs(clock.nanoTime(nowNs[0] / MS) - nowNs[0])).isLessThanOrEqualTo(clock.errorNs());
    }
}

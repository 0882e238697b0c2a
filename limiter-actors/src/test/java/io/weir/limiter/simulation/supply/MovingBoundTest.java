package io.weir.limiter.simulation.supply;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.Limit;
import io.weir.limiter.simulation.HardBound;
import java.math.BigInteger;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class MovingBoundTest {
    private static final long SECOND = 1_000_000_000L;

    @Test
    void shouldAgreeWithTheFixedBoundWhenTheLimitDoesNotChange() {
        for (long seed = 1; seed <= 200; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Limit limit = new Limit(1 + random.nextLong(50 * MICROS), MICROS + random.nextLong(5 * MICROS));
            HardBound fixed = new HardBound(limit, 0);
            MovingBound moving = new MovingBound();
            moving.change(limit.rateMicros(), limit.burstMicros(), limit.burstMicros(), 0);
            long worst = 0;
            long now = 0;
            for (int i = 0; i < 100; i++) {
                now += random.nextLong(SECOND / 10);
                fixed.admitted(MICROS, now);
                worst = Math.max(worst, moving.admitted(MICROS, now));
            }
            assertThat(worst > 0).as("seed %d", seed).isEqualTo(fixed.excessMicros() > 0);
        }
    }

    @Test
    void shouldCountNewSupplyAsEmptyWhenItIsMintedWithoutLevel() {
        MovingBound bound = new MovingBound();
        bound.change(MICROS, 2 * MICROS, 2 * MICROS, 0);
        assertThat(bound.admitted(2 * MICROS, 0)).isZero();
        bound.change(MICROS, 2 * MICROS, 0, 0);
        assertThat(bound.admitted(MICROS, SECOND / 2)).isZero();
        assertThat(bound.admitted(1, SECOND / 2)).isEqualTo(1);
    }

    @Test
    void shouldForgetTheLevelAboveWhatIsLeftWhenSupplyIsBurned() {
        MovingBound bound = new MovingBound();
        bound.change(MICROS, 4 * MICROS, 4 * MICROS, 0);
        bound.change(0, -3 * MICROS, 0, 0);
        assertThat(bound.admitted(MICROS, 0)).isZero();
        assertThat(bound.admitted(MICROS, 0)).isEqualTo(MICROS);
    }

    @Test
    void shouldSayExactlyWhatIsTooMuchForAnyRateAndAnyPause() {
        BigInteger nanos = BigInteger.valueOf(SECOND);
        for (long seed = 1; seed <= 500; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            long rate = random.nextLong(1, 1L << random.nextInt(1, 50));
            long burst = random.nextLong(MICROS, MICROS << random.nextInt(1, 29));
            MovingBound bound = new MovingBound();
            bound.change(rate, burst, burst, 0);
            // V in billionths of a micro-token, by the definition.
            BigInteger floor = BigInteger.valueOf(-burst).multiply(nanos);
            BigInteger value = floor;
            long now = 0;
            for (int i = 0; i < 50; i++) {
                long pause = random.nextLong(1L << random.nextInt(1, 50));
                long cost = random.nextLong(1, 2 * burst);
                now += pause;
                value = value.subtract(BigInteger.valueOf(rate).multiply(BigInteger.valueOf(pause)))
                        .max(floor)
                        .add(BigInteger.valueOf(cost).multiply(nanos));
                BigInteger[] over = value.max(BigInteger.ZERO).divideAndRemainder(nanos);
                assertThat(bound.admitted(cost, now))
                        .as("seed %d, message %d", seed, i)
                        .isEqualTo(over[0].longValueExact() + over[1].signum());
            }
        }
    }
}

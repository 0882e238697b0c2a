package io.weir.limiter.simulation;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.Limit;
import java.math.BigInteger;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class HardBoundTest {
    private static final BigInteger NANOS = BigInteger.valueOf(1_000_000_000L);

    /** The definition: the worst of all intervals that begin and end with an admission, in exact arithmetic. */
    @Test
    void shouldFindTheWorstOfAllIntervalsWhenAdmissionsAreRandom() {
        int exceeded = 0;
        for (long seed = 0; seed < 1_000; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Limit limit = new Limit(1 + random.nextLong(20_000 * MICROS), MICROS + random.nextLong(5 * MICROS));
            long[] admittedNs = new long[30];
            HardBound bound = new HardBound(limit, 0);
            long nowNs = 0;
            for (int i = 0; i < admittedNs.length; i++) {
                nowNs += (long) (random.nextDouble() * 3e15 / limit.rateMicros()) % 5_000_000_000L;
                admittedNs[i] = nowNs;
                bound.admitted(MICROS, nowNs);
            }
            long expected = worst(admittedNs, limit);
            exceeded += expected > 0 ? 1 : 0;
            assertThat(bound.excessMicros()).as("seed %d", seed).isEqualTo(expected);
        }
        assertThat(exceeded).as("runs that broke the bound").isBetween(100, 990);
    }

    private static long worst(long[] admittedNs, Limit limit) {
        BigInteger worst = BigInteger.ZERO;
        for (int from = 0; from < admittedNs.length; from++) {
            for (int to = from; to < admittedNs.length; to++) {
                BigInteger admitted = BigInteger.valueOf((to - from + 1) * MICROS);
                BigInteger refill = BigInteger.valueOf(limit.rateMicros())
                        .multiply(BigInteger.valueOf(admittedNs[to] - admittedNs[from]))
                        .divide(NANOS);
                worst = worst.max(admitted.subtract(refill).subtract(BigInteger.valueOf(limit.burstMicros())));
            }
        }
        return worst.longValueExact();
    }
}

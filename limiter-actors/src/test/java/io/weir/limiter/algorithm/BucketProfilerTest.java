package io.weir.limiter.algorithm;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.BucketProfiler.Profile;
import io.weir.limiter.simulation.ShapedArrivals;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class BucketProfilerTest {
    @Test
    void shouldNeedOneTokenWhenArrivalsArePeriodic() {
        long[] arrivals = new long[2_000];
        Arrays.setAll(arrivals, i -> i * 1_000_000L);

        Profile profile = new BucketProfiler(0.1).profile(arrivals);

        assertThat(profile.messagesPerSecond()).isCloseTo(1_000, within(1e-9));
        assertThat(profile.limit()).isEqualTo(Limit.of(1_100, 1));
        assertThat(profile.delayedFraction()).isZero();
        assertThat(profile.longestDelaySeconds()).isZero();
    }

    @Test
    void shouldNeedTheWholeBatchWhenMessagesComeInBatches() {
        long[] arrivals = new long[1_000];
        Arrays.setAll(arrivals, i -> i / 10 * 1_000_000_000L);

        Profile profile = new BucketProfiler(0.1).profile(arrivals);

        assertThat(profile.limit()).isEqualTo(Limit.of(11, 10));
        // One of ten messages would wait with nine tokens, and one of a hundred may: the last of each batch waits.
        assertThat(profile.delayedFractionBelow()).isEqualTo(0.1);
        assertThat(profile.reasons())
                .anyMatch(reason -> reason.contains("too short to compare"))
                .anyMatch(reason -> reason.contains("1000 messages are few"));
    }

    /** SRTM's footnote 8: for Poisson publishers the model could be used instead, so both must meet. */
    @Test
    void shouldMeetTheModelWhenArrivalsArePoisson() {
        long[] arrivals = poisson(new SplittableRandom(6), 400_000, 10_000);

        Profile profile = new BucketProfiler(0.1).profile(arrivals);

        assertThat(profile.poissonBurst()).isEqualTo(26);
        assertThat(profile.limit().burstMessages()).isBetween(24.0, 28.0);
        assertThat(profile.delayedFraction()).isLessThanOrEqualTo(0.01);
        assertThat(profile.delayedFractionBelow()).isGreaterThan(0.01);
        assertThat(profile.reasons())
                .anyMatch(reason -> reason.contains("about as bursty"))
                .anyMatch(reason -> reason.contains("make b certain to about 15%"));
    }

    @Test
    void shouldCallATraceBurstierOrSmootherWhenItIsLongEnoughToTell() {
        long[] periodic = new long[BucketProfiler.LONG_TRACE];
        Arrays.setAll(periodic, i -> i * 1_000L);
        long[] batches = new long[BucketProfiler.LONG_TRACE];
        Arrays.setAll(batches, i -> i / 100 * 1_000_000L);

        assertThat(new BucketProfiler(0.1).profile(periodic).reasons()).anyMatch(reason -> reason.contains("smoother"));
        assertThat(new BucketProfiler(0.1).profile(batches).reasons()).anyMatch(reason -> reason.contains("burstier"));
    }

    /** The profiler computes b without a search; here is the search, with the shaping it stands for. */
    @Test
    void shouldFindTheSmallestBurstOnEverySeed() {
        for (long seed = 0; seed < 1_000; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            long[] arrivals = bursts(random, 50 + random.nextInt(200));

            Profile profile = new BucketProfiler(random.nextDouble()).profile(arrivals);

            Limit limit = profile.limit();
            double delayed = delayedPart(limit.rateMicros(), limit.burstMicros(), arrivals);
            assertThat(delayed).as("seed %s", seed).isLessThanOrEqualTo(0.01).isEqualTo(profile.delayedFraction());
            if (limit.burstMicros() > MICROS) {
                double below = delayedPart(limit.rateMicros(), limit.burstMicros() - MICROS, arrivals);
                assertThat(below).as("seed %s", seed).isGreaterThan(0.01).isEqualTo(profile.delayedFractionBelow());
            }
            assertThat(delayedPart(limit.rateMicros(), profile.burstWithoutDelay() * MICROS, arrivals))
                    .as("seed %s", seed)
                    .isZero();
        }
    }

    @Test
    void shouldRefuseWhenATraceHasNoRate() {
        BucketProfiler profiler = new BucketProfiler(0.1);

        assertThatThrownBy(() -> profiler.profile(new long[0])).hasMessageContaining("has no rate");
        assertThatThrownBy(() -> profiler.profile(new long[] {5, 5})).hasMessageContaining("2 messages at one instant");
        assertThatThrownBy(() -> profiler.profile(new long[] {1, 9, 5, 12})).hasMessageContaining("arrival 3 at 5 ns");
        assertThatThrownBy(() -> new BucketProfiler(-0.1)).hasMessageContaining("margin -0.1");
    }

    private static double delayedPart(long rateMicros, long burstMicros, long[] arrivals) {
        TokenBucket bucket = new TokenBucket(rateMicros, burstMicros, burstMicros, arrivals[0]);
        ShapedArrivals shaped = ShapedArrivals.through(bucket, arrivals);
        int delayed = 0;
        for (int i = 0; i < arrivals.length; i++) {
            delayed += shaped.delayNs(i) > 0 ? 1 : 0;
        }
        return delayed / (double) arrivals.length;
    }

    private static long[] poisson(SplittableRandom random, int messages, double perSecond) {
        long[] arrivals = new long[messages];
        double nowNs = 0;
        for (int i = 0; i < messages; i++) {
            nowNs += -Math.log(1 - random.nextDouble()) / perSecond * 1e9;
            arrivals[i] = (long) nowNs;
        }
        return arrivals;
    }

    private static long[] bursts(SplittableRandom random, int messages) {
        long[] arrivals = new long[messages];
        long nowNs = random.nextLong(-1_000_000, 1_000_000);
        for (int i = 0; i < messages; i++) {
            arrivals[i] = nowNs;
            nowNs += i == 0 || random.nextInt(4) == 0 ? 1 + random.nextLong(20_000_000) : random.nextLong(1_000_000);
        }
        return arrivals;
    }
}

package io.weir.limiter.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.BucketModel;
import io.weir.limiter.algorithm.TokenBucket;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SplitPropositionTest {
    @Test
    void shouldNeverImproveTheSumOfDelaysWhenABucketIsSplit() {
        int overtaken = 0;
        int delayed = 0;
        for (long seed = 0; seed < 4_000; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int k = 2 + random.nextInt(6);
            Limit limit = Limit.of(100 + random.nextInt(10_000), k + 20 * random.nextDouble());
            ArrivalProcess process = ArrivalProcess.values()[(int) (seed % ArrivalProcess.values().length)];
            double load = 0.5 + random.nextDouble();
            long[] arrivals = process.arrivalsNs(300, load * limit.ratePerSecond(), random);
            BucketSplit parts =
                    random.nextBoolean() ? BucketSplit.even(limit, k) : BucketSplit.random(limit, k, random);
            int[] bucketOf = random.ints(arrivals.length, 0, k).toArray();

            ShapedArrivals whole = ShapedArrivals.through(full(limit), arrivals);
            ShapedArrivals split = ShapedArrivals.through(parts.buckets(0), arrivals, bucketOf);

            SplitComparison comparison = SplitComparison.of(whole, split);
            assertThat(comparison.leastSumGapNs())
                    .as("seed %s, k %s, %s", seed, k, process)
                    .isNotNegative();
            assertThat(comparison.leastLeadNs())
                    .as("seed %s, k %s, %s", seed, k, process)
                    .isNotNegative();
            overtaken += comparison.leftEarlier() > 0 ? 1 : 0;
            delayed += sumNs(split) > sumNs(whole) ? 1 : 0;
        }
        // The comparison would hold of buckets that never delay, too: most of these do. And it is about the sum only.
        assertThat(delayed).isGreaterThan(3_000);
        assertThat(overtaken).isGreaterThan(1_000);
    }

    @Test
    void shouldSeeAnImprovementWhenTheSplitIsGivenMoreThanTheWhole() {
        SplittableRandom random = new SplittableRandom(1);
        long[] arrivals = ArrivalProcess.POISSON.arrivalsNs(1_000, 1_000, random);
        int[] bucketOf = random.ints(arrivals.length, 0, 2).toArray();
        ShapedArrivals whole = ShapedArrivals.through(full(Limit.of(1_000, 4)), arrivals);
        ShapedArrivals richer =
                ShapedArrivals.through(BucketSplit.even(Limit.of(4_000, 8), 2).buckets(0), arrivals, bucketOf);

        SplitComparison comparison = SplitComparison.of(whole, richer);

        assertThat(comparison.leastSumGapNs()).isNegative();
        assertThat(comparison.leastLeadNs()).isNegative();
    }

    @Test
    void shouldDelayAsTheModelSaysWhenArrivalsArePoisson() {
        long[] arrivals = ArrivalProcess.POISSON.arrivalsNs(1_000_000, 800, new SplittableRandom(3));
        ShapedArrivals shaped = ShapedArrivals.through(full(Limit.of(1_000, 4)), arrivals);
        BucketModel model = new BucketModel(800, 1_000, 4);

        int delayed = 0;
        Sample delays = new Sample();
        for (int i = 0; i < arrivals.length; i++) {
            delayed += shaped.delayNs(i) > 0 ? 1 : 0;
            delays.add(shaped.delayNs(i) / 1e9);
        }

        assertThat(delayed / 1e6).isCloseTo(model.delayedFraction(), withinPercentage(2));
        assertThat(delays.mean()).isCloseTo(model.meanDelaySeconds(), withinPercentage(3));
        assertThat(delays.quantile(0.99)).isCloseTo(model.delayQuantileSeconds(0.99), withinPercentage(3));
    }

    @Test
    void shouldKeepEveryMicroTokenWhenALimitIsSplit() {
        for (long seed = 0; seed < 1_000; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Limit limit = new Limit(random.nextLong(1, Limit.MAX_RATE_MICROS), random.nextLong(7_000_000, 99_000_000));
            for (BucketSplit split :
                    new BucketSplit[] {BucketSplit.even(limit, 7), BucketSplit.random(limit, 7, random)}) {
                assertThat(Arrays.stream(split.ratesMicros()).sum())
                        .as("seed %s", seed)
                        .isEqualTo(limit.rateMicros());
                assertThat(Arrays.stream(split.burstsMicros()).sum())
                        .as("seed %s", seed)
                        .isEqualTo(limit.burstMicros());
                assertThat(Arrays.stream(split.burstsMicros()).min().getAsLong())
                        .as("seed %s", seed)
                        .isGreaterThanOrEqualTo(Limit.MICROS);
            }
        }
    }

    @Test
    void shouldSaySoWhenABucketNeverLetsAMessagePass() {
        TokenBucket tooSmall = new TokenBucket(Limit.MICROS, Limit.MICROS / 2, 0, 0);

        assertThatThrownBy(() -> ShapedArrivals.through(tooSmall, new long[] {0}))
                .hasMessageContaining("never lets message 0 pass");
        assertThatThrownBy(() -> BucketSplit.random(Limit.of(10, 3), 4, new SplittableRandom(0)))
                .hasMessageContaining("cannot be cut into 4 parts");
    }

    private static TokenBucket full(Limit limit) {
        return new TokenBucket(limit.rateMicros(), limit.burstMicros(), limit.burstMicros(), 0);
    }

    private static long sumNs(ShapedArrivals shaped) {
        long sum = 0;
        for (int i = 0; i < shaped.messages(); i++) {
            sum += shaped.delayNs(i);
        }
        return sum;
    }
}

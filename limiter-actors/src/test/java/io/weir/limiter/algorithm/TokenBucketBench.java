package io.weir.limiter.algorithm;

import static io.weir.config.value.Limit.MICROS;

import com.google.common.util.concurrent.RateLimiter;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.TimeMeter;
import io.github.bucket4j.local.SynchronizationStrategy;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * One take from a bucket of 10 million tokens a second, beside bucket4j's local bucket and Guava's RateLimiter, on one
 * thread. {@code mvn -Pquick,bench -pl limiter-actors -am test} runs it.
 *
 * <p>Passed: the time is an argument and moves on 100 ns a take, one token's refill, so every take refills and
 * succeeds. Batch: it moves on every 64th take only, as on the data path, which reads the clock once a batch. Refused:
 * the bucket is empty, and is asked how long to wait. Clock: every take reads {@code System.nanoTime}; Guava's limiter
 * knows no other way.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class TokenBucketBench {
    private static final long STEP_NS = 100;
    private static final int BATCH = 64;
    private static final int RATE = 10_000_000;
    private static final int BURST = 1_000;

    private final PassedTime time = new PassedTime();
    private final TokenBucket weir = new TokenBucket(RATE * MICROS, BURST * MICROS, BURST * MICROS, time.nowNs);
    private final TokenBucket weirEmpty = new TokenBucket(1, BURST * MICROS, 0, time.nowNs);
    private final TokenBucket weirClock = new TokenBucket(RATE * MICROS, BURST * MICROS, 0, System.nanoTime());
    private final Bucket unsafe = bucket4j(SynchronizationStrategy.NONE, time, RATE);
    private final Bucket lockFree = bucket4j(SynchronizationStrategy.LOCK_FREE, time, RATE);
    private final Bucket unsafeEmpty = bucket4j(SynchronizationStrategy.NONE, time, 1);
    private final Bucket unsafeClock = bucket4j(SynchronizationStrategy.NONE, TimeMeter.SYSTEM_NANOTIME, RATE);
    private final Bucket lockFreeClock = bucket4j(SynchronizationStrategy.LOCK_FREE, TimeMeter.SYSTEM_NANOTIME, RATE);

    @SuppressWarnings("UnstableApiUsage")
    private final RateLimiter guava = RateLimiter.create(RATE);

    private int take;

    /** A clock that the benchmark sets; a field read, so that only the buckets are measured. */
    private static final class PassedTime implements TimeMeter {
        long nowNs = 1_000_000_000L;

        @Override
        public long currentTimeNanos() {
            return nowNs;
        }

        @Override
        public boolean isWallClockBased() {
            return false;
        }
    }

    private static Bucket bucket4j(SynchronizationStrategy strategy, TimeMeter time, int rate) {
        return Bucket.builder()
                .addLimit(limit -> limit.capacity(BURST)
                        .refillGreedy(rate, Duration.ofSeconds(1))
                        .initialTokens(rate == RATE ? BURST : 0))
                .withCustomTimePrecision(time)
                .withSynchronizationStrategy(strategy)
                .build();
    }

    @Benchmark
    public boolean passedWeir() {
        return weir.tryTake(1, time.nowNs += STEP_NS);
    }

    @Benchmark
    public boolean passedBucket4jUnsafe() {
        time.nowNs += STEP_NS;
        return unsafe.tryConsume(1);
    }

    @Benchmark
    public boolean passedBucket4jLockFree() {
        time.nowNs += STEP_NS;
        return lockFree.tryConsume(1);
    }

    @Benchmark
    public boolean batchWeir() {
        stepOncePerBatch();
        return weir.tryTake(1, time.nowNs);
    }

    @Benchmark
    public boolean batchBucket4jUnsafe() {
        stepOncePerBatch();
        return unsafe.tryConsume(1);
    }

    @Benchmark
    public long refusedWeir() {
        return weirEmpty.takeOrWaitNs(1, time.nowNs);
    }

    @Benchmark
    public long refusedBucket4jUnsafe() {
        return unsafeEmpty.estimateAbilityToConsume(1).getNanosToWaitForRefill();
    }

    @Benchmark
    public boolean clockWeir() {
        return weirClock.tryTake(1, System.nanoTime());
    }

    @Benchmark
    public boolean clockBucket4jUnsafe() {
        return unsafeClock.tryConsume(1);
    }

    @Benchmark
    public boolean clockBucket4jLockFree() {
        return lockFreeClock.tryConsume(1);
    }

    @Benchmark
    public boolean clockGuava() {
        return guava.tryAcquire();
    }

    private void stepOncePerBatch() {
        if (++take % BATCH == 0) {
            time.nowNs += BATCH * STEP_NS;
        }
    }
}

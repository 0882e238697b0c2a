package io.weir.limiter.algorithm;

import static io.weir.config.value.Limit.MAX_BURST_MICROS;
import static io.weir.config.value.Limit.MAX_RATE_MICROS;
import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The bucket against one in unbounded integers, on random histories of everything that can happen to it. */
class TokenBucketPropertyTest {
    private static final int SEEDS = 4_000;
    private static final int STEPS = 60;

    @Test
    void shouldAgreeWithUnboundedArithmeticOnEverySeed() {
        for (long seed = 0; seed < SEEDS; seed++) {
            new History(seed).run();
        }
    }

    /** One random history, played to the bucket and to its reference side by side. */
    private static final class History {
        final SplittableRandom random;
        final String name;
        final TokenBucket bucket;
        final Reference reference;
        long nowNs;

        History(long seed) {
            random = new SplittableRandom(seed);
            name = "seed " + seed + ", step ";
            nowNs = random.nextLong();
            long rate = magnitude(MAX_RATE_MICROS);
            long burst = magnitude(MAX_BURST_MICROS);
            long level = random.nextLong(burst + 1);
            bucket = new TokenBucket(rate, burst, level, nowNs);
            reference = new Reference(rate, burst, level, nowNs);
        }

        void run() {
            for (int step = 0; step < STEPS; step++) {
                String where = name + step;
                advance();
                switch (random.nextInt(9)) {
                    case 0 -> change();
                    case 1 -> {
                        long micros = magnitude(MAX_BURST_MICROS);
                        assertThat(bucket.addMicros(micros, nowNs)).as(where).isEqualTo(reference.add(micros, nowNs));
                    }
                    case 2 -> {
                        long micros = magnitude(MAX_BURST_MICROS);
                        assertThat(bucket.removeMicros(micros, nowNs))
                                .as(where)
                                .isEqualTo(reference.remove(micros, nowNs));
                    }
                    case 3 -> {
                        long micros = magnitude(MAX_BURST_MICROS);
                        assertThat(bucket.reserveMicros(micros, nowNs))
                                .as(where)
                                .isEqualTo(reference.reserve(micros, nowNs));
                    }
                    case 4 -> release();
                    default -> take(where);
                }
                assertThat(bucket.levelMicros(nowNs)).as(where).isEqualTo(reference.levelMicros(nowNs));
                assertThat(bucket.reservedMicros()).as(where).isEqualTo(reference.reserved.longValueExact());
            }
        }

        void advance() {
            switch (random.nextInt(8)) {
                case 0 -> nowNs -= magnitude(1_000_000_000L);
                case 1 -> {}
                case 2 -> nowNs += magnitude(Long.MAX_VALUE / 4);
                default -> nowNs += magnitude(10_000_000_000L);
            }
        }

        void take(String where) {
            long level = bucket.levelMicros(nowNs) / MICROS;
            int tokens = (int) Math.max(1, Math.min(magnitude(1_000_000_000), level + random.nextInt(3)));
            BigInteger wait = reference.takeOrWait(tokens, nowNs);
            long expected = wait == null || wait.bitLength() > 63 ? TokenBucket.NEVER : wait.longValueExact();
            if (random.nextBoolean()) {
                assertThat(bucket.takeOrWaitNs(tokens, nowNs)).as(where).isEqualTo(expected);
            } else {
                assertThat(bucket.tryTake(tokens, nowNs)).as(where).isEqualTo(expected == 0);
            }
        }

        void change() {
            long burst = magnitude(MAX_BURST_MICROS);
            if (burst < bucket.burstMicros()) {
                long reserved = bucket.reservedMicros();
                bucket.releaseMicros(reserved, nowNs);
                reference.release(reserved, nowNs);
            }
            long rate = random.nextInt(10) == 0 ? 0 : magnitude(MAX_RATE_MICROS);
            bucket.change(rate, burst, nowNs);
            reference.change(rate, burst, nowNs);
        }

        void release() {
            long micros = random.nextLong(bucket.reservedMicros() + 1);
            bucket.releaseMicros(micros, nowNs);
            reference.release(micros, nowNs);
        }

        /** From 1 to {@code max}, every order of magnitude equally likely. */
        long magnitude(long max) {
            double drawn = Math.exp(random.nextDouble() * Math.log((double) max));
            return Math.max(1, Math.min(max, (long) drawn));
        }
    }

    /** The same bucket in billionths of a micro-token, without bounds and without haste. */
    private static final class Reference {
        static final BigInteger NANOS = BigInteger.valueOf(1_000_000_000L);

        BigInteger rate;
        BigInteger burst;
        BigInteger level;
        BigInteger reserved = BigInteger.ZERO;
        long settledNs;

        Reference(long rateMicros, long burstMicros, long levelMicros, long nowNs) {
            rate = BigInteger.valueOf(rateMicros);
            burst = BigInteger.valueOf(burstMicros);
            level = BigInteger.valueOf(levelMicros).multiply(NANOS);
            settledNs = nowNs;
        }

        BigInteger ceiling() {
            return burst.subtract(reserved).multiply(NANOS);
        }

        void settle(long nowNs) {
            if (nowNs - settledNs > 0) {
                level = level.add(rate.multiply(BigInteger.valueOf(nowNs - settledNs)))
                        .min(ceiling());
                settledNs = nowNs;
            }
        }

        /** Null: never. */
        BigInteger takeOrWait(int tokens, long nowNs) {
            settle(nowNs);
            BigInteger cost = BigInteger.valueOf(tokens * MICROS).multiply(NANOS);
            if (level.compareTo(cost) >= 0) {
                level = level.subtract(cost);
                return BigInteger.ZERO;
            }
            if (cost.compareTo(ceiling()) > 0 || rate.signum() == 0) {
                return null;
            }
            BigInteger[] parts = cost.subtract(level).divideAndRemainder(rate);
            return parts[0].add(BigInteger.valueOf(parts[1].signum())).add(BigInteger.valueOf(settledNs - nowNs));
        }

        void change(long rateMicros, long burstMicros, long nowNs) {
            settle(nowNs);
            rate = BigInteger.valueOf(rateMicros);
            burst = BigInteger.valueOf(burstMicros);
            level = level.min(ceiling());
        }

        long levelMicros(long nowNs) {
            settle(nowNs);
            return level.divide(NANOS).longValueExact();
        }

        long add(long micros, long nowNs) {
            long before = levelMicros(nowNs);
            long room = ceiling().divide(NANOS).longValueExact() - before;
            level = level.add(BigInteger.valueOf(micros).multiply(NANOS)).min(ceiling());
            return Math.min(micros, room);
        }

        long remove(long micros, long nowNs) {
            long removed = Math.min(micros, levelMicros(nowNs));
            level = level.subtract(BigInteger.valueOf(removed).multiply(NANOS));
            return removed;
        }

        long reserve(long micros, long nowNs) {
            settle(nowNs);
            BigInteger room = ceiling().subtract(level).divide(NANOS);
            BigInteger kept = room.min(BigInteger.valueOf(micros));
            reserved = reserved.add(kept);
            return kept.longValueExact();
        }

        void release(long micros, long nowNs) {
            settle(nowNs);
            reserved = reserved.subtract(BigInteger.valueOf(micros));
        }
    }
}

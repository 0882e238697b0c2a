package io.weir.limiter.algorithm;

import static io.weir.config.value.Limit.MAX_BURST_MICROS;
import static io.weir.config.value.Limit.MAX_RATE_MICROS;
import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TokenBucketTest {
    private static final long SECOND = 1_000_000_000L;

    @Test
    void shouldSayTheExactWaitWhenTokensAreMissing() {
        TokenBucket bucket = new TokenBucket(3 * MICROS, 2 * MICROS, 0, 0);

        // A third of a second is not a whole number of nanoseconds: one less is too early, so it rounds up.
        assertThat(bucket.takeOrWaitNs(1, 0)).isEqualTo(333_333_334);
        assertThat(bucket.takeOrWaitNs(1, 333_333_333)).isEqualTo(1);
        assertThat(bucket.takeOrWaitNs(1, 333_333_334)).isZero();
        // Two thirds of a nanosecond's refill were left over: they still count.
        assertThat(bucket.takeOrWaitNs(1, 333_333_334)).isEqualTo(333_333_333);
    }

    @Test
    void shouldNotLoseFractionsWhenSettledEveryNanosecond() {
        TokenBucket bucket = new TokenBucket(7, MICROS, 0, 0);

        long nowNs = 0;
        for (int i = 0; i < 1_000_000; i++) {
            bucket.settle(nowNs += 1_000);
        }

        assertThat(bucket.levelMicros(nowNs)).isEqualTo(7);
    }

    @Test
    void shouldHoldNoMoreThanItsBurstWhenIdleForLong() {
        TokenBucket bucket = new TokenBucket(MAX_RATE_MICROS, MAX_BURST_MICROS, 0, 0);

        assertThat(bucket.levelMicros(SECOND - 1)).isEqualTo(MAX_BURST_MICROS - MAX_RATE_MICROS / SECOND);
        assertThat(bucket.levelMicros(TimeUnit.HOURS.toNanos(48))).isEqualTo(MAX_BURST_MICROS);
        assertThat(bucket.levelMicros(Long.MAX_VALUE)).isEqualTo(MAX_BURST_MICROS);
    }

    @Test
    void shouldRefillExactlyWhenAPauseOverflowsRateTimesTime() {
        TokenBucket bucket = new TokenBucket(123_456_789_012_345L, MAX_BURST_MICROS, 0, 0);

        assertThat(bucket.levelMicros(6 * SECOND + 999_999_999L)).isEqualTo(864_197_522_962_958L);
    }

    @Test
    void shouldAddNothingWhenTimeRunsBackwards() {
        TokenBucket bucket = new TokenBucket(MICROS, 5 * MICROS, 0, 10 * SECOND);

        assertThat(bucket.levelMicros(3 * SECOND)).isZero();
        assertThat(bucket.takeOrWaitNs(1, 3 * SECOND)).isEqualTo(8 * SECOND);
        assertThat(bucket.levelMicros(11 * SECOND)).isEqualTo(MICROS);
    }

    @Test
    void shouldRefillWhenTheClockWraps() {
        TokenBucket bucket = new TokenBucket(MICROS, 5 * MICROS, 0, Long.MAX_VALUE - SECOND + 1);

        assertThat(bucket.takeOrWaitNs(2, Long.MAX_VALUE)).isEqualTo(SECOND + 1);
        assertThat(bucket.takeOrWaitNs(2, Long.MIN_VALUE + SECOND)).isZero();
    }

    @Test
    void shouldAnswerNeverWhenNoWaitingHelps() {
        assertThat(new TokenBucket(MICROS, 2 * MICROS, 0, 0).takeOrWaitNs(3, 0)).isEqualTo(TokenBucket.NEVER);
        assertThat(new TokenBucket(0, 2 * MICROS, 0, 0).takeOrWaitNs(1, 0)).isEqualTo(TokenBucket.NEVER);
        // A billion messages at one in eleven days: longer than a long counts nanoseconds.
        assertThat(new TokenBucket(1, MAX_BURST_MICROS, 0, 0).takeOrWaitNs(1_000_000_000, 0))
                .isEqualTo(TokenBucket.NEVER);
    }

    @Test
    void shouldSettleAtTheOldRateWhenChanged() {
        TokenBucket bucket = new TokenBucket(10 * MICROS, 100 * MICROS, 0, 0);

        bucket.change(MICROS, 100 * MICROS, 5 * SECOND);
        assertThat(bucket.levelMicros(6 * SECOND)).isEqualTo(51 * MICROS);

        bucket.change(MICROS, 20 * MICROS, 6 * SECOND);
        assertThat(bucket.levelMicros(6 * SECOND)).isEqualTo(20 * MICROS);
    }

    @Test
    void shouldStopRefillBelowReservedRoomWhenARequestIsOpen() {
        TokenBucket bucket = new TokenBucket(MICROS, 5 * MICROS, 2 * MICROS, 0);

        assertThat(bucket.reserveMicros(10 * MICROS, 0)).isEqualTo(3 * MICROS);
        assertThat(bucket.levelMicros(60 * SECOND)).isEqualTo(2 * MICROS);
        assertThat(bucket.takeOrWaitNs(3, 60 * SECOND)).isEqualTo(TokenBucket.NEVER);

        bucket.releaseMicros(3 * MICROS, 60 * SECOND);
        assertThat(bucket.addMicros(2 * MICROS, 60 * SECOND)).isEqualTo(2 * MICROS);
        assertThat(bucket.levelMicros(60 * SECOND)).isEqualTo(4 * MICROS);
    }

    @Test
    void shouldRefuseWhenAnArgumentBreaksARule() {
        TokenBucket bucket = new TokenBucket(MICROS, 5 * MICROS, 0, 0);

        assertThatThrownBy(() -> bucket.tryTake(0, 0)).hasMessageContaining("at least 1 token, not 0");
        assertThatThrownBy(() -> bucket.addMicros(-1, 0)).hasMessageContaining("-1");
        assertThatThrownBy(() -> bucket.releaseMicros(1, 0)).hasMessageContaining("reserved are 0");
        assertThatThrownBy(() -> bucket.change(MAX_RATE_MICROS + 1, MICROS, 0)).hasMessageContaining("rate");
        assertThatThrownBy(() -> bucket.change(1, -1, 0)).hasMessageContaining("burst -1");
        assertThatThrownBy(() -> new TokenBucket(1, MICROS, MICROS + 1, 0)).hasMessageContaining("level");
        bucket.reserveMicros(1, 0);
        assertThatThrownBy(() -> bucket.change(MICROS, MICROS, 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("cancel the open requests first");
    }
}

package io.weir.limiter.algorithm;

import static io.weir.config.value.Limit.MAX_BURST_MICROS;
import static io.weir.config.value.Limit.MAX_RATE_MICROS;
import static io.weir.config.value.Limit.MICROS;

/**
 * A token bucket (ρ, β, λ) that is told the time instead of asking for it, so a simulation can replay it: level λ grows
 * by ρ a second up to β, and a message of cost c takes c tokens. In every interval of length t at most β + ρ·t tokens
 * leave it.
 *
 * <p>Exact: λ is a count of micro-tokens plus a remainder in billionths of one, because ρ micro-tokens a second for Δt
 * nanoseconds are ρ·Δt billionths. Nothing is rounded, so how often the bucket is settled changes nothing. No product
 * overflows: up to {@code directNs} ρ·Δt fits a {@code long}, and beyond it the refill is clamped to the room left and
 * computed in seconds and nanoseconds apart. Time that runs backwards adds nothing, and the time that follows counts
 * once. Comparisons are by difference, so {@code System.nanoTime} may wrap.
 *
 * <p>A request for borrowed tokens reserves room: refill stops at β − Σ reserved, so that a late reply still fits.
 *
 * <p>For a single writer; allocates nothing. Making ρ a little smaller for a clock that runs fast is the caller's
 * business.
 */
public final class TokenBucket {
    /** What {@link #takeOrWaitNs} answers when no waiting helps while the bucket stays as it is. */
    public static final long NEVER = Long.MAX_VALUE;

    private static final long NANOS = 1_000_000_000L;
    /** Up to this many missing micro-tokens, their billionths and ρ together fit a long. */
    private static final long DIRECT_MISSING = (Long.MAX_VALUE - MAX_RATE_MICROS) / NANOS;

    private long rateMicros;
    private long burstMicros;
    private long reservedMicros;
    /** β − Σ reserved: where refill stops. λ never lies above it. */
    private long ceilingMicros;

    private long levelMicros;
    /** Billionths of a micro-token beyond {@link #levelMicros}; zero at the ceiling. */
    private long remainder;

    private long settledNs;
    /** The longest Δt for which ρ·Δt + remainder fits a long. */
    private long directNs;

    public TokenBucket(long rateMicros, long burstMicros, long levelMicros, long nowNs) {
        if (levelMicros < 0 || levelMicros > burstMicros) {
            throw new IllegalArgumentException(
                    "level " + levelMicros + " is not between 0 and the burst " + burstMicros);
        }
        this.levelMicros = levelMicros;
        this.settledNs = nowNs;
        become(rateMicros, burstMicros);
    }

    /** Takes {@code tokens} (at least 1) if they are there. */
    public boolean tryTake(int tokens, long nowNs) {
        if (tokens < 1) {
            throw new IllegalArgumentException("a message costs at least 1 token, not " + tokens);
        }
        settle(nowNs);
        long left = levelMicros - tokens * MICROS;
        if (left < 0) {
            return false;
        }
        levelMicros = left;
        return true;
    }

    /**
     * Takes {@code tokens} (at least 1) if they are there.
     *
     * @return 0 if taken; otherwise the nanoseconds after which they would be, to the nanosecond, or {@link #NEVER} if
     *     the cost is above what refill reaches, the rate is 0, or the wait is longer than a {@code long} can say
     */
    public long takeOrWaitNs(int tokens, long nowNs) {
        return tryTake(tokens, nowNs) ? 0 : waitNs(tokens * MICROS, nowNs);
    }

    /** Accounts for the time until {@code nowNs}. */
    void settle(long nowNs) {
        long elapsedNs = nowNs - settledNs;
        if (elapsedNs > 0) {
            settledNs = nowNs;
            if (elapsedNs <= directNs) {
                long billionths = rateMicros * elapsedNs + remainder;
                long gained = billionths / NANOS;
                remainder = billionths - gained * NANOS;
                fill(levelMicros + gained);
            } else {
                refillLong(elapsedNs);
            }
        }
    }

    /** Settles at the old rate, then changes rate and burst; a level above the new burst is cut to it. */
    public void change(long newRateMicros, long newBurstMicros, long nowNs) {
        settle(nowNs);
        become(newRateMicros, newBurstMicros);
    }

    public long levelMicros(long nowNs) {
        settle(nowNs);
        return levelMicros;
    }

    /** The level at {@link #settledNs}, without settling again. */
    long lastLevelMicros() {
        return levelMicros;
    }

    /** Adds up to {@code micros}, as far as there is room below the ceiling; the answer is what was added. */
    public long addMicros(long micros, long nowNs) {
        requireNotNegative(micros);
        settle(nowNs);
        long added = Math.min(micros, ceilingMicros - levelMicros);
        fill(levelMicros + added);
        return added;
    }

    /** Removes up to {@code micros}, as far as the level goes; the answer is what was removed. */
    public long removeMicros(long micros, long nowNs) {
        requireNotNegative(micros);
        settle(nowNs);
        long removed = Math.min(micros, levelMicros);
        levelMicros -= removed;
        return removed;
    }

    /**
     * Keeps room for up to {@code micros} that were asked for, as far as there is room: refill stops below it until
     * {@link #releaseMicros}. The answer is what was reserved, and no more than that may be asked for.
     */
    long reserveMicros(long micros, long nowNs) {
        requireNotNegative(micros);
        settle(nowNs);
        long occupied = levelMicros + (remainder > 0 ? 1 : 0);
        long reserved = Math.min(micros, ceilingMicros - occupied);
        reservedMicros += reserved;
        ceilingMicros -= reserved;
        return reserved;
    }

    /** Gives back room that was reserved: the reply came (then {@link #addMicros} it), or the request was cancelled. */
    void releaseMicros(long micros, long nowNs) {
        if (micros < 0 || micros > reservedMicros) {
            throw new IllegalArgumentException("cannot release " + micros + ", reserved are " + reservedMicros);
        }
        settle(nowNs);
        reservedMicros -= micros;
        ceilingMicros += micros;
    }

    /** The latest time it was told: what was refilled until then can't be told from what was there before. */
    public long settledNs() {
        return settledNs;
    }

    public long rateMicros() {
        return rateMicros;
    }

    public long burstMicros() {
        return burstMicros;
    }

    long reservedMicros() {
        return reservedMicros;
    }

    private void become(long newRateMicros, long newBurstMicros) {
        if (newRateMicros < 0 || newRateMicros > MAX_RATE_MICROS) {
            throw new IllegalArgumentException(
                    "rate " + newRateMicros + " is not between 0 and " + MAX_RATE_MICROS + " micro-tokens a second");
        }
        if (newBurstMicros < 0 || newBurstMicros > MAX_BURST_MICROS) {
            throw new IllegalArgumentException(
                    "burst " + newBurstMicros + " is not between 0 and " + MAX_BURST_MICROS + " micro-tokens");
        }
        if (newBurstMicros < burstMicros && reservedMicros > 0) {
            throw new IllegalStateException("burst cannot fall from " + burstMicros + " to " + newBurstMicros
                    + " while " + reservedMicros + " are reserved: cancel the open requests first");
        }
        rateMicros = newRateMicros;
        burstMicros = newBurstMicros;
        ceilingMicros = newBurstMicros - reservedMicros;
        directNs = rateMicros == 0 ? Long.MAX_VALUE : (Long.MAX_VALUE - NANOS) / rateMicros;
        fill(levelMicros);
    }

    private void fill(long micros) {
        if (micros >= ceilingMicros) {
            levelMicros = ceilingMicros;
            remainder = 0;
        } else {
            levelMicros = micros;
        }
    }

    /** For Δt whose ρ·Δt overflows. ρ ≤ 10¹⁵ and room ≤ 10¹⁵, so every product here stays below 2·10¹⁸. */
    private void refillLong(long elapsedNs) {
        long seconds = elapsedNs / NANOS;
        if (seconds > (ceilingMicros - levelMicros) / rateMicros) {
            fill(ceilingMicros);
            return;
        }
        long ns = elapsedNs % NANOS;
        long billionths = rateMicros % NANOS * ns + remainder;
        remainder = billionths % NANOS;
        fill(levelMicros + rateMicros * seconds + rateMicros / NANOS * ns + billionths / NANOS);
    }

    /** The smallest Δt with ρ·Δt + remainder ≥ missing·10⁹. */
    private long waitNs(long costMicros, long nowNs) {
        if (costMicros > ceilingMicros || rateMicros == 0) {
            return NEVER;
        }
        long missing = costMicros - levelMicros;
        long refillNs = missing <= DIRECT_MISSING
                ? (missing * NANOS - remainder + rateMicros - 1) / rateMicros
                : refillLongNs(missing);
        // settledNs is ahead of nowNs only if time ran backwards: then refill begins when it has caught up.
        long waitNs = settledNs - nowNs + refillNs;
        return waitNs < 0 ? NEVER : waitNs;
    }

    /**
     * For a missing·10⁹ that does not fit a long: long division in base 1,000, because a rest below ρ ≤ 10¹⁵ times
     * 1,000 does.
     */
    private long refillLongNs(long missing) {
        long quotient = missing / rateMicros;
        long rest = missing % rateMicros;
        for (int digit = 0; digit < 3; digit++) {
            if (quotient > Long.MAX_VALUE / 1_000 - 1) {
                return NEVER;
            }
            quotient = quotient * 1_000 + rest * 1_000 / rateMicros;
            rest = rest * 1_000 % rateMicros;
        }
        return quotient + Math.floorDiv(rest - remainder + rateMicros - 1, rateMicros);
    }

    private static void requireNotNegative(long micros) {
        if (micros < 0) {
            throw new IllegalArgumentException("micro-tokens cannot be negative: " + micros);
        }
    }
}

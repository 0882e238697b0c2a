package io.weir.limiter.supply.gate.algorithm;

import io.weir.limiter.algorithm.TokenBucket;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.Supply;
import java.util.function.LongSupplier;

/**
 * One topic's way in at one broker: a message passes if there is a token <i>and</i> a lease. Two accounts, each its own
 * bucket: the leased one first, the kept one also past the lease.
 *
 * <p>In one step, by its order: take the token, <i>then</i> read the clock again, and past the lease refuse (the token is
 * gone). A thread that stops between the two is refused; one that stops after may emit that single message late. It counts
 * at {@link #stampNs}, the time for which the token was taken: stamping it with the second reading would let a bucket that
 * refilled during the pause admit β + 1 at once.
 *
 * <p>Reading the clock is most of what a message costs here, so a <i>run</i> of messages that are decided one right after the other
 * goes by the two readings of its first ({@link #admitNext}). That is the same step for several: their tokens are of the first
 * reading, at which all of them count, and the bucket kept its bound then whatever is done when; the second came after it, and found the
 * lease. Nobody but the single writer takes from the buckets, so whether the last of these tokens left its bucket before or after the
 * second reading makes no difference that anybody could see. What changes is how much a thread that stops after the second reading may
 * emit late: instead of one message what is left of the run, at most {@value #RUN} messages, and no more than the bucket held at
 * the first reading. A run ends with any change of supply: what came after its stamp must not count before it was there.
 *
 * <p>Refill runs at ρ/(1+ε), so that a clock that is fast by ε still keeps the bound. Every change settles first, and removing
 * answers what was removed: only that may be written down. For a single writer; {@link #admit} allocates nothing.
 */
public final class Gate {
    /** Which account let a message pass. */
    public enum Verdict {
        LEASED,
        KEPT,
        REFUSED
    }

    /** So many tokens go by the same two readings of the clock at the most, unless a single batch is larger. */
    public static final int RUN = 16;

    private static final long MILLION = 1_000_000L;

    private final Lease lease;
    private final long epsilonPpm;
    private final TokenBucket leased;
    private final TokenBucket kept;
    private long leasedRateMicros;
    private long keptRateMicros;
    private long stampNs;
    /** The clock as it was last read. */
    private long readNs;
    /** What may still go by these readings. */
    private int runLeft;
    /** Told before β falls: what was asked for would no longer fit. */
    private Lending lending;

    /** @param epsilonPpm ε in millionths, at most 9,000 so that ρ·ε fits a long */
    public Gate(Lease lease, long epsilonPpm, long nowNs) {
        if (epsilonPpm < 0 || epsilonPpm > 9_000) {
            throw new IllegalArgumentException("epsilon of " + epsilonPpm + " ppm is not between 0 and 9,000");
        }
        this.lease = lease;
        this.epsilonPpm = epsilonPpm;
        stampNs = nowNs;
        readNs = nowNs;
        leased = new TokenBucket(0, 0, 0, nowNs);
        kept = new TokenBucket(0, 0, 0, nowNs);
    }

    public Verdict admit(int tokens, LongSupplier clock) {
        readNs = clock.getAsLong();
        Verdict taken = take(tokens, readNs);
        if (taken == Verdict.REFUSED) {
            runLeft = 0;
            return taken;
        }
        readNs = clock.getAsLong();
        runLeft = RUN - tokens;
        return confirm(taken, readNs);
    }

    /**
     * The same for a message that is decided right after the one before, with nothing done in between but what that one's passing
     * entailed: goes by its readings of the clock, as long as the run lasts and its tokens reach.
     */
    public Verdict admitNext(int tokens, LongSupplier clock) {
        runLeft -= tokens;
        // The buckets may have been told a later time: see admitAt.
        if (runLeft < 0 || leased.settledNs() - stampNs > 0 || kept.settledNs() - stampNs > 0) {
            return admit(tokens, clock);
        }
        Verdict taken = take(tokens, stampNs);
        Verdict passed = taken == Verdict.REFUSED ? taken : confirm(taken, readNs);
        return passed == Verdict.REFUSED ? admit(tokens, clock) : passed;
    }

    /** Whatever comes next does not follow right after the one before. */
    public void endRun() {
        runLeft = 0;
    }

    /**
     * The same for a message that came at {@code arrivalNs}, however late it is looked at: it takes of what was there then, and
     * counts at that time. But not earlier than anything that either bucket was told, be it another message or a change of
     * supply: tokens that came after the arrival, from the clock or from another broker, would count before they were there. An
     * arrival that is still to come counts now.
     */
    public Verdict admitAt(int tokens, long arrivalNs, LongSupplier clock) {
        runLeft = 0;
        long nowNs = clock.getAsLong();
        readNs = nowNs;
        long atNs = later(later(arrivalNs, stampNs), later(leased.settledNs(), kept.settledNs()));
        Verdict taken = take(tokens, atNs - nowNs > 0 ? nowNs : atNs);
        if (taken == Verdict.REFUSED) {
            return taken;
        }
        readNs = clock.getAsLong();
        return confirm(taken, readNs);
    }

    private static long later(long aNs, long bNs) {
        return aNs - bNs > 0 ? aNs : bNs;
    }

    /** The first half of {@link #admit}, apart so that a simulation can stop the thread between them. */
    public Verdict take(int tokens, long nowNs) {
        stampNs = nowNs;
        if (lease.usable(nowNs) && leased.tryTake(tokens, nowNs)) {
            return Verdict.LEASED;
        }
        return !lease.closed() && kept.tryTake(tokens, nowNs) ? Verdict.KEPT : Verdict.REFUSED;
    }

    /** The second half: what was taken counts only if the lease still holds. */
    public Verdict confirm(Verdict taken, long nowNs) {
        boolean holds = taken == Verdict.LEASED ? lease.usable(nowNs) : !lease.closed();
        return holds ? taken : Verdict.REFUSED;
    }

    /** After a refusal at {@code nowNs}: when to try again, or {@link TokenBucket#NEVER} if nothing but a change helps. */
    public long retryAfterNs(int tokens, long nowNs) {
        if (lease.closed()) {
            return TokenBucket.NEVER;
        }
        long keptNs = kept.takeOrWaitNs(tokens, nowNs);
        return lease.usable(nowNs) ? Math.min(keptNs, leased.takeOrWaitNs(tokens, nowNs)) : keptNs;
    }

    /** The time at which the last message that passed counts. */
    public long stampNs() {
        return stampNs;
    }

    /** The clock as it was last read, not before {@link #stampNs}: when the message was decided. */
    public long readNs() {
        return readNs;
    }

    public void add(Holding more, long nowNs) {
        runLeft = 0;
        leasedRateMicros = add(leased, leasedRateMicros, more.leased(), nowNs);
        keptRateMicros = add(kept, keptRateMicros, more.kept(), nowNs);
    }

    /**
     * {@link #remove}s what is to be handed over, burned or divided otherwise; nothing if the lease is not fresh. What leaves the gate stays
     * away until its event is stored, and a broker that is cut off would miss it all the while. (Such a broker admits from its kept
     * account alone, so less is asked of it, and it seems to have more than its neighbours. It began to hand over 5 to 8% of its share,
     * and admitted so much less than it kept.)
     */
    public Holding release(Holding wanted, long nowNs) {
        return lease.fresh(nowNs) ? remove(wanted, nowNs) : Holding.NONE;
    }

    /** Removes up to {@code wanted} and answers what it was, with the level that goes along. */
    public Holding remove(Holding wanted, long nowNs) {
        runLeft = 0;
        if (lending != null) {
            lending.cancel(nowNs);
        }
        Supply fromLeased = remove(leased, leasedRateMicros, wanted.leased(), nowNs);
        Supply fromKept = remove(kept, keptRateMicros, wanted.kept(), nowNs);
        leasedRateMicros -= fromLeased.rateMicros();
        keptRateMicros -= fromKept.rateMicros();
        return new Holding(fromLeased, fromKept);
    }

    /** Everything, at level 0: what a recovery found is all there is. */
    public void reset(Holding all, long nowNs) {
        remove(held(nowNs), nowNs);
        add(all.empty(), nowNs);
    }

    public Holding held(long nowNs) {
        return new Holding(
                new Supply(leasedRateMicros, leased.burstMicros(), leased.levelMicros(nowNs)),
                new Supply(keptRateMicros, kept.burstMicros(), kept.levelMicros(nowNs)));
    }

    /** Tokens missing from both full buckets: SRTM's unfinished work, less what waits. */
    public long missingMicros(long nowNs) {
        return leased.burstMicros() - leased.levelMicros(nowNs) + kept.burstMicros() - kept.levelMicros(nowNs);
    }

    TokenBucket leased() {
        return leased;
    }

    Lease lease() {
        return lease;
    }

    void lendThrough(Lending newLending) {
        lending = newLending;
    }

    private long add(TokenBucket bucket, long rateMicros, Supply more, long nowNs) {
        long rate = rateMicros + more.rateMicros();
        bucket.change(deflated(rate), bucket.burstMicros() + more.burstMicros(), nowNs);
        bucket.addMicros(more.levelMicros(), nowNs);
        return rate;
    }

    private Supply remove(TokenBucket bucket, long rateMicros, Supply wanted, long nowNs) {
        long rate = Math.min(wanted.rateMicros(), rateMicros);
        long burst = Math.min(wanted.burstMicros(), bucket.burstMicros());
        if (rate == 0 && burst == 0) {
            return Supply.NONE;
        }
        long before = bucket.burstMicros();
        long level = bucket.levelMicros(nowNs);
        // The level goes in proportion (a double chooses, what is removed is counted), and none is cut off unseen.
        long along = Math.max(
                before == 0 ? 0 : Math.min(burst, (long) ((double) level * burst / before)), level - (before - burst));
        long removed = bucket.removeMicros(along, nowNs);
        bucket.change(deflated(rateMicros - rate), before - burst, nowNs);
        return new Supply(rate, burst, removed);
    }

    /** ρ/(1+ε), rounded down. */
    private long deflated(long rateMicros) {
        return rateMicros - (rateMicros * epsilonPpm + MILLION + epsilonPpm - 1) / (MILLION + epsilonPpm);
    }
}

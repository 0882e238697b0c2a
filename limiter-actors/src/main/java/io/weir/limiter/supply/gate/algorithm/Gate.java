package io.weir.limiter.supply.gate.algorithm;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.TokenBucket;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.Supply;
import java.util.function.LongSupplier;

/**
 * One topic's way in at one broker: a message passes if there is a token <i>and</i> a lease. Each of the two accounts
 * has its own bucket: the leased one comes first, the kept one admits past the lease too.
 *
 * <p><b>The order matters</b>: take the token, <i>then</i> read the clock again, and refuse if the lease is over (the
 * token is then lost). A thread that pauses between the two is refused; one that pauses after them may emit that single
 * message late. The message counts at {@link #stampNs}, the time for which the token was taken: stamping it with the
 * second reading would let a bucket that refilled during the pause admit β + 1 at once.
 *
 * <p><b>A run.</b> Reading the clock is most of what a message costs here. So messages that are decided one right after
 * the other form a <i>run</i>, which uses the two readings of its first message ({@link #admitNext}). All of them count
 * at the first reading, and the bucket keeps its bound for that time; the second reading came later and found the lease
 * valid. Only the single writer takes from the buckets, so nobody can see whether the last token left before or after
 * the second reading. What changes is how much a thread that pauses after the second reading may emit late: the rest of
 * the run instead of one message, at most {@value #RUN} messages, and no more than the bucket held at the first
 * reading. Any change of supply ends a run: supply that came after the run's stamp must not count before it was there.
 *
 * <p>Refill runs at ρ/(1+ε), so that a clock that is fast by ε still keeps the bound. Every change of supply settles
 * the buckets first. Removing answers what was removed: only that may be written down. For a single writer;
 * {@link #admit} allocates nothing.
 */
public final class Gate {
    /** Which account let a message pass. */
    public enum Verdict {
        LEASED,
        KEPT,
        REFUSED
    }

    /** At most so many tokens share two readings of the clock, unless a single batch is larger. */
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
    /** Tokens that may still share these readings. */
    private int runLeft;
    /** Its open requests are cancelled before β falls, because the replies might no longer fit. */
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
     * The same for a message that is decided right after the one before, with nothing in between but the handling of
     * that one. It shares its readings of the clock, as long as the run lasts and the bucket has tokens.
     */
    public Verdict admitNext(int tokens, LongSupplier clock) {
        runLeft -= tokens;
        // admitAt may have settled a bucket at a later time.
        if (runLeft < 0 || leased.settledNs() - stampNs > 0 || kept.settledNs() - stampNs > 0) {
            return admit(tokens, clock);
        }
        Verdict taken = take(tokens, stampNs);
        Verdict passed = taken == Verdict.REFUSED ? taken : confirm(taken, readNs);
        return passed == Verdict.REFUSED ? admit(tokens, clock) : passed;
    }

    /** The next message is not decided right after the last one, so it needs readings of the clock of its own. */
    public void endRun() {
        runLeft = 0;
    }

    /**
     * The same for a message that arrived at {@code arrivalNs}, however late it is decided: it takes a token that was
     * there then, and counts at that time. But it never counts earlier than the last time at which either bucket was
     * settled, be it for another message or for a change of supply: tokens that came after the arrival, by refill or
     * from another broker, would count before they were there. An arrival in the future counts as now.
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

    /** The first half of {@link #admit}, on its own so that a simulation can pause the thread between the halves. */
    public Verdict take(int tokens, long nowNs) {
        stampNs = nowNs;
        if (lease.usable(nowNs) && leased.tryTake(tokens, nowNs)) {
            return Verdict.LEASED;
        }
        return !lease.closed() && kept.tryTake(tokens, nowNs) ? Verdict.KEPT : Verdict.REFUSED;
    }

    /** The second half: the token counts only if the lease still holds. */
    public Verdict confirm(Verdict taken, long nowNs) {
        boolean holds = taken == Verdict.LEASED ? lease.usable(nowNs) : !lease.closed();
        return holds ? taken : Verdict.REFUSED;
    }

    /**
     * After a refusal at {@code nowNs}: how long to wait, or {@link TokenBucket#NEVER} if only a change of supply
     * helps.
     */
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

    /** The clock as it was last read, never before {@link #stampNs}: when the last message was decided. */
    public long readNs() {
        return readNs;
    }

    public void add(Holding more, long nowNs) {
        runLeft = 0;
        leasedRateMicros = add(leased, leasedRateMicros, more.leased(), nowNs);
        keptRateMicros = add(kept, keptRateMicros, more.kept(), nowNs);
    }

    /**
     * {@link #remove}s what is to be handed over, burned or split anew; nothing if the lease is not
     * {@linkplain Lease#fresh fresh}. What leaves the gate can't be used until its event is stored, and a broker that
     * is cut off from the store would miss it all that time. (Seen: a broker that was cut off admitted from its kept
     * account alone, so its measured demand fell and it seemed better off than its neighbours. It removed 5 to 8% of
     * its share to hand it over, and admitted that much less than it kept.)
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

    /** Holds exactly {@code all}, at level 0: what a recovery found is all there is. */
    public void reset(Holding all, long nowNs) {
        remove(held(nowNs), nowNs);
        add(all.empty(), nowNs);
    }

    public Holding held(long nowNs) {
        return new Holding(
                new Supply(leasedRateMicros, leased.burstMicros(), leased.levelMicros(nowNs)),
                new Supply(keptRateMicros, kept.burstMicros(), kept.levelMicros(nowNs)));
    }

    /** Tokens that both buckets lack to be full: SRTM's unfinished work without what waits. */
    public long missingMicros(long nowNs) {
        return leased.burstMicros() - leased.levelMicros(nowNs) + kept.burstMicros() - kept.levelMicros(nowNs);
    }

    /** Whether neither account has a token, so that not even one message would pass. */
    public boolean empty(long nowNs) {
        return leased.levelMicros(nowNs) < Limit.MICROS && kept.levelMicros(nowNs) < Limit.MICROS;
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
        // The level goes in proportion to the burst, and all that would not fit any more goes too. The double only
        // chooses how much
        // is asked for; removeMicros answers exactly what went.
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

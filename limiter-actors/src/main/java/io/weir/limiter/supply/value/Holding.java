package io.weir.limiter.supply.value;

import io.weir.limiter.algorithm.Share;

/** Supply of one topic in both accounts. A transfer names both, so the floor travels with the share. */
public record Holding(Supply leased, Supply kept) {
    public static final Holding NONE = new Holding(Supply.NONE, Supply.NONE);

    /**
     * A share with its floor φ: φ of it kept, the rest leased, or all in one account if a part could not admit.
     *
     * @param floorPermille φ in thousandths
     */
    public static Holding of(Share share, int floorPermille) {
        long keptRate = part(share.rateMicros(), floorPermille, 1000);
        long keptBurst = part(share.burstMicros(), floorPermille, 1000);
        Supply kept = new Supply(keptRate, keptBurst, 0);
        Supply leased = new Supply(share.rateMicros() - keptRate, share.burstMicros() - keptBurst, 0);
        boolean divisible = !kept.lame() && !leased.lame();
        Supply whole = new Supply(share.rateMicros(), share.burstMicros(), 0);
        return divisible ? new Holding(leased, kept) : new Holding(whole, Supply.NONE);
    }

    public static Holding of(Account account, Supply supply) {
        return account == Account.LEASED ? new Holding(supply, Supply.NONE) : new Holding(Supply.NONE, supply);
    }

    public Supply in(Account account) {
        return account == Account.LEASED ? leased : kept;
    }

    public Holding plus(Holding other) {
        return new Holding(leased.plus(other.leased), kept.plus(other.kept));
    }

    public Holding minus(Holding other) {
        return new Holding(leased.minus(other.leased), kept.minus(other.kept));
    }

    public Holding empty() {
        return new Holding(leased.empty(), kept.empty());
    }

    public Holding full() {
        return new Holding(
                new Supply(leased.rateMicros(), leased.burstMicros(), leased.burstMicros()),
                new Supply(kept.rateMicros(), kept.burstMicros(), kept.burstMicros()));
    }

    /** The same with this level in both accounts together; as much of it as fits is in the leased one. */
    public Holding filled(long levelMicros) {
        long first = Math.min(levelMicros, leased.burstMicros());
        return new Holding(
                new Supply(leased.rateMicros(), leased.burstMicros(), first),
                new Supply(kept.rateMicros(), kept.burstMicros(), levelMicros - first));
    }

    public boolean isNone() {
        return leased.isNone() && kept.isNone();
    }

    /** Whether an account is {@linkplain Supply#lame lame}. */
    public boolean lame() {
        return leased.lame() || kept.lame();
    }

    /**
     * A rate without one message of burst in both accounts together. If no neighbour can use it either, it goes to any
     * other broker, chosen by chance, until it meets burst. Raising r where β is 0 makes such a share, and so does
     * burning. ("All or nothing" keeps transfers from making one, but not mints and burns.)
     */
    public boolean homeless() {
        return share().rateMicros() > 0 && !share().admits();
    }

    public Share share() {
        return leased.share().plus(kept.share());
    }

    /**
     * Whether its kept account is off the floor φ by more than a fifth of the share, or another split would end
     * lameness.
     */
    public boolean wantsSplit(int floorPermille) {
        Holding target = of(share(), floorPermille);
        Share all = share();
        return lame() != target.lame()
                || Math.abs(kept.rateMicros() - target.kept.rateMicros()) > all.rateMicros() / 5
                || Math.abs(kept.burstMicros() - target.kept.burstMicros()) > all.burstMicros() / 5;
    }

    /**
     * The part to move when {@code wanted} is asked for, from each account in proportion: see {@link Supply#cutFor}.
     */
    public Holding cut(Share wanted) {
        return cutFor(NONE, wanted);
    }

    /**
     * The same towards a side that holds {@code theirs}. If that were not considered, a broker with less than two
     * messages of burst would keep its rate for ever: what it is asked for is always a little less than half of it.
     */
    public Holding cutFor(Holding theirs, Share wanted) {
        Share all = share();
        long keptRate = part(kept.rateMicros(), wanted.rateMicros(), all.rateMicros());
        long keptBurst = part(kept.burstMicros(), wanted.burstMicros(), all.burstMicros());
        return new Holding(
                leased.cutFor(
                        theirs.leased.burstMicros(),
                        Math.min(wanted.rateMicros(), all.rateMicros()) - keptRate,
                        Math.min(wanted.burstMicros(), all.burstMicros()) - keptBurst),
                kept.cutFor(theirs.kept.burstMicros(), keptRate, keptBurst));
    }

    /**
     * The part to burn for a debt: as much as there is, from the leased account first. Exactly what is owed, not
     * {@link #cut}'s all or nothing: if the rest can't admit, the ring hands it on.
     */
    public Holding owed(Share debt) {
        long rate = Math.min(debt.rateMicros(), leased.rateMicros());
        long burst = Math.min(debt.burstMicros(), leased.burstMicros());
        return new Holding(
                new Supply(rate, burst, 0),
                new Supply(
                        Math.min(debt.rateMicros() - rate, kept.rateMicros()),
                        Math.min(debt.burstMicros() - burst, kept.burstMicros()),
                        0));
    }

    /**
     * amount·numerator/denominator in whole micro-tokens, at most the amount. The double only chooses how much moves.
     */
    private static long part(long amount, long numerator, long denominator) {
        if (denominator <= 0 || numerator >= denominator) {
            return amount;
        }
        return Math.min(amount, (long) ((double) amount * numerator / denominator));
    }
}

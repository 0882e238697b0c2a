package io.weir.limiter.supply.value;

import io.weir.limiter.algorithm.Share;

/**
 * What is still to be burned for a topic's version. It stays in the ledger at zero: then it is the duty to mark the version
 * done, which an heir must inherit too. (SUPPLY.md let the debt vanish at zero: a minter that died between its last
 * {@code Burned}, or the {@code Minted} of a raise, and the mark left a version that nobody could finish or claim again.)
 */
public record Debt(long version, Share remaining) {
    /**
     * What a holder sends to the one with this debt: the part of its share that must go for all to keep the same part, or all of
     * an account that could not admit with less, so that the debt always ends.
     *
     * @param limit what is to be left over all
     * @param urgency doubles the part: it is too small where much of the topic is stranded, and only the collector sees that
     */
    public Holding contribution(Holding mine, Share limit, int urgency) {
        Share all = mine.share();
        Share wanted = new Share(
                part(all.rateMicros(), remaining.rateMicros(), limit.rateMicros(), urgency),
                part(all.burstMicros(), remaining.burstMicros(), limit.burstMicros(), urgency));
        Holding cut = mine.cut(wanted);
        return cut.isNone() && !wanted.isNone() ? mine : cut;
    }

    /** Rounded up so that the last micro-token comes too; a double only chooses how much moves. */
    private static long part(long mine, long owed, long left, int urgency) {
        return owed == 0
                ? 0
                : (long) Math.min(mine, Math.ceil(Math.scalb((double) mine * owed / (owed + left), urgency)));
    }
}

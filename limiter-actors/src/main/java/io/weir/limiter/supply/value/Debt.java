package io.weir.limiter.supply.value;

import io.weir.limiter.algorithm.Share;

/**
 * What is still to be burned for a version of a topic's limit. A debt of zero stays in the ledger: it is the duty to
 * mark the version done, which an heir must inherit too. (The first design let the debt vanish at zero. A minter that
 * died after its last {@code Burned}, or after the {@code Minted} of a raise, and before the mark then left a version
 * that nobody could finish or claim again.)
 */
public record Debt(long version, Share remaining) {
    /**
     * What a holder sends to the one with this debt: the same fraction of its share as every other holder, or all of it
     * if no part can be cut off ({@link Holding#cut}). So the debt always ends.
     *
     * @param limit what is to be left in the whole cluster
     * @param urgency doubles the fraction this often: where much of the topic is stranded the fraction is too small,
     *     and only the collector sees that
     */
    public Holding contribution(Holding mine, Share limit, int urgency) {
        Share all = mine.share();
        Share wanted = new Share(
                part(all.rateMicros(), remaining.rateMicros(), limit.rateMicros(), urgency),
                part(all.burstMicros(), remaining.burstMicros(), limit.burstMicros(), urgency));
        Holding cut = mine.cut(wanted);
        return cut.isNone() && !wanted.isNone() ? mine : cut;
    }

    /**
     * Rounded up, so that the last micro-token comes too, and before it is doubled: where most is stranded, the last
     * ones would come one by one. The double only chooses how much moves.
     */
    private static long part(long mine, long owed, long left, int urgency) {
        return owed == 0
                ? 0
                : (long) Math.min(mine, Math.scalb(Math.ceil((double) mine * owed / (owed + left)), urgency));
    }
}

package io.weir.limiter.algorithm;

/**
 * What a broker asks of a topic's limit, as {@link DemandWindow} measures it.
 *
 * <p><b>Hidden demand.</b> Publishers that wait for their answers offer no more than they get. What arrives at their
 * broker then mirrors its supply, and a division in proportion to arrivals has nothing to go by: whichever broker is
 * ahead by chance stays ahead (seen: 694, 164 and 42 of 900 messages a second with the same publishers at all three).
 * So a broker at which hardly a message finds a token, for a whole window, also says how many messages wait.
 *
 * @param rate what arrived, admitted or not, in micro-tokens a second
 * @param backlog the unfinished work of SRTM's Eq. 2 at its largest, in micro-tokens
 * @param waiting how many messages waited, in millionths; {@link Estimate#NONE} unless (nearly) all that came had to
 */
public record Demand(Estimate rate, Estimate backlog, Estimate waiting) {
    public static final Demand NONE = new Demand(Estimate.NONE, Estimate.NONE, Estimate.NONE);

    /** A share that is larger than what may arrive by more than this part is not used up. */
    private static final double USED_UP = 0.99;

    /** A demand that is known, at a broker where messages find tokens. */
    public Demand(long rateMicros, long backlogMicros) {
        this(Estimate.exactly(rateMicros), Estimate.exactly(backlogMicros), Estimate.NONE);
    }

    public long rateMicros() {
        return rate.meanMicros();
    }

    public long backlogMicros() {
        return backlog.meanMicros();
    }

    /**
     * Whether it uses up this share and would use more. Messages waited for the whole window, <i>and</i> what arrives
     * and waits may be as much as the share admits in a second: one that has just been given enough is not saturated
     * any more, though its window still remembers the messages that waited. Otherwise neighbours would go on giving
     * until the window forgot.
     */
    public boolean saturates(Share share) {
        return waiting.meanMicros() > 0
                && (double) rate.mostMicros() + waiting.leastMicros() >= USED_UP * share.rateMicros();
    }

    /**
     * Whether messages waited for the whole window though the share is more than they seem to need: it came lately, or
     * they come in bursts that it can't hold. What arrives then says little about the need, so such a broker neither
     * claims nor gives rate: one to whom supply has just been given would give it back.
     */
    public boolean inDoubt(Share share) {
        return waiting.meanMicros() > 0 && !saturates(share);
    }

    /**
     * The burst that is needed at a broker with this share: where messages wait all the time nobody can tell, and what
     * is there counts as needed.
     */
    public Estimate burst(Share share) {
        long least = waiting.meanMicros() > 0 ? share.burstMicros() : 0;
        return new Estimate(
                Math.max(least, backlog.leastMicros()),
                Math.max(least, backlog.meanMicros()),
                Math.max(least, backlog.mostMicros()));
    }

    /**
     * What counts where a topic's bucket goes with its publishers: the rate that placement has put here, unless
     * certainly more arrives, and burst in proportion to it.
     *
     * @param secondsOfBurst the limit's burst over its rate
     */
    public Demand placed(long placedRateMicros, double secondsOfBurst) {
        Estimate counted = rate.leastMicros() > placedRateMicros ? rate : Estimate.exactly(placedRateMicros);
        return new Demand(counted, counted.times(secondsOfBurst), waiting);
    }

    /** Whether more arrives than this share admits: then it is not hidden how much is asked for. */
    public boolean exceeds(Share share) {
        return rate.leastMicros() > share.rateMicros();
    }

    /** The same as {@link #needMicros}, of which it is certain. */
    public long leastNeedMicros() {
        return rate.leastMicros() + waiting.leastMicros();
    }

    /** The most that may be needed at a broker with this share. */
    public Share mostNeed(Share share) {
        return new Share(rate.mostMicros(), burst(share).mostMicros());
    }

    /** How much is asked for if it must be one number: what arrives, and what would clear the line within a second. */
    public long needMicros() {
        return rate.meanMicros() + waiting.meanMicros();
    }
}

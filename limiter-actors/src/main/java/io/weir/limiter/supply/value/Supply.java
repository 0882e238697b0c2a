package io.weir.limiter.supply.value;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Share;

/**
 * Supply of one topic in one account, held or on its way: rate ρ, burst capacity β and level λ ≤ β, in micro-tokens. In
 * a ledger λ is 0: levels live at the gate and inside transfers.
 */
public record Supply(long rateMicros, long burstMicros, long levelMicros) {
    public static final Supply NONE = new Supply(0, 0, 0);

    public Supply {
        if (rateMicros < 0 || levelMicros < 0 || levelMicros > burstMicros) {
            throw new IllegalArgumentException(
                    "no supply: rate " + rateMicros + ", level " + levelMicros + " of burst " + burstMicros);
        }
    }

    public Supply plus(Supply other) {
        return new Supply(
                rateMicros + other.rateMicros, burstMicros + other.burstMicros, levelMicros + other.levelMicros);
    }

    /** Takes rate and burst away; the level of a ledger's supply is 0 on both sides. */
    Supply minus(Supply other) {
        return new Supply(rateMicros - other.rateMicros, burstMicros - other.burstMicros, 0);
    }

    Supply empty() {
        return levelMicros == 0 ? this : new Supply(rateMicros, burstMicros, 0);
    }

    public boolean isNone() {
        return rateMicros == 0 && burstMicros == 0;
    }

    /** Whether it has a rate, but less than one message of burst, so that it never admits. */
    boolean lame() {
        return rateMicros > 0 && burstMicros < Limit.MICROS;
    }

    /**
     * The part to move when a side that has {@code theirBurstMicros} wants (ρ, β). Neither side may be left lame:
     * unless the other side has a message of burst, one goes along, and one stays here. Where that is not possible,
     * everything moves (if at least half of the rate was wanted) or nothing.
     */
    Supply cutFor(long theirBurstMicros, long wantedRateMicros, long wantedBurstMicros) {
        long rate = Math.min(Math.max(0, wantedRateMicros), rateMicros);
        long burst = Math.min(Math.max(0, wantedBurstMicros), burstMicros);
        if (rate == 0 && burst == 0) {
            return NONE;
        }
        if (rate > 0 && theirBurstMicros + burst < Limit.MICROS) {
            burst = Math.min(Limit.MICROS, burstMicros);
        }
        long spare = burstMicros - Limit.MICROS;
        if (rateMicros > rate
                && burst > spare
                && spare >= 0
                && (rate == 0 || theirBurstMicros + spare >= Limit.MICROS)) {
            burst = spare;
        }
        if (rateMicros > rate && burstMicros - burst < Limit.MICROS) {
            return lame() || rate >= rateMicros - rate && rate > 0 ? empty() : NONE;
        }
        return new Supply(rate, burst, 0);
    }

    public Share share() {
        return new Share(rateMicros, burstMicros);
    }
}

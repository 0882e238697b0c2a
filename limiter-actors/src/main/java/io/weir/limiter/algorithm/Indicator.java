package io.weir.limiter.algorithm;

import io.weir.config.value.Limit;
import java.util.Locale;

/**
 * How badly a broker is served by its supply: gdrl's performance indicator q = f(C), which falls as the supply C rises.
 * GDRL moves supply until every broker has the same q.
 *
 * <p>Supply C and demand λ are micro-tokens/s. The ratios count a demand below {@link #IDLE_DEMAND_MICROS} as that, so
 * that an idle broker divides by something. Doubles are fine here: an indicator only decides how much moves, and what
 * moves is a whole number that one side loses and the other gains.
 */
public enum Indicator {
    /** q = λ − C (gdrl eq. 14), in micro-tokens/s: what is missing, so the spare bandwidth with its sign turned. */
    SPARE_BANDWIDTH {
        @Override
        public double q(long supply, long demand) {
            return (double) demand - supply;
        }

        @Override
        public double supplyPerQ(double q, long demand) {
            return 1.0;
        }

        @Override
        public double equalising(long supplyI, long demandI, long supplyJ, long demandJ) {
            return (q(supplyI, demandI) - q(supplyJ, demandJ)) / 2;
        }
    },

    /**
     * q = −S/D. Ramsden eq. (2) adds η·(S_i/D_i − S_j/D_j) to S_i, which hands supply to the side that already has more
     * of it for its demand, and diverges. The ratio rises with the supply while gdrl wants an indicator that falls, so
     * the meaning is kept and the sign turned.
     */
    FILL_RATIO {
        @Override
        public double q(long supply, long demand) {
            return -(supply / known(demand));
        }

        @Override
        public double supplyPerQ(double q, long demand) {
            return known(demand);
        }

        @Override
        public double equalising(long supplyI, long demandI, long supplyJ, long demandJ) {
            return towardsEqualRatio(supplyI, known(demandI), supplyJ, known(demandJ));
        }
    },

    /**
     * q = λ/C; a supply below one micro-token/s counts as one, so that no supply at all is very bad but not infinite.
     */
    UTILISATION {
        @Override
        public double q(long supply, long demand) {
            return known(demand) / Math.max(supply, 1L);
        }

        @Override
        public double supplyPerQ(double q, long demand) {
            return known(demand) / (q * q);
        }

        @Override
        public double equalising(long supplyI, long demandI, long supplyJ, long demandJ) {
            return towardsEqualRatio(supplyI, known(demandI), supplyJ, known(demandJ));
        }
    },

    /**
     * q = 1/(C − λ) in seconds, the mean response time of an M/M/1 queue (gdrl III-A). It is infinite at C = λ, so
     * below {@link #LEAST_SPARE_MICROS} it goes on along its tangent, which keeps gdrl's Assumption 1: falling, convex,
     * smooth.
     */
    MEAN_RESPONSE_TIME {
        @Override
        public double q(long supply, long demand) {
            double spare = ((double) supply - demand) / Limit.MICROS;
            return spare >= LEAST_SPARE ? 1 / spare : (2 - spare / LEAST_SPARE) / LEAST_SPARE;
        }

        @Override
        public double supplyPerQ(double q, long demand) {
            double spare = Math.max(LEAST_SPARE, 1 / q);
            return q <= 0 ? Double.POSITIVE_INFINITY : spare * spare * Limit.MICROS;
        }

        @Override
        public double equalising(long supplyI, long demandI, long supplyJ, long demandJ) {
            return SPARE_BANDWIDTH.equalising(supplyI, demandI, supplyJ, demandJ);
        }
    },

    /**
     * q = max(0, 1 − C/λ), the part of the demand that is refused. It is flat where nothing is refused, where gdrl's
     * Assumption 1 does not hold; there nothing needs to move, and nothing does.
     */
    DISCARD_RATE {
        @Override
        public double q(long supply, long demand) {
            return Math.max(0, 1 - supply / known(demand));
        }

        @Override
        public double supplyPerQ(double q, long demand) {
            return known(demand);
        }

        @Override
        public double equalising(long supplyI, long demandI, long supplyJ, long demandJ) {
            double ratio = towardsEqualRatio(supplyI, known(demandI), supplyJ, known(demandJ));
            return ratio > 0
                    ? Math.min(ratio, Math.max(0, demandI - supplyI))
                    : -Math.min(-ratio, Math.max(0, demandJ - supplyJ));
        }
    };

    /** What a topic goes by that chooses none. */
    public static final Indicator DEFAULT = FILL_RATIO;

    /** What a broker without demand counts as in a ratio: a message in eleven days. */
    public static final long IDLE_DEMAND_MICROS = 1;

    /** The spare bandwidth below which {@link #MEAN_RESPONSE_TIME} leaves the M/M/1 formula: one message a second. */
    public static final long LEAST_SPARE_MICROS = Limit.MICROS;

    private static final double LEAST_SPARE = LEAST_SPARE_MICROS / (double) Limit.MICROS;

    /** q_i = f_i(C_i). */
    public abstract double q(long supply, long demand);

    /** −g_i'(q), where g_i = f_i⁻¹: how much supply a small step of q is worth. */
    public abstract double supplyPerQ(double q, long demand);

    /** What would have to go from j to i (negative: from i to j) for both to have the same q. */
    public abstract double equalising(long supplyI, long demandI, long supplyJ, long demandJ);

    private static double known(long demand) {
        return Math.max(demand, IDLE_DEMAND_MICROS);
    }

    /** Exactly antisymmetric in i and j, so that both ends of an edge compute the same move. */
    private static double towardsEqualRatio(double supplyI, double demandI, double supplyJ, double demandJ) {
        return (supplyJ * demandI - supplyI * demandJ) / (demandI + demandJ);
    }

    /** For messages: "spare bandwidth". */
    public String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}

package io.weir.limiter.supply.protocol;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.algorithm.TbAdaptor;
import io.weir.limiter.supply.value.Holder;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Who hands how much to whom, so that holders get from what they have to what {@link TbAdaptor} says they should have.
 * Rate and burst go together in one transfer for each pair. It divides what the holders have in all, so it never asks
 * for more than there is.
 *
 * <p>Nothing moves that fits within the errors of the demands, nor what is not worth its write. Where a broker is
 * saturated, it is not known how much it would use, so half of what the others can spare goes at once; and a saturated
 * broker gives as little at once as on the ring.
 */
public final class AdaptorMoves {
    /** From one holder to another. */
    public record Edge(Holder from, Holder to) {}

    /** Asked for less than this part of its share, a broker can spare all of it at once. */
    private static final int IDLE_PART = 100;

    private AdaptorMoves() {}

    /** @param deadBand nothing moves while no holder differs from its target by more than this fraction of the whole */
    public static Map<Edge, Share> moves(
            List<Holder> holders, List<Share> shares, List<Demand> demands, double deadBand) {
        Share whole = shares.stream().reduce(Share.NONE, Share::plus);
        Map<Edge, Share> moves = new LinkedHashMap<>();
        if (whole.rateMicros() < Limit.MIN_RATE_MICROS || whole.burstMicros() < Limit.MICROS) {
            return moves;
        }
        TbAdaptor adaptor = new TbAdaptor(new Limit(whole.rateMicros(), whole.burstMicros()));
        List<Share> targets = adaptor.shares(shares, demands);
        long[] rateOver = new long[holders.size()];
        long[] burstOver = new long[holders.size()];
        for (int i = 0; i < rateOver.length; i++) {
            rateOver[i] = shares.get(i).rateMicros() - targets.get(i).rateMicros();
            burstOver[i] = shares.get(i).burstMicros() - targets.get(i).burstMicros();
        }
        long rateWorth = (long) (deadBand * whole.rateMicros());
        long burstWorth = Math.max(Limit.MICROS, (long) (deadBand * whole.burstMicros()));
        boolean moveRate = exceeds(rateOver, rateWorth) && !adaptor.ratesFit(shares, demands, rateWorth);
        boolean moveBurst = exceeds(burstOver, burstWorth) && !adaptor.burstsFit(shares, demands);
        // A share that admits nothing yet needs both.
        boolean moveBoth = (moveRate || moveBurst) && shares.stream().anyMatch(share -> !share.admits());
        damp(rateOver, shares, demands);
        for (int from = 0; from < rateOver.length; from++) {
            for (int to = 0; to < rateOver.length; to++) {
                Share part = new Share(
                        moveRate || moveBoth ? taken(rateOver, from, to) : 0,
                        moveBurst || moveBoth ? taken(burstOver, from, to) : 0);
                if (!part.isNone()) {
                    moves.put(new Edge(holders.get(from), holders.get(to)), part);
                }
            }
        }
        return moves;
    }

    private static boolean exceeds(long[] over, long worth) {
        for (long amount : over) {
            if (Math.abs(amount) > worth) {
                return true;
            }
        }
        return false;
    }

    private static void damp(long[] rateOver, List<Share> shares, List<Demand> demands) {
        boolean[] saturated = TbAdaptor.saturated(shares, demands);
        boolean any = false;
        for (boolean one : saturated) {
            any |= one;
        }
        for (int i = 0; any && i < rateOver.length; i++) {
            Share share = shares.get(i);
            if (rateOver[i] > 0 && saturated[i]) {
                rateOver[i] = Math.min(rateOver[i], SupplyEdge.mostOfSaturated(share));
            } else if (rateOver[i] > 0 && demands.get(i).rateMicros() > share.rateMicros() / IDLE_PART) {
                rateOver[i] /= 2;
            }
        }
    }

    /** As much of what {@code from} has over as {@code to} lacks, taken off both. */
    private static long taken(long[] over, int from, int to) {
        long part = over[from] > 0 && over[to] < 0 ? Math.min(over[from], -over[to]) : 0;
        over[from] -= part;
        over[to] += part;
        return part;
    }
}

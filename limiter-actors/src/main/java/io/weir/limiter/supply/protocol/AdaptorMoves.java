package io.weir.limiter.supply.protocol;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.TbAdaptor;
import io.weir.limiter.supply.value.Holder;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Who hands how much to whom, so that holders get from what they have to what {@link TbAdaptor} says they should have.
 * Rate and burst go together in one transfer for each pair. It divides what the holders have in all, so it never asks
 * for more than there is.
 */
public final class AdaptorMoves {
    /** From one holder to another. */
    public record Edge(Holder from, Holder to) {}

    private AdaptorMoves() {}

    /** @param deadBand nothing moves while no holder differs from its target by more than this fraction of the whole */
    public static Map<Edge, Share> moves(
            List<Holder> holders, List<Share> shares, List<Demand> demands, double deadBand) {
        Share whole = shares.stream().reduce(Share.NONE, Share::plus);
        Map<Edge, Share> moves = new LinkedHashMap<>();
        if (whole.rateMicros() < Limit.MIN_RATE_MICROS || whole.burstMicros() < Limit.MICROS) {
            return moves;
        }
        List<Share> targets = new TbAdaptor(new Limit(whole.rateMicros(), whole.burstMicros())).shares(demands);
        long[] rateOver = new long[holders.size()];
        long[] burstOver = new long[holders.size()];
        boolean worthIt = false;
        for (int i = 0; i < rateOver.length; i++) {
            rateOver[i] = shares.get(i).rateMicros() - targets.get(i).rateMicros();
            burstOver[i] = shares.get(i).burstMicros() - targets.get(i).burstMicros();
            worthIt |= Math.abs(rateOver[i]) > deadBand * whole.rateMicros()
                    || Math.abs(burstOver[i]) > Math.max(Limit.MICROS, deadBand * whole.burstMicros());
        }
        if (worthIt) {
            for (int from = 0; from < rateOver.length; from++) {
                for (int to = 0; to < rateOver.length; to++) {
                    Share part = new Share(taken(rateOver, from, to), taken(burstOver, from, to));
                    if (!part.isNone()) {
                        moves.put(new Edge(holders.get(from), holders.get(to)), part);
                    }
                }
            }
        }
        return moves;
    }

    /** As much of what {@code from} has over as {@code to} lacks, taken off both. */
    private static long taken(long[] over, int from, int to) {
        long part = over[from] > 0 && over[to] < 0 ? Math.min(over[from], -over[to]) : 0;
        over[from] -= part;
        over[to] += part;
        return part;
    }
}

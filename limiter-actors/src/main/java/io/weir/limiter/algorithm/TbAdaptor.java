package io.weir.limiter.algorithm;

import io.weir.config.value.Limit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * SRTM's TB adaptor (5.4): from what every broker reports, token rates in proportion to average message rates, ρ_l =
 * r·x_l/Σx, and bucket sizes in proportion to maximum backlogs, β_l = b·y_l/Σy. The window is the brokers'
 * ({@link DemandWindow}) and the period the caller's; the longer they are, the steadier and the slower.
 *
 * <p>Two things that the paper leaves out: every broker keeps a minimum rate and a burst of one message, so that its
 * first message after a silence is admitted; and if b has not one message for everybody, the brokers with the highest
 * rates share the limit alone, since a rate without a burst of one message admits nothing. Σρ_l = r and Σβ_l = b
 * exactly.
 */
public final class TbAdaptor {
    private final Limit limit;

    public TbAdaptor(Limit limit) {
        this.limit = limit;
    }

    /** The shares that fit these demands, in the same order. */
    public List<Share> shares(List<Demand> demands) {
        int brokers = demands.size();
        int holders = (int) Math.min(brokers, limit.burstMicros() / Limit.MICROS);
        List<Integer> chosen = IntStream.range(0, brokers)
                .boxed()
                .sorted(Comparator.comparingLong((Integer i) -> demands.get(i).rateMicros())
                        .reversed())
                .limit(holders)
                .toList();
        long[] rates = new long[holders];
        long[] backlogs = new long[holders];
        for (int i = 0; i < holders; i++) {
            rates[i] = demands.get(chosen.get(i)).rateMicros();
            backlogs[i] = demands.get(chosen.get(i)).backlogMicros();
        }
        long leastRate =
                Math.max(EdgeStep.minimumShare(limit.rateMicros(), brokers), limit.rateMicros() >= holders ? 1 : 0);
        long[] rho = inProportion(limit.rateMicros(), leastRate, rates);
        long[] beta = inProportion(limit.burstMicros(), Limit.MICROS, backlogs);
        List<Share> shares = new ArrayList<>(
                IntStream.range(0, brokers).mapToObj(i -> Share.NONE).toList());
        for (int i = 0; i < holders; i++) {
            shares.set(chosen.get(i), new Share(rho[i], beta[i]));
        }
        return shares;
    }

    /**
     * Each gets {@code least} and a part of the rest by its weight. Doubles say how large a part is; since each is cut
     * from what remains and the last takes all of that, the parts add up whatever the doubles do.
     */
    private static long[] inProportion(long whole, long least, long[] weights) {
        long[] parts = new long[weights.length];
        long remaining = whole - least * weights.length;
        double remainingWeight = 0;
        for (long weight : weights) {
            remainingWeight += weight;
        }
        for (int i = 0; i < weights.length; i++) {
            int left = weights.length - i;
            double portion = remainingWeight > 0 ? weights[i] / remainingWeight : 1.0 / left;
            long part = left == 1 ? remaining : Math.min(remaining, (long) (remaining * portion));
            parts[i] = least + part;
            remaining -= part;
            remainingWeight -= weights[i];
        }
        return parts;
    }
}

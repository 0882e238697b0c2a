package io.weir.limiter.algorithm;

import io.weir.config.value.Limit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * SRTM's TB adaptor (5.4): from what every broker reports, token rates in proportion to average message rates, ρ_l =
 * r·x_l/Σx, and bucket sizes in proportion to maximum backlogs, β_l = b·y_l/Σy. The window is the brokers'
 * ({@link DemandWindow}) and the period the caller's; the longer they are, the steadier and the slower.
 *
 * <p>What the paper leaves out:
 *
 * <ul>
 *   <li>Every broker keeps a minimum rate and a burst of one message, so that its first message after a silence is
 *       admitted; and if b has not one message for everybody, the brokers with the highest rates share the limit alone,
 *       since a rate without a burst of one message admits nothing. Σρ_l = r and Σβ_l = b exactly.
 *   <li>x and y are measured, so they have errors. {@link #ratesFit} and {@link #burstsFit} answer whether shares are
 *       what the proportions may be within them; then nothing need move. The paper's rule, run every second, lets
 *       shares follow noise.
 *   <li>Where publishers wait for their answers, x mirrors ρ, and ρ_l = r·x_l/Σx holds for <i>any</i> shares: nothing
 *       pulls them back, and a broker whose share noise has made small loses ever more. So a broker that is
 *       {@linkplain Demand#saturates saturated} gets its rate another way: the others keep what they may need, and the
 *       saturated divide the rest in proportion to the messages that wait, as {@link SupplyEdge} explains. If more
 *       arrives at all of them than they admit, demand is not hidden and x counts as in the paper.
 * </ul>
 */
public final class TbAdaptor {
    private final Limit limit;

    public TbAdaptor(Limit limit) {
        this.limit = limit;
    }

    /** The shares that fit these demands, in the same order. */
    public List<Share> shares(List<Demand> demands) {
        return shares(demands.stream().map(demand -> Share.NONE).toList(), demands);
    }

    /** The shares that fit these demands at brokers that hold {@code held}, in the same order. */
    public List<Share> shares(List<Share> held, List<Demand> demands) {
        int brokers = demands.size();
        int holders = (int) Math.min(brokers, limit.burstMicros() / Limit.MICROS);
        List<Integer> chosen = IntStream.range(0, brokers)
                .boxed()
                .sorted(Comparator.comparingLong((Integer i) -> demands.get(i).needMicros())
                        .reversed())
                .limit(holders)
                .toList();
        List<Demand> wanted = chosen.stream().map(demands::get).toList();
        List<Share> now = chosen.stream().map(held::get).toList();
        long leastRate =
                Math.max(EdgeStep.minimumShare(limit.rateMicros(), brokers), limit.rateMicros() >= holders ? 1 : 0);
        long[] rho = rates(now, wanted, leastRate);
        long[] beta = inProportion(
                limit.burstMicros(),
                Limit.MICROS,
                IntStream.range(0, holders)
                        .mapToLong(i -> wanted.get(i).burst(now.get(i)).meanMicros())
                        .toArray());
        List<Share> shares = new ArrayList<>(
                IntStream.range(0, brokers).mapToObj(i -> Share.NONE).toList());
        for (int i = 0; i < holders; i++) {
            shares.set(chosen.get(i), new Share(rho[i], beta[i]));
        }
        return shares;
    }

    private long[] rates(List<Share> held, List<Demand> demands, long least) {
        boolean[] saturated = saturated(held, demands);
        boolean any = any(saturated);
        long[] weights = new long[saturated.length];
        long[] needs = new long[saturated.length];
        long rest = limit.rateMicros();
        for (int i = 0; i < weights.length; i++) {
            Demand demand = demands.get(i);
            needs[i] = least;
            if (saturated[i]) {
                weights[i] = demand.waiting().meanMicros();
            } else if (demand.inDoubt(held.get(i))) {
                needs[i] = Math.max(least, held.get(i).rateMicros());
            } else if (any) {
                needs[i] = Math.max(least, demand.rate().mostMicros());
            } else {
                weights[i] = demand.rateMicros();
            }
            rest -= needs[i];
        }
        if (rest < 0 || Arrays.stream(weights).sum() == 0) {
            return inProportion(
                    limit.rateMicros(),
                    least,
                    demands.stream().mapToLong(Demand::rateMicros).toArray());
        }
        long[] rates = inProportion(rest, 0, weights);
        Arrays.setAll(rates, i -> rates[i] + needs[i]);
        return rates;
    }

    private static boolean any(boolean[] flags) {
        boolean any = false;
        for (boolean flag : flags) {
            any |= flag;
        }
        return any;
    }

    /** Who is saturated; nobody counts as that if demand is not hidden at any of them. */
    public static boolean[] saturated(List<Share> held, List<Demand> demands) {
        boolean[] saturated = new boolean[held.size()];
        boolean hidden = false;
        for (int i = 0; i < saturated.length; i++) {
            saturated[i] = demands.get(i).saturates(held.get(i));
            hidden |= saturated[i] && !demands.get(i).exceeds(held.get(i));
        }
        return hidden ? saturated : new boolean[saturated.length];
    }

    /** Whether all rates are what they may have to be, within the errors of the demands. */
    public boolean ratesFit(List<Share> held, List<Demand> demands, long worthMicros) {
        boolean[] saturated = saturated(held, demands);
        boolean any = any(saturated);
        List<Estimate> weights = new ArrayList<>();
        List<Long> rates = new ArrayList<>();
        long spare = 0;
        for (int i = 0; i < saturated.length; i++) {
            Demand demand = demands.get(i);
            long rate = held.get(i).rateMicros();
            if (saturated[i] || !any && !demand.inDoubt(held.get(i))) {
                weights.add(any ? demand.waiting() : demand.rate());
                rates.add(rate);
            } else if (!demand.inDoubt(held.get(i))) {
                spare += Math.max(0, rate - demand.rate().mostMicros());
            }
        }
        return spare <= worthMicros && fit(rates, weights, EdgeStep.minimumShare(limit.rateMicros(), held.size()));
    }

    /** Whether all bursts are what they may have to be, within the errors of the demands. */
    public boolean burstsFit(List<Share> held, List<Demand> demands) {
        return fit(
                held.stream().map(Share::burstMicros).toList(),
                IntStream.range(0, held.size())
                        .mapToObj(i -> demands.get(i).burst(held.get(i)))
                        .toList(),
                Limit.MICROS);
    }

    /**
     * Whether each part lies between what it would be if its own weight were as small and the others' as large as they
     * may be, and the other way round.
     */
    private static boolean fit(List<Long> parts, List<Estimate> weights, long least) {
        double whole = 0;
        double allLeast = 0;
        double allMost = 0;
        for (int i = 0; i < parts.size(); i++) {
            whole += parts.get(i) - least;
            allLeast += weights.get(i).leastMicros();
            allMost += weights.get(i).mostMicros();
        }
        for (int i = 0; i < parts.size(); i++) {
            double low = weights.get(i).leastMicros();
            double high = weights.get(i).mostMicros();
            double part = parts.get(i) - least;
            boolean tooSmall = part < whole * part(low, allMost - high);
            boolean tooLarge = allLeast - low > 0 && part > whole * part(high, allLeast - low);
            if (tooSmall || tooLarge) {
                return false;
            }
        }
        return true;
    }

    private static double part(double weight, double others) {
        return weight + others > 0 ? weight / (weight + others) : 0;
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

package io.weir.supervisor.placement.algorithm;

import io.weir.supervisor.placement.algorithm.Reason.Rule;
import java.util.Arrays;
import java.util.List;

/**
 * Steps 1 and 2 of SRTM 4.2: how many brokers, which, and how much of the topic's rate each.
 *
 * <p>Concentration sorts brokers by decreasing room and takes the smallest k whose room together holds the rate.
 * Max-min then gives each min(room, rate/k); what a broker without room for its fair share leaves over raises the fair
 * share of the others, so that the quotas add up. No quota exceeds its room.
 *
 * @param k the brokers with a quota
 * @param perBroker in messages a second, one a broker; 0 if it gets nothing
 */
public record Quotas(int k, double[] perBroker) {
    /** Room that is missing by less than this part of the rate is rounding. */
    private static final double ROUNDING = 1e-9;

    /**
     * @param room what each broker may get
     * @param load what each carries already, which {@link Policy#CONC} equalises
     * @param leastK use at least so many brokers, if so many have room
     * @param why gets what was decided
     */
    static Quotas of(
            Policy policy, double rate, double[] room, double[] load, int leastK, int round, List<Reason> why) {
        int[] byRoom = byRoom(room);
        int withRoom = byRoom.length;
        double total = 0;
        int k = 0;
        while (k < withRoom && (k < leastK || !policy.concentrates() || total < rate * (1 - ROUNDING))) {
            total += room[byRoom[k++]];
        }
        if (total < rate * (1 - ROUNDING)) {
            why.add(new Reason(round, Rule.NO_ROOM, Reason.NO_BROKER, total, rate));
        } else {
            why.add(new Reason(
                    round, policy.concentrates() ? Rule.FEWEST_BROKERS : Rule.ALL_BROKERS, Reason.NO_BROKER, k, rate));
        }
        double placed = Math.min(rate, total);
        double[] quotas = new double[room.length];
        if (policy == Policy.CONC) {
            equaliseTotals(placed, byRoom, k, room, load, quotas, round, why);
        } else {
            maximiseLeast(policy, placed, byRoom, k, room, quotas, round, why);
        }
        return new Quotas(k, quotas);
    }

    private static int[] byRoom(double[] room) {
        long[] keys = new long[room.length];
        int count = 0;
        for (int i = 0; i < room.length; i++) {
            if (room[i] > 0) {
                // As floats, whose order is that of their bits; the index breaks ties, so that the order is always the
                // same.
                keys[count++] = (long) Integer.MAX_VALUE - Float.floatToIntBits((float) room[i]) << 32 | i;
            }
        }
        Arrays.sort(keys, 0, count);
        int[] order = new int[count];
        for (int i = 0; i < count; i++) {
            order[i] = (int) keys[i];
        }
        return order;
    }

    private static void maximiseLeast(
            Policy policy,
            double rate,
            int[] byRoom,
            int k,
            double[] room,
            double[] quotas,
            int round,
            List<Reason> why) {
        double left = rate;
        for (int i = k - 1; i >= 0; i--) {
            int broker = byRoom[i];
            double fair = left / (i + 1);
            quotas[broker] = Math.min(room[broker], fair);
            left -= quotas[broker];
            if (room[broker] < fair) {
                why.add(new Reason(round, Rule.LIMITED_BY_ROOM, broker, quotas[broker], fair));
            } else if (policy.concentrates()) {
                why.add(new Reason(round, Rule.FAIR_SHARE, broker, quotas[broker], room[broker]));
            }
        }
    }

    /**
     * Water into vessels of different bottoms: the level at which load + quota is the same wherever there is a quota.
     */
    private static void equaliseTotals(
            double rate,
            int[] byRoom,
            int k,
            double[] room,
            double[] load,
            double[] quotas,
            int round,
            List<Reason> why) {
        double low = 0;
        double high = 0;
        for (int i = 0; i < k; i++) {
            high = Math.max(high, load[byRoom[i]] + room[byRoom[i]]);
        }
        for (int halving = 0; halving < 64 && low < high; halving++) {
            double level = (low + high) / 2;
            double sum = 0;
            for (int i = 0; i < k; i++) {
                sum += below(level, load[byRoom[i]], room[byRoom[i]]);
            }
            if (sum < rate) {
                low = level;
            } else {
                high = level;
            }
        }
        for (int i = 0; i < k; i++) {
            int broker = byRoom[i];
            quotas[broker] = below(high, load[broker], room[broker]);
            why.add(new Reason(round, Rule.EQUAL_TOTAL, broker, quotas[broker], high));
        }
    }

    private static double below(double level, double load, double room) {
        return Math.min(room, Math.max(0, level - load));
    }
}

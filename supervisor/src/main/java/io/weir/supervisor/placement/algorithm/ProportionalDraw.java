package io.weir.supervisor.placement.algorithm;

import java.util.Arrays;
import java.util.random.RandomGenerator;

/**
 * Divides publishers among targets: "selects publishers from each correlation group in proportion to the number of
 * publishers in the group" (SRTM 4.3). Of a group's n publishers, a target with the part f of the whole gets n·f
 * rounded down or up, never further off; who gets the rounded-up ones is whoever the groups before have left furthest
 * behind. Within a group rates are evened out by giving the fastest publishers away first.
 *
 * <p>A policy that is blind to groups draws the same way from all publishers, shuffled, as if they were one group.
 */
final class ProportionalDraw {
    private static final double WHOLE = 1e-9;

    private final TopicMembers members;
    private final double[] parts;
    private final double[] behind;
    private final double[] rateBehind;
    private final int[] slots;

    private ProportionalDraw(TopicMembers members, double[] parts) {
        this.members = members;
        this.parts = parts;
        this.behind = new double[parts.length];
        this.rateBehind = new double[parts.length];
        this.slots = new int[parts.length];
    }

    /**
     * @param pool the members to divide, ascending; shuffled if {@code mindsGroups} is false
     * @param parts each target's part of the pool; they add up to 1
     * @return the target of {@code pool[i]}, in the order that {@code pool} has afterwards
     */
    static int[] divide(TopicMembers members, int[] pool, double[] parts, boolean mindsGroups, RandomGenerator random) {
        ProportionalDraw draw = new ProportionalDraw(members, parts);
        int[] targets = new int[pool.length];
        if (!mindsGroups) {
            shuffle(pool, 0, pool.length, random);
            draw.group(pool, 0, pool.length, targets);
            return targets;
        }
        int from = 0;
        while (from < pool.length) {
            int to = from + 1;
            while (to < pool.length && members.group(pool[to]) == members.group(pool[from])) {
                to++;
            }
            // Shuffled, since the first ones would otherwise always go to the same target.
            shuffle(pool, from, to, random);
            draw.group(pool, from, to, targets);
            from = to;
        }
        return targets;
    }

    private void group(int[] pool, int from, int to, int[] targets) {
        int count = to - from;
        int given = 0;
        double rate = 0;
        boolean equal = true;
        for (int i = from; i < to; i++) {
            rate += members.rate(pool[i]);
            equal &= members.rate(pool[i]) == members.rate(pool[from]);
        }
        for (int t = 0; t < parts.length; t++) {
            slots[t] = (int) (count * parts[t] + WHOLE);
            given += slots[t];
            behind[t] += count * parts[t] - slots[t];
            rateBehind[t] += rate * parts[t];
        }
        for (; given < count; given++) {
            int next = furthestBehind(count);
            slots[next]++;
            behind[next]--;
        }
        if (equal) {
            dealEqual(pool, from, to, targets);
        } else {
            dealByRate(pool, from, to, targets);
        }
    }

    /** Among the targets whose number was rounded down; there are always more of them than publishers left over. */
    private int furthestBehind(int count) {
        int best = -1;
        for (int t = 0; t < parts.length; t++) {
            boolean roundedDown = slots[t] < count * parts[t] - WHOLE;
            if (roundedDown && (best < 0 || behind[t] > behind[best])) {
                best = t;
            }
        }
        if (best >= 0) {
            return best;
        }
        // Only if rounding of doubles has eaten the fractions: then the largest part takes it.
        best = 0;
        for (int t = 1; t < parts.length; t++) {
            best = parts[t] > parts[best] ? t : best;
        }
        return best;
    }

    private void dealEqual(int[] pool, int from, int to, int[] targets) {
        int target = 0;
        for (int i = from; i < to; i++) {
            while (slots[target] == 0) {
                target++;
            }
            give(pool, i, target, targets);
        }
    }

    private void dealByRate(int[] pool, int from, int to, int[] targets) {
        sortByRate(members, pool, from, to);
        for (int i = to - 1; i >= from; i--) {
            int best = -1;
            for (int t = 0; t < parts.length; t++) {
                if (slots[t] > 0 && (best < 0 || rateBehind[t] > rateBehind[best])) {
                    best = t;
                }
            }
            give(pool, i, best, targets);
        }
    }

    private void give(int[] pool, int at, int target, int[] targets) {
        targets[at] = target;
        slots[target]--;
        rateBehind[target] -= members.rate(pool[at]);
    }

    /** Ascending, by rates as floats; equal ones stay in their order. */
    static void sortByRate(TopicMembers members, int[] pool, int from, int to) {
        long[] keys = new long[to - from];
        int[] before = Arrays.copyOfRange(pool, from, to);
        for (int i = 0; i < keys.length; i++) {
            keys[i] = (long) Float.floatToIntBits((float) members.rate(before[i])) << 32 | i;
        }
        Arrays.sort(keys);
        for (int i = 0; i < keys.length; i++) {
            pool[from + i] = before[(int) keys[i]];
        }
    }

    private static void shuffle(int[] pool, int from, int to, RandomGenerator random) {
        for (int i = to - 1; i > from; i--) {
            int j = from + random.nextInt(i - from + 1);
            int member = pool[i];
            pool[i] = pool[j];
            pool[j] = member;
        }
    }
}

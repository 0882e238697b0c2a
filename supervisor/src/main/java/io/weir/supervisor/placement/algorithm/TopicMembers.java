package io.weir.supervisor.placement.algorithm;

import java.util.Arrays;

/**
 * One topic's publishers, numbered from 0 within the topic, sorted by group. Arrays are shared with the caller for
 * their size, and never written to.
 */
public final class TopicMembers {
    private final int[] publishers;
    private final double[] rates;
    private final double[] sizes;
    /** Where each group begins, and where the last one ends. Publishers without a group are one group, the first. */
    private final int[] groupStarts;

    private final int[] groupOf;
    private final boolean someAlone;
    private final double rate;
    private final double largest;

    private TopicMembers(
            int[] publishers, double[] rates, double[] sizes, int[] groupOf, int[] groupStarts, boolean someAlone) {
        this.publishers = publishers;
        this.rates = rates;
        this.sizes = sizes;
        this.groupOf = groupOf;
        this.groupStarts = groupStarts;
        this.someAlone = someAlone;
        double sum = 0;
        double most = 0;
        for (double each : rates) {
            sum += each;
            most = Math.max(most, each);
        }
        this.rate = sum;
        this.largest = most;
    }

    /**
     * @param publishers the caller's numbers, given back by {@link #publisher}
     * @param rates in messages a second
     * @param sizes how many messages each sends at once, on average, at least 1
     * @param groups any numbers; the same number is the same group, and a negative one no group
     */
    public static TopicMembers of(int[] publishers, double[] rates, double[] sizes, int[] groups) {
        int count = publishers.length;
        long[] order = new long[count];
        for (int i = 0; i < count; i++) {
            order[i] = (long) Math.max(groups[i], -1) << 32 | i;
        }
        Arrays.sort(order);
        int[] sorted = new int[count];
        double[] sortedRates = new double[count];
        double[] sortedSizes = new double[count];
        int[] groupOf = new int[count];
        int[] starts = new int[count + 1];
        int group = -1;
        for (int at = 0; at < count; at++) {
            int i = (int) order[at];
            if (at == 0 || order[at] >> 32 != order[at - 1] >> 32) {
                starts[++group] = at;
            }
            sorted[at] = publishers[i];
            sortedRates[at] = rates[i];
            sortedSizes[at] = sizes[i];
            groupOf[at] = group;
        }
        starts[group + 1] = count;
        return new TopicMembers(
                sorted, sortedRates, sortedSizes, groupOf, Arrays.copyOf(starts, group + 2), count > 0 && order[0] < 0);
    }

    /** Equal publishers of single messages 0…count−1 in groups of {@code groupSize} neighbours. */
    public static TopicMembers even(int count, double rate, int groupSize) {
        return even(count, rate, 1, groupSize);
    }

    /**
     * Equal publishers 0…count−1 in groups of {@code groupSize} neighbours; the last group may be smaller.
     *
     * @param size the messages that each sends at once
     */
    public static TopicMembers even(int count, double rate, double size, int groupSize) {
        int[] publishers = new int[count];
        int[] groups = new int[count];
        double[] rates = new double[count];
        double[] sizes = new double[count];
        for (int i = 0; i < count; i++) {
            publishers[i] = i;
            groups[i] = groupSize == 1 ? -1 : i / groupSize;
            rates[i] = rate;
            sizes[i] = size;
        }
        return of(publishers, rates, sizes, groups);
    }

    public int size() {
        return publishers.length;
    }

    /** The caller's number of member i. */
    public int publisher(int member) {
        return publishers[member];
    }

    public double rate(int member) {
        return rates[member];
    }

    /** How many messages it sends at once. */
    public double size(int member) {
        return sizes[member];
    }

    /** Σ of the rates. */
    public double rate() {
        return rate;
    }

    /** The largest rate of one publisher. */
    public double largest() {
        return largest;
    }

    public int groups() {
        return groupStarts.length - 1;
    }

    public int group(int member) {
        return groupOf[member];
    }

    /** Whether it is the group of those that named none: they do not send together. */
    public boolean alone(int group) {
        return someAlone && group == 0;
    }

    int groupStart(int group) {
        return groupStarts[group];
    }

    int groupEnd(int group) {
        return groupStarts[group + 1];
    }
}

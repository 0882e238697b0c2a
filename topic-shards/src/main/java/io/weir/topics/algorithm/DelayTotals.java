package io.weir.topics.algorithm;

import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What {@link DelayCounts} has counted from its beginning. Those of several brokers can be added, and an earlier one
 * subtracted from a later one: what is left is the time between them.
 *
 * @param waited messages that stood in line, rather than pass at once
 * @param sumNs all delays together
 * @param longestNs exact since the beginning; of a difference, the middle of the highest class that it has
 * @param counts a number for each class
 */
public record DelayTotals(long messages, long waited, double sumNs, long longestNs, long[] counts) {
    public static final DelayTotals NONE = new DelayTotals(0, 0, 0, 0, new long[DelayCounts.CLASSES]);

    /** As {@link #classes} gave them. */
    public static DelayTotals of(
            long messages, long waited, double sumNs, long longestNs, SortedMap<Long, Long> classes) {
        long[] counts = new long[DelayCounts.CLASSES];
        classes.forEach((fromNs, count) -> counts[DelayCounts.classOf(fromNs)] += count);
        return new DelayTotals(messages, waited, sumNs, longestNs, counts);
    }

    public DelayTotals plus(DelayTotals other) {
        long[] both = counts.clone();
        for (int i = 0; i < both.length; i++) {
            both[i] += other.counts[i];
        }
        return new DelayTotals(
                messages + other.messages,
                waited + other.waited,
                sumNs + other.sumNs,
                Math.max(longestNs, other.longestNs),
                both);
    }

    public DelayTotals minus(DelayTotals earlier) {
        long[] between = counts.clone();
        int highest = -1;
        for (int i = 0; i < between.length; i++) {
            between[i] -= earlier.counts[i];
            highest = between[i] > 0 ? i : highest;
        }
        return new DelayTotals(
                messages - earlier.messages,
                waited - earlier.waited,
                sumNs - earlier.sumNs,
                highest < 0 ? 0 : DelayCounts.middleNs(highest),
                between);
    }

    /** What the part {@code q} of the messages does not exceed, to 3%; 0 if there are none. */
    public long quantileNs(double q) {
        long rank = (long) Math.ceil(q * messages);
        long seen = 0;
        for (int i = 0; i < counts.length; i++) {
            seen += counts[i];
            if (seen > 0 && seen >= rank) {
                return DelayCounts.middleNs(i);
            }
        }
        return 0;
    }

    /** How many took at most so long; a class counts if most of it did. */
    public long within(long delayNs) {
        long within = 0;
        for (int i = 0; i < counts.length && DelayCounts.middleNs(i) <= delayNs; i++) {
            within += counts[i];
        }
        return within;
    }

    /** 0 if there are none. */
    public double meanNs() {
        return messages == 0 ? 0 : sumNs / messages;
    }

    /** The shortest delay of each class that has messages, in nanoseconds, and how many. */
    public SortedMap<Long, Long> classes() {
        SortedMap<Long, Long> classes = new TreeMap<>();
        for (int i = 0; i < counts.length; i++) {
            if (counts[i] > 0) {
                classes.put(DelayCounts.lowNs(i), counts[i]);
            }
        }
        return classes;
    }
}

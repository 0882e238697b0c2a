package io.weir.topics.algorithm;

import java.util.Arrays;

/**
 * Counts how long messages took, in classes whose widths are a sixteenth of the power of two they lie in, so that a
 * bound is met to 6%. Takes memory from the first message on only, and none later.
 */
public final class DelayCounts {
    private static final int BITS = 4;
    private static final int PER_POWER = 1 << BITS;
    /** Shorter than about a microsecond is one class: nobody has an objective there. */
    private static final int SHORTEST = 10;
    /** Longer than about 17 minutes is one class, too. */
    private static final int LONGEST = 40;

    /** How many classes there are. */
    public static final int CLASSES = (LONGEST - SHORTEST) * PER_POWER;

    private int[] counts;
    private long batches;
    private long messages;

    /** What was counted in a time: {@code counts} has a number for each class. */
    public record Window(long batches, long messages, int[] counts) {
        /** How many took longer than that; a class counts as longer if most of it is. */
        public long longerThan(long delayNs) {
            long longer = 0;
            for (int i = classOf(delayNs) + (upperHalf(delayNs) ? 1 : 0); i < counts.length; i++) {
                longer += counts[i];
            }
            return longer;
        }

        /** What the part {@code q} of the messages does not exceed; 0 if there are none. */
        public long quantileNs(double q) {
            long rank = (long) Math.ceil(q * messages);
            long seen = 0;
            for (int i = 0; i < counts.length; i++) {
                seen += counts[i];
                if (seen > 0 && seen >= rank) {
                    return middleNs(i);
                }
            }
            return 0;
        }
    }

    /** A publication passed: its messages took so long. */
    public void add(long delayNs, int count) {
        if (counts == null) {
            counts = new int[CLASSES];
        }
        counts[classOf(delayNs)] += count;
        messages += count;
        batches++;
    }

    public boolean isEmpty() {
        return messages == 0;
    }

    /** What was counted since the last call; begins anew. */
    public Window take() {
        Window window = new Window(batches, messages, counts == null ? new int[CLASSES] : counts.clone());
        if (counts != null) {
            Arrays.fill(counts, 0);
        }
        batches = 0;
        messages = 0;
        return window;
    }

    static int classOf(long delayNs) {
        if (delayNs < 1L << SHORTEST) {
            return 0;
        }
        int power = Long.SIZE - 1 - Long.numberOfLeadingZeros(delayNs);
        int within = (int) (delayNs >>> power - BITS) & PER_POWER - 1;
        return Math.min(CLASSES - 1, (power - SHORTEST) * PER_POWER + within);
    }

    private static long lowNs(int index) {
        int power = SHORTEST + index / PER_POWER;
        return index == 0 ? 0 : (long) (PER_POWER + index % PER_POWER) << power - BITS;
    }

    private static long middleNs(int index) {
        return (lowNs(index) + lowNs(index + 1)) / 2;
    }

    private static boolean upperHalf(long delayNs) {
        return delayNs >= middleNs(classOf(delayNs));
    }
}

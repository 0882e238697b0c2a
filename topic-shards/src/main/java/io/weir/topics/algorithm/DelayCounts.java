package io.weir.topics.algorithm;

/**
 * Counts how long messages took, in classes whose widths are a sixteenth of the power of two they lie in, so that a
 * bound is met to 6%, and the middle of a class is off by 3% at the most. Two readers: {@link #take} answers what came
 * since it was last called, {@link #totals} all from the beginning and takes nothing away. Takes memory from the first
 * message on, and for the first window; none later.
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

    private long[] counts;
    private long batches;
    private long messages;
    private long waited;
    /** An estimate's sum, so a double: as a long it would overflow after a day of long waits at a high rate. */
    private double sumNs;

    private long longestNs;
    /**
     * The lower halves of the counts at the last {@link #take}: no window has more than an {@code int} says, so their
     * difference is exact.
     */
    private int[] takenCounts;

    private long takenBatches;
    private long takenMessages;

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
        add(delayNs, count, false);
    }

    /** @param inLine whether they stood in line, rather than pass at once */
    public void add(long delayNs, int count, boolean inLine) {
        if (counts == null) {
            counts = new long[CLASSES];
        }
        counts[classOf(delayNs)] += count;
        messages += count;
        batches++;
        sumNs += (double) delayNs * count;
        if (delayNs > longestNs) {
            longestNs = delayNs;
        }
        if (inLine) {
            waited += count;
        }
    }

    /** Whether nothing was counted since the last {@link #take}. */
    public boolean isEmpty() {
        return messages == takenMessages;
    }

    /** What was counted since the last call. */
    public Window take() {
        int[] window = new int[CLASSES];
        if (counts != null) {
            if (takenCounts == null) {
                takenCounts = new int[CLASSES];
            }
            for (int i = 0; i < CLASSES; i++) {
                int now = (int) counts[i];
                window[i] = now - takenCounts[i];
                takenCounts[i] = now;
            }
        }
        Window taken = new Window(batches - takenBatches, messages - takenMessages, window);
        takenBatches = batches;
        takenMessages = messages;
        return taken;
    }

    /** Everything from the beginning. */
    public DelayTotals totals() {
        return new DelayTotals(messages, waited, sumNs, longestNs, counts == null ? new long[CLASSES] : counts.clone());
    }

    static int classOf(long delayNs) {
        if (delayNs < 1L << SHORTEST) {
            return 0;
        }
        int power = Long.SIZE - 1 - Long.numberOfLeadingZeros(delayNs);
        int within = (int) (delayNs >>> power - BITS) & PER_POWER - 1;
        return Math.min(CLASSES - 1, (power - SHORTEST) * PER_POWER + within);
    }

    static long lowNs(int index) {
        int power = SHORTEST + index / PER_POWER;
        return index == 0 ? 0 : (long) (PER_POWER + index % PER_POWER) << power - BITS;
    }

    static long middleNs(int index) {
        return (lowNs(index) + lowNs(index + 1)) / 2;
    }

    private static boolean upperHalf(long delayNs) {
        return delayNs >= middleNs(classOf(delayNs));
    }
}

package io.weir.limiter.workflow.algorithm;

import java.util.Arrays;

/**
 * What a shard has heard from the processes downstream, by workflow and process. A bound is held for
 * {@value #SILENT_INTERVALS} intervals without a word, then it grows by a quarter each interval, so that a process that
 * is gone does not bind for ever, and one that only was out of reach is not overrun at once. A process beyond the
 * table's size is not heard, and bounds nobody.
 */
public final class Announced {
    static final int SILENT_INTERVALS = 10;
    static final double GROWTH = 1.25;
    /** A bound that has grown by so much is none any more: 2^20, after some six seconds. */
    private static final double RELEASED = 1 << 20;

    private final LongIndex processes;
    private final Announcement[] last;
    private final double[] grown;
    private final int[] silent;
    private final int[] numbers;
    private long unheard;

    public Announced(int mostProcesses) {
        processes = new LongIndex(mostProcesses);
        last = new Announcement[mostProcesses];
        grown = new double[mostProcesses];
        silent = new int[mostProcesses];
        numbers = new int[mostProcesses];
    }

    public void heard(int workflow, int topic, int broker, Announcement announcement) {
        int number = processes.add(Edge.of(0, workflow, topic, broker));
        if (number == LongIndex.NONE) {
            unheard++;
            return;
        }
        last[number] = announcement;
        grown[number] = 1;
        silent[number] = 0;
    }

    /** An interval has passed. */
    public void interval() {
        int count = processes.numbers(numbers);
        for (int i = 0; i < count; i++) {
            int number = numbers[i];
            if (++silent[number] > SILENT_INTERVALS) {
                grown[number] *= GROWTH;
            }
            if (grown[number] > RELEASED) {
                last[number] = null;
                processes.remove(processes.key(number));
            }
        }
    }

    /** What binds along {@code edge} now, or null if nothing is known; see {@link #rate}. */
    Announcement of(long edge) {
        int number = processes.find(Edge.process(edge));
        return number == LongIndex.NONE ? null : last[number];
    }

    /** The announced rate, grown if it is old; infinite if nothing is known. */
    double rate(long edge) {
        int number = processes.find(Edge.process(edge));
        return number == LongIndex.NONE ? Double.POSITIVE_INFINITY : last[number].rate() * grown[number];
    }

    public void clear() {
        int count = processes.numbers(numbers);
        for (int i = 0; i < count; i++) {
            processes.remove(processes.key(numbers[i]));
        }
        Arrays.fill(last, null);
    }

    public int size() {
        return processes.size();
    }

    /** Announcements that found no room. */
    public long unheard() {
        return unheard;
    }
}

package io.weir.cluster.bench;

import java.util.Arrays;

/**
 * When each message of a load was written to its connection, and to which: a generator that comes late sends in bursts,
 * and what follows from those is not the brokers' fault. Written by the generator's thread, read when it is done.
 */
public final class SendLog {
    private long[] atNs;
    private int[] connections;
    private int messages;
    private int beforeMeasured;

    /** @param expected so many fit without a copy */
    public SendLog(int expected) {
        atNs = new long[expected];
        connections = new int[expected];
    }

    public void sent(int connection, int count, boolean measured, long nowNs) {
        if (messages + count > atNs.length) {
            int room = 2 * (messages + count);
            atNs = Arrays.copyOf(atNs, room);
            connections = Arrays.copyOf(connections, room);
        }
        Arrays.fill(atNs, messages, messages + count, nowNs);
        Arrays.fill(connections, messages, messages + count, connection);
        messages += count;
        if (!measured) {
            beforeMeasured = messages;
        }
    }

    public int messages() {
        return messages;
    }

    /** How many of them were of the warm-up. */
    public int beforeMeasured() {
        return beforeMeasured;
    }

    /** From the first one on. */
    public long[] timesNs() {
        long[] times = new long[messages];
        for (int i = 0; i < messages; i++) {
            times[i] = atNs[i] - atNs[0];
        }
        return times;
    }

    /** Which of so many brokers each went to, connections going round them. */
    public int[] brokers(int brokers) {
        int[] at = new int[messages];
        for (int i = 0; i < messages; i++) {
            at[i] = connections[i] % brokers;
        }
        return at;
    }
}

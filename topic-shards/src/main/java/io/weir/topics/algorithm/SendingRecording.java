package io.weir.topics.algorithm;

import io.weir.config.value.TopicName;
import java.util.Arrays;

/**
 * Who sent how much when, of one topic, at the broker where it came in. One thread writes it; when it is over, others
 * may read it. Nothing is allocated after the constructor.
 *
 * <p><b>Full</b>, it ends there and then, as if its time was over: a trace with sendings missing would promise too
 * much.
 */
public final class SendingRecording {
    /** 1.25 MiB. */
    public static final int MOST = 1 << 16;

    private final long[] publishers;
    private final long[] sinceNs;
    private final int[] messages;
    private final long forNs;
    private final TopicName topic;
    private long beganNs;
    private long beganWallNs;
    private long lengthNs;
    private int size;

    public SendingRecording(TopicName topic, int most, long forNs) {
        this.topic = topic;
        publishers = new long[most];
        sinceNs = new long[most];
        messages = new int[most];
        this.forNs = forNs;
    }

    /** @param wallNs the same moment in nanoseconds since 1970, to compare brokers' recordings by */
    public void begin(long nowNs, long wallNs) {
        beganNs = nowNs;
        beganWallNs = wallNs;
        lengthNs = forNs;
    }

    /** What one publisher sent at the same time, in one batch or several, is one sending. */
    public void sent(long publisher, int count, long arrivalNs) {
        long since = arrivalNs - beganNs;
        if (since < 0 || since >= lengthNs) {
            return;
        }
        if (size > 0 && publishers[size - 1] == publisher && sinceNs[size - 1] == since) {
            messages[size - 1] += count;
        } else if (size == publishers.length) {
            lengthNs = since;
        } else {
            publishers[size] = publisher;
            sinceNs[size] = since;
            messages[size++] = count;
        }
    }

    public boolean isOver(long nowNs) {
        return nowNs - beganNs >= lengthNs;
    }

    public TopicName topic() {
        return topic;
    }

    public long beganWallNs() {
        return beganWallNs;
    }

    /** Nothing that was sent in this time is missing. */
    public long lengthNs() {
        return lengthNs;
    }

    public int size() {
        return size;
    }

    public long[] publishers(int from, int to) {
        return Arrays.copyOfRange(publishers, from, to);
    }

    /** Since the beginning. */
    public long[] timesNs(int from, int to) {
        return Arrays.copyOfRange(sinceNs, from, to);
    }

    public int[] messages(int from, int to) {
        return Arrays.copyOfRange(messages, from, to);
    }
}

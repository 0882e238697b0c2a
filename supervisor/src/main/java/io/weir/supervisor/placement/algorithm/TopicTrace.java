package io.weir.supervisor.placement.algorithm;

/**
 * When a topic's publishers sent, as recorded while the topic was profiled: the member's number in {@link TopicMembers}
 * and how many messages at once, in the order of time.
 */
public record TopicTrace(long[] atNs, int[] member, int[] messages) {
    public TopicTrace {
        if (atNs.length != member.length || atNs.length != messages.length) {
            throw new IllegalArgumentException("a trace of " + atNs.length + " times, " + member.length
                    + " publishers and " + messages.length + " sizes");
        }
        for (int i = 1; i < atNs.length; i++) {
            if (atNs[i] < atNs[i - 1]) {
                throw new IllegalArgumentException("sending " + i + " at " + atNs[i]
                        + " ns lies before the one it follows, at " + atNs[i - 1] + " ns");
            }
        }
    }

    public int size() {
        return atNs.length;
    }
}

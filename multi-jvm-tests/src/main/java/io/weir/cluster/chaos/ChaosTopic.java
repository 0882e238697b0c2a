package io.weir.cluster.chaos;

import io.weir.supervisor.node.TopicRequest;
import java.util.List;

/**
 * A topic of a chaos run.
 *
 * @param adapt how its shares follow demand
 */
record ChaosTopic(String name, double rate, double burst, String adapt) {
    /** Longer than any wait under load, shorter than what a client waits for. */
    private static final long MAX_DELAY_MS = 4_000;

    private static final double EMPTIED_WITHIN_S = 15;

    /**
     * Some hundred messages a second in all, which two cores carry beside faults. What a bucket holds differs from a
     * part of a second's worth to five times W: that an heir begins with a full one shows only where b/r is far above
     * W.
     */
    static final List<ChaosTopic> ALL = List.of(
            new ChaosTopic("busy", 150, 75, "gossip"),
            new ChaosTopic("adaptive", 60, 60, "adaptor"),
            new ChaosTopic("even", 24, 160, "gossip"),
            new ChaosTopic("deep", 12, 400, "gossip"));

    /** Messages a second that use up the limit and, within a quarter of a minute, a full bucket. */
    double pressure() {
        return rate + burst / EMPTIED_WITHIN_S;
    }

    TopicRequest request(double floor) {
        return new TopicRequest(rate, burst, adapt, floor, "shape", MAX_DELAY_MS, null, null, null, null);
    }
}

package io.weir.supervisor.placement;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.Policy;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What placement keeps in the store. A call blocks for at most the time that the implementation was given and then
 * throws.
 */
public interface Decisions {
    /** What changed after {@code after}, oldest first. */
    record Changes(long upTo, List<Decision> decisions) {}

    /**
     * What a broker can carry, as calibration found it.
     *
     * @param messagesPerSecond at its objective
     * @param objectiveNs at which it was measured
     * @param measuredAtMs since 1970
     * @param singlesPerSecond that it carries at most, one by one
     * @param batchedPerSecond that it carries at most, in batches of {@code batch}
     * @param loneNs that a message takes on an idle broker
     */
    record Capacity(
            BrokerId broker,
            double messagesPerSecond,
            long objectiveNs,
            long measuredAtMs,
            double singlesPerSecond,
            double batchedPerSecond,
            int batch,
            long loneNs) {
        public Capacity {
            check("capacity", messagesPerSecond);
            check("rate of single messages", singlesPerSecond);
            check("rate of batched messages", batchedPerSecond);
            if (batch < 1 || loneNs < 0 || objectiveNs <= 0) {
                throw new IllegalArgumentException("a batch of " + batch + " messages, a lone message's " + loneNs
                        + " ns or an objective of " + objectiveNs + " ns is impossible");
            }
        }

        private static void check(String what, double rate) {
            if (!(rate > 0 && rate <= 1e9)) {
                throw new IllegalArgumentException(
                        "a " + what + " of " + rate + " messages a second is not above 0 and at most 1e9");
            }
        }
    }

    /**
     * A publisher that said who it is.
     *
     * @param id {@link io.weir.transport.gateway.Publisher#NOBODY}: somebody without a name, who is not kept; the topic
     *     is
     * @param rate messages a second that it is going to publish; 0 if it did not say
     * @param group empty if it did not say
     * @param asked whether somebody registered it beforehand; else it said so as it published
     * @param renewedAtMs since 1970
     */
    record Registered(TopicName topic, long id, double rate, String group, boolean asked, long renewedAtMs) {}

    /**
     * The topics that have registered publishers.
     *
     * @param number grows with every change of registrations
     */
    record RegisteredTopics(long number, Set<TopicName> topics) {}

    /** Writes a decision if the one that is there has this revision (0: none is); answers whether it did. */
    boolean replace(long expectedRevision, Decision decision);

    /** Every decision that was written after {@code after}, a number that an earlier answer gave, or 0 for all. */
    Changes after(long after);

    Optional<Decision> get(TopicName topic);

    void calibrated(Capacity capacity);

    List<Capacity> capacities();

    /** A topic's own objective, in nanoseconds; 0 takes it away. */
    void objective(TopicName topic, long objectiveNs);

    Map<TopicName, Long> objectives();

    /** A topic's own policy; empty takes it away. */
    void policy(TopicName topic, Optional<Policy> policy);

    Map<TopicName, Policy> policies();

    /** Writes registrations, and takes others away, all at once or none. */
    void register(List<Registered> put, List<Registered> gone);

    List<Registered> registrations();

    /** Empty if nothing has changed since it answered that number; 0 is never answered. */
    Optional<RegisteredTopics> registeredTopics(long known);
}

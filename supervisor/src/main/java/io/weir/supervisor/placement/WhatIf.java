package io.weir.supervisor.placement;

import io.weir.config.CrossesNodes;
import java.util.List;

/**
 * A question to the placement that changes nothing: how would it be, if?
 *
 * @param topic one, or null for all
 * @param policy null for the one that is in use
 * @param more so many brokers more, of the usual capacity
 * @param without these brokers
 * @param capacity of every broker, in messages a second; null: as they are
 * @param load all rates times this
 */
public record WhatIf(String topic, String policy, int more, List<String> without, Double capacity, double load)
        implements CrossesNodes {
    private static final int MOST_BROKERS = 1_000;

    public WhatIf {
        without = without == null ? List.of() : List.copyOf(without);
        if (more < 0 || more > MOST_BROKERS) {
            throw new IllegalArgumentException(more + " brokers more is not between 0 and " + MOST_BROKERS);
        }
        if (!(load > 0 && load <= 1e6)) {
            throw new IllegalArgumentException("a load of " + load + " times is not above 0 and at most 1,000,000");
        }
        if (capacity != null && !(capacity > 0 && capacity <= 1e9)) {
            throw new IllegalArgumentException(
                    "a capacity of " + capacity + " messages a second is not above 0 and at most 1e9");
        }
    }

    /**
     * The answer.
     *
     * @param problem why there is none; null if there is
     */
    public record Plan(
            String problem, String policy, int brokers, int unplaced, double unplacedRate, List<OfTopic> topics)
            implements CrossesNodes {}

    /**
     * A topic in it.
     *
     * @param brokersNow that it uses
     * @param brokersThen that it would
     * @param parts its rate at each
     * @param reasons of one topic only
     */
    public record OfTopic(
            String topic,
            int publishers,
            double rate,
            int brokersNow,
            int brokersThen,
            int unplaced,
            double unplacedRate,
            List<Part> parts,
            List<String> reasons) {}

    /** What a broker would have of it. */
    public record Part(String broker, int publishers, double rate) {}
}

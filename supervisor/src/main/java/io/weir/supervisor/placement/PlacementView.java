package io.weir.supervisor.placement;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.weir.config.CrossesNodes;
import java.util.List;

/**
 * Placement as operators see it: brokers, and topics with their parts.
 *
 * @param decidedBy the singleton that answered
 * @param next the topic after which to go on; null: there are no more
 */
public record PlacementView(
        String policy, String decidedBy, int publishers, List<OfBroker> brokers, List<OfTopic> topics, String next)
        implements CrossesNodes {

    /**
     * A broker; rates in messages a second.
     *
     * @param capacity what it is believed to carry at its objective
     * @param calibrated whether that was measured
     * @param overrated whether it turned out to carry much less than it was believed to
     */
    public record OfBroker(
            String broker, double capacity, double allocated, double room, boolean calibrated, boolean overrated) {}

    /**
     * A topic.
     *
     * @param state that of {@link Decision.State}, or UNPLACED before the first decision
     * @param unplaced publishers that no broker has room for
     * @param waiting publishers that came and have not been placed yet
     * @param refusals what publishers said that can't be
     * @param foundGroups how many groups of publishers were found to send together
     * @param groups the largest groups, told and found; empty in a list
     * @param reasons empty in a list
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record OfTopic(
            String topic,
            String state,
            String policy,
            long revision,
            String decidedBy,
            String trigger,
            int rounds,
            double objectiveMs,
            int publishers,
            double rate,
            int unplaced,
            double unplacedRate,
            int waiting,
            List<OfPart> brokers,
            List<String> refusals,
            int foundGroups,
            List<OfGroup> groups,
            List<String> reasons) {}

    /**
     * Publishers that send together: because they said so, or because that is what they were seen to do.
     *
     * @param group the key that they gave, or {@code found-} and a number
     * @param found whether it was found; else it was told
     * @param together how many of them were found to send together: of a key, the most that are in one found group
     * @param placedBy how many of them are placed by this group: those that gave a key are placed by that
     */
    public record OfGroup(String group, boolean found, int publishers, double rate, int together, int placedBy) {}

    /**
     * A topic at one broker.
     *
     * @param rate of its publishers
     * @param quota what it was meant to get
     * @param groups how many groups have publishers there
     * @param predictedP99Ms null where brokers are not calibrated
     * @param measuredP99Ms of the last half minute, from arrival at the cluster until a consumer had the message, or
     *     could have had it if one had been free: what the topic is placed by; null where nothing was measured
     * @param measuredRate messages that passed the limit there
     * @param accessP99Ms of the same time, from arrival to passing the limit
     * @param lateRate messages a second that waited at that broker for a consumer
     * @param lateP99Ms of those, from arrival until a consumer had them; null where there were none
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record OfPart(
            String broker,
            int publishers,
            double rate,
            double quota,
            int groups,
            Double predictedP99Ms,
            Double measuredP99Ms,
            double measuredRate,
            Double accessP99Ms,
            double lateRate,
            Double lateP99Ms) {}
}

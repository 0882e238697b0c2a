package io.weir.limiter.supply.protocol;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.Transfer;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What one holder's {@link SupplyNode} tells another's. Any of it may be lost, repeated, overtaken or late: transfers are sent until
 * they are acknowledged and credited once, and whoever says anything else says it again.
 */
public sealed interface PeerMessage extends Input {
    /** A transfer, perhaps not for the first time; {@code sender} is its origin, or that one's heir. */
    record Sent(Transfer transfer, Holder sender) implements PeerMessage {}

    /** {@code to}'s transfer, own or adopted, is credited. */
    record Acknowledged(Transfer.Id transfer, Holder to) implements PeerMessage {}

    /** What a broker holds of one topic, and what is asked of it. */
    record Told(TopicName topic, Holding share, Demand demand) {}

    /** GDRL's indicators of all topics that a round tells of. */
    record Indicators(Holder from, List<Told> told) implements PeerMessage {}

    /** The collector has a debt to burn and asks for everybody's part of it. */
    record Collect(TopicName topic, Debt debt, int urgency, Holder collector) implements PeerMessage {}

    /** The TB adaptor wants supply moved. */
    record Give(Holder from, Holder to, Map<TopicName, Share> parts) implements PeerMessage {}

    /** The sweeper's host asks which of these closed holders its receiver may still have to look up. */
    record NeedsOf(long round, Set<Holder> closed, Holder asker) implements PeerMessage {}

    /** Of the {@code asked}, {@code still} are needed by {@code from}. */
    record Needed(Holder from, long round, Set<Holder> asked, Set<Holder> still) implements PeerMessage {}
}

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
 * What one holder's {@link SupplyNode} tells another's. Any message may be lost, repeated, overtaken or late. A
 * transfer is sent until it is acknowledged, and credited once; every other message is repeated sooner or later.
 */
public sealed interface PeerMessage extends Input {
    /** A transfer, perhaps not for the first time; {@code sender} is its origin, or that one's heir. */
    record Sent(Transfer transfer, Holder sender) implements PeerMessage {}

    /** {@code to}'s transfer, own or adopted, is credited. */
    record Acknowledged(Transfer.Id transfer, Holder to) implements PeerMessage {}

    /**
     * One topic at one broker: what it holds, and what is asked of it.
     *
     * @param reserve whether its best buddy is to keep a {@link Reserve} for it
     */
    record ShareAndDemand(TopicName topic, Holding share, Demand demand, boolean reserve) {}

    /** GDRL's indicators: a round's news of all topics. */
    record Indicators(Holder from, List<ShareAndDemand> topics) implements PeerMessage {}

    /** The collector has a debt to burn and asks every holder for its part of it. */
    record Collect(TopicName topic, Debt debt, int urgency, Holder collector) implements PeerMessage {}

    /** The TB adaptor orders {@code from} to give these parts to {@code to}. */
    record Give(Holder from, Holder to, Map<TopicName, Share> parts) implements PeerMessage {}

    /** The sweeper's host asks: which of these closed holders' journals may you still have to read? */
    record NeedsOf(long round, Set<Holder> closed, Holder asker) implements PeerMessage {}

    /** Answers {@link NeedsOf}: of the {@code asked}, {@code from} may still need {@code still}. */
    record Needed(Holder from, long round, Set<Holder> asked, Set<Holder> still) implements PeerMessage {}
}

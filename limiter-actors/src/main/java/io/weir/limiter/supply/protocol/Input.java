package io.weir.limiter.supply.protocol;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.value.GateSample;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Everything that can be fed to a {@link SupplyNode}: what peers say ({@link PeerMessage}), that something is due, and
 * the answers to its {@link Effect}s. Each effect that asks for an answer gets exactly one of those named beside it, or
 * the node ends.
 */
public sealed interface Input permits PeerMessage, Input.Due, Input.Answer, Input.Members, Input.Placed {
    /** It is time for something. */
    sealed interface Due extends Input {}

    /** The first input, after the journal was replayed; {@code life} differs from that of any former node. */
    record Begin(long life) implements Due {}

    /** Due after {@link Committed} whenever {@link SupplyNode#hasMore}. */
    record GoOn() implements Due {}

    /** Due when {@link Effect.LookAfter} says. */
    record LookDue() implements Due {}

    /**
     * This process has inserted these first versions, of which this holder is the minter; the store has confirmed it,
     * so it need not look first.
     */
    record Inserted(List<LimitRow> rows) implements Due {}

    /** What collectors asked for one by one, together: {@link PeerMessage.Collect}. */
    record Collects(List<PeerMessage.Collect> requests) implements Due {}

    /** Something in the rows is new: look at once. */
    record LookNow() implements Due {}

    /** Every {@link ProtocolTimes#roundNs}. */
    record RoundDue() implements Due {}

    /** Every {@link ProtocolTimes#resendNs}. */
    record ResendDue() implements Due {}

    /**
     * Every {@link ProtocolTimes#sweepNs} where the sweeper runs: take on what all others left, since nobody comes
     * after.
     */
    record SweepDue() implements Due {}

    /** The brokers that messages can reach. It does not say who is live: the leases' rows do. */
    record Members(Set<BrokerId> reachable) implements Input {}

    /**
     * What placement has put at this broker, in micro-tokens/s: all topics that it has placed, also those of which
     * nobody publishes here.
     */
    record Placed(Map<TopicName, Long> rates) implements Input {}

    /** What became of an effect. */
    sealed interface Answer extends Input {}

    /** {@link Effect.RemoveAtGate}: what was removed. */
    record Removed(Map<TopicName, Holding> holdings) implements Answer {}

    /** {@link Effect.SampleGates}: every gate that had arrivals lately. */
    record Sampled(long sequence, List<GateSample> samples) implements Answer {}

    /** {@link Effect.SampleGates}: the gates did not answer. */
    record SampleFailed() implements Answer {}

    /** {@link Effect.Append}: it is stored. Any other outcome ends the node: its journal says what is true. */
    record Committed(SupplyEvent event) implements Answer {}

    /** {@link Effect.ReadRows}. */
    record Looked(List<LeaseRow> rows, long limitsUpTo, List<LimitRow> limits) implements Answer {}

    /** {@link Effect.ReadRows}: the store did not answer. */
    record LookFailed() implements Answer {}

    /**
     * {@link Effect.Fence}, {@link Effect.Claim} or {@link Effect.MarkInherited}: carried out, or its condition did not
     * hold.
     */
    record StepDone(Holder victim) implements Answer {}

    /** {@link Effect.ReadVictim}: the journal as well if that was asked for. */
    record VictimRead(LeaseRow row, Optional<Ledger> journal) implements Answer {}

    /** The outcome of a step is unknown, or the victim could not be read. */
    record StepFailed(Holder victim) implements Answer {}

    /** {@link Effect.ReadJournal}. */
    record JournalRead(Ledger ledger) implements Answer {}

    /** {@link Effect.ReadJournal}: the replay did not come to an end. */
    record JournalUnread(Holder of) implements Answer {}

    /** {@link Effect.ReadClosed}. */
    record ClosedRead(List<Holder> closed) implements Answer {}

    /** {@link Effect.Forget}. */
    record Forgotten(Retention.Removal removal) implements Answer {}
}

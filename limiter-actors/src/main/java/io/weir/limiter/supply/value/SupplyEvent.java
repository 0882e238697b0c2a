package io.weir.limiter.supply.value;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** An event of a holder's journal. It is appended under the next sequence number, which only one writer can win. */
public sealed interface SupplyEvent {
    /** Creates what a version adds to a topic's limit, and the debt of what it takes away. */
    record Minted(TopicName topic, long version, Holding minted, Share debt) implements SupplyEvent {}

    /** A transfer leaves: already removed at the gate, and sent once this is stored. */
    record Debited(Transfer transfer) implements SupplyEvent {}

    /** A transfer arrived: used at the gate and acknowledged once this is stored. */
    record Credited(Transfer transfer) implements SupplyEvent {}

    /** An open transfer, own or adopted, comes back: its destination's journal is closed and lacks the credit. */
    record Refunded(Transfer.Id transfer) implements SupplyEvent {}

    /**
     * An open transfer is known to be credited. Nothing depends on this event; without it a transfer that has arrived
     * would be adopted by heir after heir for ever.
     */
    record Delivered(Transfer.Id transfer) implements SupplyEvent {}

    /** One account of a victim whose journal is closed; open transfers and debts come with the leased account. */
    record Inherited(
            Holder victim,
            Account account,
            Map<TopicName, Supply> shares,
            List<Transfer> openTransfers,
            Map<TopicName, Debt> debts)
            implements SupplyEvent {}

    /** Supply is destroyed for a version's debt: already removed at the gate. */
    record Burned(TopicName topic, long version, Holding burned) implements SupplyEvent {}

    /**
     * A topic's share is split between the accounts like this now; already removed at the gate. The first design had no
     * such event: there a floor can't change, and burning can leave an account with a rate and less than one message of
     * burst though both accounts together could admit.
     */
    record Refloored(TopicName topic, Holding split) implements SupplyEvent {}

    /** A later life of the same incarnation's ledger has taken over, and may use what the journal says from here on. */
    record Recovered(long life) implements SupplyEvent {}

    /** The last event of a journal. */
    record Fenced(Holder by) implements SupplyEvent {}

    /** The topics whose shares this event changes, except those of a refund. */
    default Set<TopicName> topics() {
        if (this instanceof Minted e) {
            return Set.of(e.topic());
        }
        if (this instanceof Debited e) {
            return e.transfer().holdings().keySet();
        }
        if (this instanceof Credited e) {
            return e.transfer().holdings().keySet();
        }
        if (this instanceof Inherited e) {
            return e.shares().keySet();
        }
        if (this instanceof Burned e) {
            return Set.of(e.topic());
        }
        return this instanceof Refloored e ? Set.of(e.topic()) : Set.of();
    }
}

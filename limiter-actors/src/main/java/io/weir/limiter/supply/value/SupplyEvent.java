package io.weir.limiter.supply.value;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.protocol.Bookkeeper;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What a holder's journal is made of. Each is appended under the next sequence number, which only one writer can win. */
public sealed interface SupplyEvent {
    /** Creates supply for a version of a topic's limit, and the debt of what that version lowers. */
    record Minted(TopicName topic, long version, Holding minted, Share debt) implements SupplyEvent {}

    /** Already removed at the gate; the transfer may be sent once this is stored. */
    record Debited(Transfer transfer) implements SupplyEvent {}

    /** To be used at the gate, and acknowledged, once this is stored. */
    record Credited(Transfer transfer) implements SupplyEvent {}

    /** An open transfer, own or adopted, comes back: its destination's journal is closed and lacks the credit. */
    record Refunded(Transfer.Id transfer) implements SupplyEvent {}

    /**
     * An open transfer is known to be credited. Nothing depends on it: it keeps what has arrived from being adopted by heir
     * after heir for ever.
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

    /** Already removed at the gate. */
    record Burned(TopicName topic, long version, Holding burned) implements SupplyEvent {}

    /**
     * What the holder has of a topic lies in its accounts like this now; already removed at the gate. Not in SUPPLY.md,
     * which cannot change a floor, and where burning can leave an account a rate without the burst of one message, though
     * both accounts together could admit.
     */
    record Refloored(TopicName topic, Holding split) implements SupplyEvent {}

    /** A later life of the same incarnation's actor has taken over; see {@link Bookkeeper#recover}. */
    record Recovered(long life) implements SupplyEvent {}

    /** The last event of a journal. */
    record Fenced(Holder by) implements SupplyEvent {}

    /** The topics of which it changes what the holder has. */
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

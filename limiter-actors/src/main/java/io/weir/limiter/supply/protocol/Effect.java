package io.weir.limiter.supply.protocol;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.Transfer;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a {@link SupplyNode} wants done. A list of effects is carried out in its order; an {@link Append} is the last of
 * its list. A crash may fall between any two. {@link Input} has the answers.
 */
public sealed interface Effect {
    // ---- at the gates

    /** Remove up to this, and answer {@link Input.Removed}. */
    record RemoveAtGate(Map<TopicName, Holding> wanted) implements Effect {}

    /** Give this to the gate: it is stored, so it may be used. */
    record AddAtGate(Map<TopicName, Holding> more) implements Effect {}

    /** Let the gate hold exactly this, at level 0. */
    record ResetGate(Map<TopicName, Holding> all) implements Effect {}

    /** Close the gate for ever: the journal is closed. */
    record CloseGate() implements Effect {}

    /** Sample the gates; answer {@link Input.Sampled} with the same sequence number, or {@link Input.SampleFailed}. */
    record SampleGates(long sequence) implements Effect {}

    // ---- the own journal

    /**
     * Append under this sequence number and those after it, all events or none; answer {@link Input.Committed} for each
     * in their order, or end the node.
     */
    record Append(long sequence, List<SupplyEvent> events) implements Effect {
        public Append(long sequence, SupplyEvent event) {
            this(sequence, List.of(event));
        }

        /** The first one. */
        public SupplyEvent event() {
            return events.get(0);
        }
    }

    // ---- to peers

    /** Send to {@code transfer.id().to()}, which may be this holder itself. */
    record Send(Transfer transfer) implements Effect {}

    /** Tell whoever sent the transfer that it is credited. */
    record Acknowledge(Transfer.Id transfer, Holder to) implements Effect {}

    /** Tell another broker something; if the message is lost, a later one says it again. */
    record Tell(BrokerId to, PeerMessage message) implements Effect {}

    // ---- rows

    /** Read all rows; answer {@link Input.Looked} or {@link Input.LookFailed}. */
    record ReadRows(long limitsAfter) implements Effect {}

    /** Feed {@link Input.LookDue} after this delay. */
    record LookAfter(long delayNs) implements Effect {}

    /** {@link LimitRow#finished}; repeated until the row says so. */
    record MarkDone(TopicName topic, long version) implements Effect {}

    /** {@link LimitRow#claim} for this holder; if the answer is lost, a later sweep repeats it. */
    record ClaimMint(TopicName topic, long version, Optional<Holder> expected) implements Effect {}

    // ---- a victim, in steps that are answered by StepDone, VictimRead or StepFailed

    /** {@link LeaseRow#fence}. */
    record Fence(Holder victim, long observedRenewSeq) implements Effect {}

    /**
     * Read the row, and then the journal if {@code journalToo}. If the row is not LIVE and the journal is open, close
     * it in this holder's name. If another event takes that sequence number first, the answer is
     * {@link Input.StepFailed}.
     */
    record ReadVictim(Holder victim, boolean journalToo) implements Effect {}

    /** {@link LeaseRow#claim} for this holder. */
    record Claim(Holder victim, Account account, Optional<Holder> expected) implements Effect {}

    /** {@link LeaseRow#done}. */
    record MarkInherited(Holder victim, Account account) implements Effect {}

    // ---- others' journals

    /** Answer {@link Input.JournalRead} or {@link Input.JournalUnread}. */
    record ReadJournal(Holder of) implements Effect {}

    // ---- what nobody needs any more

    /** Read at most so many closed holders; answer {@link Input.ClosedRead}, or nothing. */
    record ReadClosed(int most) implements Effect {}

    /**
     * Remove it unless the store finds a reason against it; answer {@link Input.Forgotten} in both cases, or nothing.
     */
    record Forget(Retention.Removal removal) implements Effect {}

    // ---- a broken invariant

    /** Report that something was seen which the protocol excludes. */
    record Violated(String what) implements Effect {}
}

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
import java.util.Map;
import java.util.Optional;

/**
 * What a {@link SupplyNode} wants done, in the order given; an {@link Append} is the last of its list. A crash may fall between any
 * two. {@link Input} has the answers.
 */
public sealed interface Effect {
    // ---- at the gates

    /** Remove, and answer {@link Input.Removed}. */
    record RemoveAtGate(Map<TopicName, Holding> wanted) implements Effect {}

    /** Stored, so the gate may use it. */
    record AddAtGate(Map<TopicName, Holding> more) implements Effect {}

    /** What the gate holds is exactly this, at level 0. */
    record ResetGate(Map<TopicName, Holding> all) implements Effect {}

    /** Close the gate for ever: the journal is. */
    record CloseGate() implements Effect {}

    /** Look at the gates, and answer {@link Input.Sampled} with the same number, or {@link Input.SampleFailed}. */
    record SampleGates(long sequence) implements Effect {}

    // ---- the own journal

    /** Append under this number; answer {@link Input.Committed}, or end. */
    record Append(long sequence, SupplyEvent event) implements Effect {}

    // ---- to peers

    /** Send to {@code transfer.id().to()}, which may be this holder itself. */
    record Send(Transfer transfer) implements Effect {}

    /** Tell whoever sent the transfer that it is credited. */
    record Acknowledge(Transfer.Id transfer, Holder to) implements Effect {}

    /** Tell another broker something that it will be told again. */
    record Tell(BrokerId to, PeerMessage message) implements Effect {}

    // ---- rows

    /** Read all rows; answer {@link Input.Looked} or {@link Input.LookFailed}. */
    record ReadRows(long limitsAfter) implements Effect {}

    /** {@link Input.LookDue} is due after so long. */
    record LookAfter(long delayNs) implements Effect {}

    /** {@link LimitRow#finished}; said again as long as it may be unknown. */
    record MarkDone(TopicName topic, long version) implements Effect {}

    /** {@link LimitRow#claim} for this holder; tried again as long as it may be unknown. */
    record ClaimMint(TopicName topic, long version, Optional<Holder> expected) implements Effect {}

    // ---- a victim, in steps that are answered by StepDone, VictimRead or StepFailed

    /** {@link LeaseRow#fence}. */
    record Fence(Holder victim, long observedRenewSeq) implements Effect {}

    /**
     * Read the row and then, unless it is known and closed, the journal. An open journal is closed in this holder's name if the row is
     * not LIVE; met by another event there, nothing is known.
     */
    record ReadVictim(Holder victim, boolean journalToo) implements Effect {}

    /** {@link LeaseRow#claim} for this holder. */
    record Claim(Holder victim, Account account, Optional<Holder> expected) implements Effect {}

    /** {@link LeaseRow#done}. */
    record MarkInherited(Holder victim, Account account) implements Effect {}

    // ---- others' journals

    /** Answer {@link Input.JournalRead} or {@link Input.JournalUnread}. */
    record ReadJournal(Holder of) implements Effect {}

    // ---- what nothing can need any more

    /** At most so many of the closed holders; answer {@link Input.ClosedRead}, or nothing. */
    record ReadClosed(int most) implements Effect {}

    /** Answer {@link Input.Forgotten} when it is gone or may not be, or nothing. */
    record Forget(Retention.Removal removal) implements Effect {}

    // ---- what must not be

    /** Something that the protocol excludes was seen. */
    record Violated(String what) implements Effect {}
}

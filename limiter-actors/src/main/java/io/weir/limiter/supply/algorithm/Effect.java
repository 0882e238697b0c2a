package io.weir.limiter.supply.algorithm;

import io.weir.config.value.TopicName;
import java.util.Map;

/** What a {@link Bookkeeper} wants done, in the order given. A crash may fall between any two. */
public sealed interface Effect {
    /** Remove at the gate, and answer {@link Bookkeeper#removed} with what was. */
    record RemoveAtGate(Map<TopicName, Holding> wanted) implements Effect {}

    /** Stored, so the gate may use it. */
    record AddAtGate(Map<TopicName, Holding> more) implements Effect {}

    /** What the gate holds is exactly this, at level 0. */
    record ResetGate(Map<TopicName, Holding> all) implements Effect {}

    /** Close the gate for ever: the journal is. */
    record CloseGate() implements Effect {}

    /** Append under this number; answer {@code committed}, {@code met} or {@code unknown}. */
    record Append(long sequence, SupplyEvent event) implements Effect {}

    /** Send to {@code transfer.id().to()}, which may be this holder itself. */
    record Send(Transfer transfer) implements Effect {}

    /** Tell whoever sent the transfer that it is credited. */
    record Acknowledge(Transfer.Id transfer, Holder to) implements Effect {}

    /** Mark the topic's version done in the store. */
    record MarkDone(TopicName topic, long version) implements Effect {}
}

package io.weir.limiter.supply.actor;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** What a broker's supply did since its process started; written by its actors, read by metrics. */
public final class SupplyCounters {
    public final AtomicLong rounds = new AtomicLong();
    /** What the supply actors of this broker told those of others, and themselves. */
    public final AtomicLong messages = new AtomicLong();

    public final AtomicLong sent = new AtomicLong();
    public final AtomicLong received = new AtomicLong();
    public final AtomicLong refunded = new AtomicLong();
    public final AtomicLong inheritances = new AtomicLong();
    public final AtomicLong mints = new AtomicLong();
    public final AtomicLong ledgerRestarts = new AtomicLong();
    /** Something that the protocol excludes was seen to happen; must stay 0. */
    public final AtomicLong violations = new AtomicLong();

    /** A topic that something arrived for lately, as of the last round. */
    public record Busy(TopicName topic, Share share, long levelMicros, long demandMicros) {}

    private volatile Map<TopicName, Share> stranded = Map.of();
    private volatile List<Busy> busy = List.of();

    public List<Busy> busy() {
        return busy;
    }

    void busy(List<Busy> now) {
        busy = now;
    }

    /** What holders that stopped, or are cut off, still have, as far as this broker knows. */
    public Map<TopicName, Share> stranded() {
        return stranded;
    }

    void stranded(Map<TopicName, Share> now) {
        stranded = now;
    }
}

package io.weir.limiter.supply.actor;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** Counts what a broker's supply actors did since the process started; metrics read it. */
public final class SupplyCounters {
    public final AtomicLong rounds = new AtomicLong();
    /** Messages to supply actors, of this and other brokers. */
    public final AtomicLong messages = new AtomicLong();

    public final AtomicLong sent = new AtomicLong();
    public final AtomicLong received = new AtomicLong();
    public final AtomicLong refunded = new AtomicLong();
    public final AtomicLong inheritances = new AtomicLong();
    public final AtomicLong mints = new AtomicLong();
    public final AtomicLong ledgerRestarts = new AtomicLong();
    /** How often something was seen that the protocol excludes; must stay 0. */
    public final AtomicLong violations = new AtomicLong();

    /** A topic that had arrivals lately, as of the last round. */
    public record Busy(TopicName topic, Share share, long levelMicros, long demandMicros) {}

    private volatile Map<TopicName, Share> stranded = Map.of();
    private volatile List<Busy> busy = List.of();

    public List<Busy> busy() {
        return busy;
    }

    void busy(List<Busy> now) {
        busy = now;
    }

    /** By topic, what holders that stopped or are cut off still have, as far as this broker knows. */
    public Map<TopicName, Share> stranded() {
        return stranded;
    }

    void stranded(Map<TopicName, Share> now) {
        stranded = now;
    }
}

package io.weir.cluster.history;

import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a store says of supply at one moment of its commit order.
 *
 * @param entries of all journals, in the order in which they were inserted
 * @param snapshots of each journal, by the number of their last event
 */
public record StoredSupply(
        List<Entry> entries,
        Map<Holder, TreeMap<Long, Ledger.Snapshot>> snapshots,
        List<LeaseRow> leases,
        List<LimitRow> limits) {
    /**
     * One event of a journal.
     *
     * @param ordering goes up with every insert; an event that was written because of another has the higher one
     * @param atNs when it was written, as {@code nanoTime}
     * @param slackNs how far from that it may have been
     */
    public record Entry(long ordering, Holder holder, long sequence, long atNs, long slackNs, SupplyEvent event) {
        /** The store's times are whole milliseconds of a clock that is not the gates'. */
        public static final long CLOCKS_APART_NS = 20_000_000L;
    }

    public static final StoredSupply NONE = new StoredSupply(List.of(), Map.of(), List.of(), List.of());

    /** Whether nothing of it was lost to retention. */
    boolean wholeJournal(Holder holder) {
        return lowestSequences().getOrDefault(holder, 1L) == 1;
    }

    Map<Holder, Long> lowestSequences() {
        Map<Holder, Long> lowest = new HashMap<>();
        entries.forEach(entry -> lowest.merge(entry.holder(), entry.sequence(), Math::min));
        snapshots.keySet().forEach(holder -> lowest.putIfAbsent(holder, Long.MAX_VALUE));
        return lowest;
    }
}

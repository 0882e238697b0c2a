package io.weir.limiter.simulation.supply;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.LeaseRow;
import io.weir.limiter.supply.algorithm.Ledger;
import io.weir.limiter.supply.algorithm.LimitRow;
import io.weir.limiter.supply.algorithm.SupplyEvent;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * The truth: journals in which a number is won once, and rows that change by condition. How late, whether at all, and how
 * stale its answers are is {@link SupplyWorld}'s business.
 */
final class SimulatedStore {
    private final Map<Holder, List<SupplyEvent>> journals = new LinkedHashMap<>();
    private final Map<Holder, LeaseRow> rows = new LinkedHashMap<>();
    private final Map<TopicName, List<LimitRow>> limits = new LinkedHashMap<>();
    private final SupplyChecker checker;

    SimulatedStore(SupplyChecker checker) {
        this.checker = checker;
    }

    /** Empty if stored, else what is there. */
    Optional<SupplyEvent> append(Holder holder, long sequence, SupplyEvent event) {
        List<SupplyEvent> journal = journals.computeIfAbsent(holder, h -> new ArrayList<>());
        if (sequence <= journal.size()) {
            return Optional.of(journal.get((int) sequence - 1));
        }
        if (sequence > journal.size() + 1) {
            throw new IllegalStateException(
                    "journal of " + holder + " has " + journal.size() + " events, appended is number " + sequence);
        }
        journal.add(event);
        checker.committed(holder, event);
        return Optional.empty();
    }

    int journalSize(Holder holder) {
        return journals.getOrDefault(holder, List.of()).size();
    }

    /** The first {@code size} events, replayed through a snapshot after {@code snapshotAt} of them. */
    Ledger replay(Holder holder, int size, int snapshotAt, boolean forgetful) {
        Ledger ledger = new Ledger(holder);
        List<SupplyEvent> journal = journals.getOrDefault(holder, List.of());
        for (int i = 0; i < size; i++) {
            if (i == snapshotAt) {
                ledger = new Ledger(forgetful ? forgetting(ledger.snapshot()) : ledger.snapshot());
            }
            ledger.apply(journal.get(i));
        }
        return ledger;
    }

    private static Ledger.Snapshot forgetting(Ledger.Snapshot full) {
        return new Ledger.Snapshot(
                full.holder(),
                full.sequence(),
                full.shares(),
                full.debts(),
                Map.of(),
                full.open(),
                full.adopted(),
                full.lastSent(),
                full.lastCredited(),
                Set.of(),
                full.fencedBy());
    }

    LeaseRow register(BrokerId broker) {
        long incarnation = 1;
        for (Holder holder : rows.keySet()) {
            if (holder.broker().equals(broker)) {
                incarnation = Math.max(incarnation, holder.incarnation() + 1);
            }
        }
        LeaseRow row = LeaseRow.registered(new Holder(broker, incarnation));
        rows.put(row.holder(), row);
        return row;
    }

    /** Whether the condition held. */
    boolean update(Holder holder, Function<LeaseRow, Optional<LeaseRow>> change) {
        Optional<LeaseRow> changed = change.apply(rows.get(holder));
        changed.ifPresent(row -> {
            checker.row(rows.get(holder), row);
            rows.put(holder, row);
        });
        return changed.isPresent();
    }

    LeaseRow row(Holder holder) {
        return rows.get(holder);
    }

    List<LeaseRow> rows() {
        return List.copyOf(rows.values());
    }

    /** The last version of each topic and the one before it, if any. */
    List<LimitRow> limits(TopicName topic) {
        return limits.getOrDefault(topic, List.of());
    }

    void insertLimit(LimitRow row) {
        limits.computeIfAbsent(row.topic(), t -> new ArrayList<>()).add(row);
    }

    boolean updateLimit(TopicName topic, long version, Function<LimitRow, Optional<LimitRow>> change) {
        List<LimitRow> versions = limits.get(topic);
        Optional<LimitRow> changed = change.apply(versions.get((int) version - 1));
        changed.ifPresent(row -> versions.set((int) version - 1, row));
        return changed.isPresent();
    }
}

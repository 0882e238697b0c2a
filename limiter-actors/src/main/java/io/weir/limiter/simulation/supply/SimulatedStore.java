package io.weir.limiter.simulation.supply;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.protocol.Retention;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The truth: journals in which a number is won once, and rows that change by condition. How late, whether at all, and
 * how stale its answers are is {@link SupplyWorld}'s business.
 */
final class SimulatedStore {
    private final Map<Holder, List<SupplyEvent>> journals = new LinkedHashMap<>();
    private final Map<Holder, LeaseRow> rows = new LinkedHashMap<>();
    private final Map<BrokerId, Long> incarnations = new LinkedHashMap<>();
    /** By topic and version. */
    private final Map<TopicName, TreeMap<Long, LimitRow>> limits = new LinkedHashMap<>();
    /** The number of each version's last change. */
    private final Map<TopicName, Map<Long, Long>> changeNumbers = new LinkedHashMap<>();

    private final SupplyChecker checker;
    private long changes;

    SimulatedStore(SupplyChecker checker) {
        this.checker = checker;
    }

    /** Empty if all are stored, else what is there. */
    Optional<SupplyEvent> append(Holder holder, long sequence, List<SupplyEvent> events) {
        List<SupplyEvent> journal = journals.computeIfAbsent(holder, h -> new ArrayList<>());
        if (sequence <= journal.size()) {
            return Optional.of(journal.get((int) sequence - 1));
        }
        if (sequence > journal.size() + 1) {
            throw new IllegalStateException(
                    "journal of " + holder + " has " + journal.size() + " events, appended is number " + sequence);
        }
        events.forEach(event -> {
            journal.add(event);
            checker.committed(holder, event);
        });
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
        long incarnation = incarnations.merge(broker, 1L, Long::sum);
        LeaseRow row = LeaseRow.registered(new Holder(broker, incarnation));
        rows.put(row.holder(), row);
        return row;
    }

    /** Whether the condition held. */
    boolean update(Holder holder, Function<LeaseRow, Optional<LeaseRow>> change) {
        Optional<LeaseRow> changed = Optional.ofNullable(rows.get(holder)).flatMap(change);
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

    /** As brokers read them: all but those of holders that stopped and were inherited whole. */
    List<LeaseRow> unsettledRows() {
        return rows.values().stream()
                .filter(row -> row.state() != LeaseRow.State.STOPPED || row.unfinished())
                .toList();
    }

    /** All versions of a topic, the oldest first. */
    List<LimitRow> limits(TopicName topic) {
        return List.copyOf(limits.getOrDefault(topic, new TreeMap<>()).values());
    }

    /** Of the last version that there ever was. */
    long lastVersion(TopicName topic) {
        return changeNumbers.getOrDefault(topic, Map.of()).keySet().stream()
                .mapToLong(Long::longValue)
                .max()
                .orElse(0);
    }

    long changes() {
        return changes;
    }

    /** Every version with the number of its last change. */
    Map<LimitRow, Long> limitChanges() {
        Map<LimitRow, Long> all = new LinkedHashMap<>();
        limits.forEach((topic, versions) -> versions.forEach(
                (version, row) -> all.put(row, changeNumbers.get(topic).get(version))));
        return all;
    }

    void putLimit(LimitRow row) {
        limits.computeIfAbsent(row.topic(), t -> new TreeMap<>()).put(row.version(), row);
        changeNumbers.computeIfAbsent(row.topic(), t -> new LinkedHashMap<>()).put(row.version(), ++changes);
    }

    boolean updateLimit(TopicName topic, long version, Function<LimitRow, Optional<LimitRow>> change) {
        Optional<LimitRow> changed = Optional.ofNullable(limits.get(topic))
                .map(versions -> versions.get(version))
                .flatMap(change);
        changed.ifPresent(this::putLimit);
        return changed.isPresent();
    }

    // ---- what nothing can need any more; the store checks what it can see

    List<Holder> closed() {
        return rows.values().stream()
                .filter(row -> row.state() == LeaseRow.State.STOPPED && !row.unfinished())
                .map(LeaseRow::holder)
                .toList();
    }

    void forget(Retention.Removal removal) {
        if (removal instanceof Retention.OfHolder of) {
            forget(of.closed());
        } else if (removal instanceof Retention.OfVersions of) {
            TreeMap<Long, LimitRow> versions = limits.get(of.topic());
            if (versions != null && versions.containsKey(of.below()) && versions.lastKey() > of.below()) {
                versions.headMap(of.below()).clear();
            }
        } else if (removal instanceof Retention.OfName of) {
            LimitRow last = limits.getOrDefault(of.topic(), new TreeMap<>()).get(of.version());
            if (last != null && last.done() && last.limit().isNone() && lastVersion(of.topic()) == of.version()) {
                limits.remove(of.topic());
            }
        }
    }

    private void forget(Holder closed) {
        LeaseRow row = rows.get(closed);
        boolean named = rows.values().stream().anyMatch(other -> isHeir(closed, other))
                || limits.values().stream()
                        .flatMap(versions -> versions.values().stream())
                        .anyMatch(limit -> !limit.done() && limit.minter().equals(Optional.of(closed)));
        if (row != null && row.state() == LeaseRow.State.STOPPED && !row.unfinished() && !named) {
            rows.remove(closed);
            journals.remove(closed);
            checker.forgotten(closed);
        }
    }

    private static boolean isHeir(Holder holder, LeaseRow row) {
        return !row.leased().done() && row.leased().heir().equals(Optional.of(holder))
                || !row.kept().done() && row.kept().heir().equals(Optional.of(holder));
    }
}

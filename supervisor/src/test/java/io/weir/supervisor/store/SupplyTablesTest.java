package io.weir.supervisor.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.weir.config.SettingsLoader;
import io.weir.config.WeirSettings.StoreSettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.actor.SupplyLedger;
import io.weir.limiter.supply.actor.SupplyStore.LimitChanges;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.supervisor.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class SupplyTablesTest {
    private static final int RACERS = 4;
    private static final Duration PATIENT = Duration.ofSeconds(30);
    private static final Duration HASTY = Duration.ofMillis(500);
    /** Far above the time-outs that are set: only a caller that waits for ever gets here. */
    private static final Duration NEVER = Duration.ofSeconds(30);

    @TempDir
    private Path dir;

    @RegisterExtension
    private final Opened opened = new Opened();

    private record Version(TopicName topic, long number) {}

    /** What the tables are to do, by the rows' own methods. */
    private static final class Oracle {
        private final Map<Holder, LeaseRow> leases = new LinkedHashMap<>();
        private final Map<TopicName, List<LimitRow>> limits = new HashMap<>();
        /** A topic's version moves to the end when it changes. */
        private final Map<Version, Long> changes = new LinkedHashMap<>();

        private long changed;

        boolean lease(Holder holder, Function<LeaseRow, Optional<LeaseRow>> change) {
            Optional<LeaseRow> after = Optional.ofNullable(leases.get(holder)).flatMap(change);
            after.ifPresent(row -> leases.put(holder, row));
            return after.isPresent();
        }

        boolean forget(Holder holder) {
            LeaseRow row = leases.get(holder);
            boolean closed = row != null
                    && row.state() == LeaseRow.State.STOPPED
                    && row.leased().done()
                    && row.kept().done();
            boolean heir = leases.values().stream()
                    .flatMap(other -> Stream.of(other.leased(), other.kept()))
                    .anyMatch(legacy -> !legacy.done() && legacy.heir().equals(Optional.of(holder)));
            return closed && !heir && leases.remove(holder) != null;
        }

        boolean limit(TopicName topic, long version, Function<LimitRow, Optional<LimitRow>> change) {
            Optional<LimitRow> after = version(topic, version).flatMap(change);
            after.ifPresent(row -> {
                versions(topic).replaceAll(old -> old.version() == version ? row : old);
                changed(topic, version);
            });
            return after.isPresent();
        }

        boolean insert(LimitRow row) {
            List<LimitRow> versions = versions(row.topic());
            Optional<LimitRow> same = version(row.topic(), row.version());
            if (same.isPresent()) {
                return same.get().limit().equals(row.limit())
                        && same.get().floorPermille() == row.floorPermille()
                        && same.get().sharing() == row.sharing()
                        && same.get().indicator() == row.indicator();
            }
            if (versions.isEmpty() && row.limit().isNone()) {
                return true;
            }
            boolean follows = versions.isEmpty()
                    || last(row.topic()).version() == row.version() - 1
                            && last(row.topic())
                                    .next(row.limit(), row.floorPermille(), row.sharing())
                                    .isPresent();
            if (follows) {
                versions.add(row);
                changed(row.topic(), row.version());
            }
            return follows;
        }

        boolean forgetVersions(TopicName topic, long below) {
            boolean may = version(topic, below).filter(LimitRow::done).isPresent()
                    && last(topic).version() > below;
            return may && remove(topic, row -> row.version() < below);
        }

        boolean forgetName(TopicName topic, long version) {
            boolean may = version(topic, version)
                    .filter(row -> row.done() && row.limit().isNone() && row.equals(last(topic)))
                    .isPresent();
            return may && remove(topic, row -> true);
        }

        private boolean remove(TopicName topic, Predicate<LimitRow> which) {
            versions(topic).stream().filter(which).forEach(row -> changes.remove(new Version(topic, row.version())));
            boolean removed = versions(topic).removeIf(which);
            // It takes a number, too.
            changed += removed ? 1 : 0;
            return removed;
        }

        private LimitRow last(TopicName topic) {
            return versions(topic).get(versions(topic).size() - 1);
        }

        Optional<LimitRow> version(TopicName topic, long version) {
            return versions(topic).stream()
                    .filter(row -> row.version() == version)
                    .findFirst();
        }

        List<LimitRow> versions(TopicName topic) {
            return limits.computeIfAbsent(topic, t -> new ArrayList<>());
        }

        /** With what the store finds out by itself: whether one has none before it. */
        LimitRow stored(LimitRow row) {
            return new LimitRow(
                    row.topic(),
                    row.version(),
                    row.limit(),
                    row.floorPermille(),
                    row.sharing(),
                    row.indicator(),
                    row.minter(),
                    row.done(),
                    version(row.topic(), row.version() - 1).isEmpty());
        }

        List<LimitRow> stored(TopicName topic) {
            return versions(topic).stream().map(this::stored).toList();
        }

        LimitChanges after(long number) {
            List<LimitRow> rows = new ArrayList<>();
            long upTo = number;
            for (Map.Entry<Version, Long> change : changes.entrySet()) {
                if (change.getValue() > number) {
                    upTo = change.getValue();
                    Version key = change.getKey();
                    rows.add(stored(version(key.topic, key.number).orElseThrow()));
                }
            }
            return new LimitChanges(upTo, rows);
        }

        private void changed(TopicName topic, long version) {
            changes.remove(new Version(topic, version));
            changes.put(new Version(topic, version), ++changed);
        }
    }

    @Test
    void shouldDecideAboutLeasesAsTheRowsDoWhenCalledAtRandom() {
        SupplyTables tables = tables(start(), PATIENT);
        int forgotten = 0;
        for (long seed = 1; seed <= 4; seed++) {
            Random random = new Random(seed);
            Oracle oracle = new Oracle();
            List<Holder> holders =
                    List.of(holder("s" + seed + "-a", 1), holder("s" + seed + "-a", 2), holder("s" + seed + "-b", 1));
            int held = 0;
            for (int step = 0; step < 400; step++) {
                Holder one = holders.get(random.nextInt(holders.size()));
                Account account = Account.values()[random.nextInt(2)];
                Holder heir = holders.get(random.nextInt(holders.size()));
                Optional<Holder> expected = expected(
                        random,
                        Optional.ofNullable(oracle.leases.get(one))
                                .flatMap(row -> row.of(account).heir()),
                        holders);
                long seen = Optional.ofNullable(oracle.leases.get(one))
                                .map(LeaseRow::renewSeq)
                                .orElse(0L)
                        - random.nextInt(2);
                boolean should;
                boolean did;
                int dice = random.nextInt(42);
                if (dice < 6) {
                    oracle.leases.putIfAbsent(one, LeaseRow.registered(one));
                    should = true;
                    did = tables.register(one).equals(oracle.leases.get(one));
                } else if (dice < 16) {
                    should = oracle.lease(one, LeaseRow::renew);
                    did = tables.renew(one);
                } else if (dice < 18) {
                    should = oracle.lease(one, row -> row.fence(seen));
                    did = tables.fence(one, seen);
                } else if (dice < 19) {
                    should = did = oracle.lease(one, row -> Optional.of(row.stop()));
                    tables.stop(one);
                } else if (dice < 38) {
                    should = oracle.lease(one, row -> row.claim(account, expected, heir));
                    did = tables.claim(one, account, expected, heir);
                } else if (dice < 40) {
                    should = did = oracle.lease(one, row -> Optional.of(row.done(account)));
                    tables.inherited(one, account);
                } else {
                    should = oracle.forget(one);
                    did = tables.forget(one);
                    forgotten += did ? 1 : 0;
                }
                held += should ? 1 : 0;
                String where = "seed " + seed + ", step " + step + ", " + dice + " on " + one;
                assertThat(did).as(where).isEqualTo(should);
                assertThat(tables.row(one)).as(where).isEqualTo(Optional.ofNullable(oracle.leases.get(one)));
                Collection<LeaseRow> unfinished = oracle.leases.values().stream()
                        .filter(row -> row.state() != LeaseRow.State.STOPPED
                                || !row.leased().done()
                                || !row.kept().done())
                        .toList();
                assertThat(tables.closed(1_000).stream().filter(holders::contains))
                        .as(where)
                        .containsExactlyInAnyOrderElementsOf(oracle.leases.values().stream()
                                .filter(row -> !unfinished.contains(row))
                                .map(LeaseRow::holder)
                                .toList());
                assertThat(tables.rows().stream().filter(row -> holders.contains(row.holder())))
                        .as(where)
                        .containsExactlyInAnyOrderElementsOf(unfinished);
            }
            assertThat(held).as("conditions that held of seed " + seed).isBetween(40, 360);
        }
        assertThat(forgotten).as("holders that were forgotten").isPositive();
    }

    @Test
    void shouldDecideAboutLimitsAsTheRowsDoWhenCalledAtRandom() {
        SupplyTables tables = tables(start(), PATIENT);
        Random random = new Random(7);
        Oracle oracle = new Oracle();
        List<TopicName> topics =
                List.of(new TopicName("orders"), new TopicName("Orders"), new TopicName("x#ephemeral"));
        List<Holder> holders = List.of(holder("a", 1), holder("a", 2), holder("b", 1));
        Map<TopicName, Long> forgotten = new HashMap<>();
        int held = 0;
        for (int step = 0; step < 1_000; step++) {
            TopicName topic = topics.get(random.nextInt(topics.size()));
            List<LimitRow> versions = oracle.versions(topic);
            long last = versions.isEmpty()
                    ? forgotten.getOrDefault(topic, 0L)
                    : versions.get(versions.size() - 1).version();
            long version = Math.max(1, last + random.nextInt(3) - 1);
            Holder minter = holders.get(random.nextInt(holders.size()));
            boolean should;
            boolean did;
            int dice = random.nextInt(14);
            if (dice < 4) {
                LimitRow row = new LimitRow(
                                topic,
                                version,
                                new Share(random.nextInt(2), 1_000_000L * random.nextInt(2)),
                                1000 * random.nextInt(2),
                                Sharing.values()[random.nextInt(2)],
                                random.nextInt(4) == 0 ? Optional.of(minter) : Optional.empty(),
                                false)
                        .by(Indicator.values()[random.nextInt(2)]);
                should = oracle.insert(row);
                did = tables.insert(row);
            } else if (dice < 9) {
                Optional<Holder> expected =
                        expected(random, oracle.version(topic, version).flatMap(LimitRow::minter), holders);
                should = oracle.limit(topic, version, row -> row.claim(expected, minter));
                did = tables.claimMint(topic, version, expected, minter);
            } else if (dice == 10) {
                should = oracle.forgetVersions(topic, version);
                did = tables.forgetVersions(topic, version);
            } else if (dice == 11) {
                should = oracle.forgetName(topic, version);
                did = tables.forgetName(topic, version);
                if (did) {
                    forgotten.put(topic, version);
                }
            } else {
                // Said again, it is no change.
                should = did = oracle.limit(
                        topic, version, row -> row.done() ? Optional.empty() : Optional.of(row.finished()));
                tables.finished(topic, version);
            }
            held += should ? 1 : 0;
            String where = "step " + step + ", " + dice + " on " + topic + " " + version;
            assertThat(did).as(where).isEqualTo(should);
            assertThat(tables.limits(topic)).as(where).isEqualTo(oracle.stored(topic));
            long after = random.nextInt((int) oracle.changed + 2);
            assertThat(tables.limitsAfter(after)).as(where).isEqualTo(oracle.after(after));
        }
        assertThat(held).as("conditions that held").isBetween(100, 900);
        assertThat(forgotten).as("names that were forgotten").isNotEmpty();
    }

    @Test
    void shouldRemoveAClosedHoldersJournalAndSnapshotsAndNobodyElses() throws Exception {
        RunningStore store = start();
        SupplyTables tables = tables(store, PATIENT);
        List<Holder> holders = List.of(holder("a", 1), holder("a", 11), holder("b", 1));
        for (Holder holder : holders) {
            String journal = SupplyLedger.journalOf(holder).id();
            tables.register(holder);
            for (int sequence = 1; sequence <= 3; sequence++) {
                store.execute("INSERT INTO event_journal (persistence_id, sequence_number, deleted, writer,"
                        + " write_timestamp, adapter_manifest, event_ser_id, event_ser_manifest, event_payload)"
                        + " VALUES ('" + journal + "', " + sequence + ", FALSE, 'w', 0, '', 1, '', '')");
                store.execute("INSERT INTO event_tag SELECT MAX(ordering), 'tag' FROM event_journal");
            }
            store.execute("INSERT INTO snapshot (persistence_id, sequence_number, created, snapshot_ser_id,"
                    + " snapshot_ser_manifest, snapshot_payload) VALUES ('" + journal + "', 2, 0, 1, '', '')");
        }
        Holder victim = holders.get(0);
        assertThat(tables.forget(victim)).as("it lives").isFalse();
        tables.stop(victim);
        tables.inherited(victim, Account.LEASED);
        assertThat(tables.forget(victim))
                .as("its kept account waits for an heir")
                .isFalse();
        tables.inherited(victim, Account.KEPT);
        TopicName topic = new TopicName("orders");
        tables.insert(limit(topic, 1, 5));
        tables.claimMint(topic, 1, Optional.empty(), victim);
        assertThat(tables.forget(victim)).as("it may have minted").isFalse();
        assertThat(rowsOf(store, victim)).isEqualTo(4);
        tables.finished(topic, 1);
        assertThat(tables.forget(victim)).isTrue();
        assertThat(rowsOf(store, victim)).isZero();
        assertThat(rowsOf(store, holders.get(1))).isEqualTo(4);
        assertThat(rowsOf(store, holders.get(2))).isEqualTo(4);
        assertThat(count(store, "SELECT COUNT(*) FROM event_tag")).isEqualTo(6);
        assertThat(tables.row(victim)).isEmpty();
        assertThat(tables.forget(victim)).as("once").isFalse();
        assertThat(nextIncarnation(store, "a")).isEqualTo(1);
        assertThat(nextIncarnation(store, "a")).isEqualTo(2);
        Holder second = holder("a", 2);
        tables.register(second);
        tables.stop(second);
        tables.inherited(second, Account.LEASED);
        tables.inherited(second, Account.KEPT);
        assertThat(tables.forget(second)).isTrue();
        assertThat(nextIncarnation(store, "a"))
                .as("the registry's numbers do not go with the leases' rows")
                .isEqualTo(3);
    }

    private static long count(RunningStore store, String sql) throws SQLException {
        try (Connection connection = store.connect();
                ResultSet rows = connection.createStatement().executeQuery(sql)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    private static long rowsOf(RunningStore store, Holder holder) throws Exception {
        String journal = SupplyLedger.journalOf(holder).id();
        return count(store, "SELECT COUNT(*) FROM event_journal WHERE persistence_id = '" + journal + "'")
                + count(store, "SELECT COUNT(*) FROM snapshot WHERE persistence_id = '" + journal + "'");
    }

    private long nextIncarnation(RunningStore store, String broker) {
        SettingsLoader loaded = store.settings(broker, dir);
        try (BrokerRegistry registry = new BrokerRegistry(loaded.settings().store())) {
            return registry.nextIncarnation(loaded.settings(), life -> "link");
        }
    }

    @Test
    void shouldLetExactlyOneWinWhenManyDecideAtOnce() throws Exception {
        RunningStore store = start();
        List<SupplyTables> racers = new ArrayList<>();
        for (int i = 0; i < RACERS; i++) {
            racers.add(tables(store, PATIENT));
        }
        TopicName topic = new TopicName("orders");
        for (int round = 1; round <= 8; round++) {
            Holder victim = holder("victim", round);
            int version = round;
            List<LeaseRow> registered =
                    Race.of(RACERS, racer -> racers.get(racer).register(victim));
            assertThat(registered).containsOnly(LeaseRow.registered(victim));
            assertThat(Race.of(RACERS, racer -> racers.get(racer).fence(victim, 0)))
                    .containsOnlyOnce(true);
            List<Boolean> claimed = Race.of(RACERS, racer -> racers.get(racer)
                    .claim(victim, Account.LEASED, Optional.empty(), holder("b", racer)));
            assertThat(claimed).containsOnlyOnce(true);
            assertThat(racers.get(0).row(victim).orElseThrow().leased().heir())
                    .contains(holder("b", claimed.indexOf(true)));

            // Each wants another limit, so only one of them is there afterwards.
            List<Boolean> inserted =
                    Race.of(RACERS, racer -> racers.get(racer).insert(limit(topic, version, 1 + racer)));
            assertThat(inserted).containsOnlyOnce(true);
            List<Boolean> minting = Race.of(
                    RACERS, racer -> racers.get(racer).claimMint(topic, version, Optional.empty(), holder("b", racer)));
            assertThat(minting).containsOnlyOnce(true);
            racers.get(0).finished(topic, version);
            LimitRow row = racers.get(0).limits(topic).get(round - 1);
            assertThat(row.limit().rateMicros()).isEqualTo(1 + inserted.indexOf(true));
            assertThat(row.minter()).contains(holder("b", minting.indexOf(true)));
        }
    }

    @Test
    void shouldMissNoChangeOfALimitWhenManyChangeWhileOneReads() throws Exception {
        RunningStore store = start();
        int versions = 12;
        AtomicInteger writing = new AtomicInteger(RACERS - 1);
        Map<Version, LimitRow> read = new HashMap<>();
        Race.of(RACERS, racer -> {
            SupplyTables tables = tables(store, PATIENT);
            if (racer == 0) {
                long upTo = 0;
                boolean last;
                do {
                    last = writing.get() == 0;
                    LimitChanges changes = tables.limitsAfter(upTo);
                    changes.rows().forEach(row -> read.put(new Version(row.topic(), row.version()), row));
                    upTo = changes.upTo();
                } while (!last);
                return racer;
            }
            try {
                TopicName topic = new TopicName("topic-" + racer);
                for (int version = 1; version <= versions; version++) {
                    assertThat(tables.insert(limit(topic, version, version))).isTrue();
                    assertThat(tables.claimMint(topic, version, Optional.empty(), holder("b", racer)))
                            .isTrue();
                    tables.finished(topic, version);
                }
                return racer;
            } finally {
                writing.decrementAndGet();
            }
        });

        List<LimitRow> all = tables(store, PATIENT).limitsAfter(0).rows();
        assertThat(all).hasSize(versions * (RACERS - 1)).allMatch(LimitRow::done);
        assertThat(read.values()).containsExactlyInAnyOrderElementsOf(all);
    }

    @Test
    void shouldRefuseToInsertAVersionThatSaysItIsDone() {
        SupplyTables tables = tables(start(), PATIENT);
        LimitRow row = limit(new TopicName("orders"), 1, 5);

        assertThatThrownBy(() -> tables.insert(row.finished())).isInstanceOf(IllegalArgumentException.class);
        assertThat(tables.limitsAfter(0)).isEqualTo(new LimitChanges(0, List.of()));
    }

    @Test
    void shouldThrowAfterTheTimeOutWhenTheStoreHangs() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            SupplyTables tables = tables(silentStore(silent.getLocalPort()), HASTY);

            assertTimeoutPreemptively(NEVER, () -> {
                for (int i = 0; i < 3; i++) {
                    assertThatThrownBy(() -> tables.renew(holder("a", 1))).isInstanceOf(StoreException.class);
                }
                assertThatThrownBy(tables::rows).isInstanceOf(StoreException.class);
            });
        }
    }

    @Test
    void shouldGoOnWithANewConnectionWhenARowIsLockedForLongerThanTheTimeOut() throws Exception {
        RunningStore store = start();
        SupplyTables patient = tables(store, PATIENT);
        SupplyTables hasty = tables(store, HASTY);
        Holder one = holder("a", 1);
        patient.register(one);
        assertThat(patient.insert(limit(new TopicName("orders"), 1, 5))).isTrue();
        try (var locker = store.connect();
                var statement = locker.createStatement()) {
            locker.setAutoCommit(false);
            statement.executeUpdate("UPDATE weir_counter SET number = number WHERE name = 'limit'");
            statement.executeUpdate("UPDATE weir_lease SET renew_seq = renew_seq");
            assertThatThrownBy(() -> hasty.renew(one)).isInstanceOf(StoreException.class);
            assertThatThrownBy(() -> hasty.insert(limit(new TopicName("other"), 1, 5)))
                    .isInstanceOf(StoreException.class);
            locker.rollback();
        }
        // The first ones may land now or not: their outcome is unknown, and a repetition is answered rightly.
        assertThat(patient.insert(limit(new TopicName("other"), 1, 5))).isTrue();
        Await.until("the hasty one is served again", () -> {
            try {
                return hasty.renew(one);
            } catch (StoreException e) {
                return false;
            }
        });
        assertThat(patient.row(one).orElseThrow().renewSeq()).isPositive();
        assertThat(patient.limits(new TopicName("other"))).containsExactly(limit(new TopicName("other"), 1, 5));
    }

    private static Optional<Holder> expected(Random random, Optional<Holder> now, List<Holder> others) {
        int dice = random.nextInt(6);
        return dice == 0 ? Optional.empty() : dice == 1 ? Optional.of(others.get(random.nextInt(others.size()))) : now;
    }

    private static Holder holder(String broker, long incarnation) {
        return new Holder(new BrokerId(broker), incarnation);
    }

    private static LimitRow limit(TopicName topic, long version, long rateMicros) {
        return new LimitRow(
                topic, version, new Share(rateMicros, 1_000_000), 0, Sharing.DEFAULT, Optional.empty(), false);
    }

    private RunningStore start() {
        RunningStore store = RunningStore.start();
        opened.add(store);
        BrokerRegistry registry =
                new BrokerRegistry(store.settings("b1", dir).settings().store());
        opened.add(registry);
        registry.awaitStore();
        return store;
    }

    private SupplyTables tables(RunningStore store, Duration timeout) {
        return tables(store.settings("b1", dir).settings().store(), timeout);
    }

    private SupplyTables tables(StoreSettings settings, Duration timeout) {
        SupplyTables tables = new SupplyTables(settings, timeout);
        opened.add(tables);
        return tables;
    }

    private StoreSettings silentStore(int port) {
        String url = StoreServer.url(port);
        return SettingsLoader.load(Optional.empty(), RunningStore.environment("b1", dir, url))
                .settings()
                .store();
    }
}

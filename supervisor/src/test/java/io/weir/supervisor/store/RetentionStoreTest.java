package io.weir.supervisor.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.SettingsLoader;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.actor.SupplyLedger;
import io.weir.limiter.supply.protocol.Bookkeeper;
import io.weir.limiter.supply.protocol.KnownLimits;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.protocol.Retention;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LimitRow;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store with a past: former lives of a broker, each with a journal, and names that were created, changed and deleted.
 * As many of both as {@code -Dweir.former=5000} says.
 */
@Timeout(value = 1, unit = TimeUnit.HOURS)
class RetentionStoreTest {
    private static final Logger LOG = LoggerFactory.getLogger(RetentionStoreTest.class);
    private static final int FORMER = Integer.getInteger("weir.former", 40);
    private static final int EVENTS = 200;
    private static final int VERSIONS = 10;
    private static final long SECOND = 1_000_000_000L;
    private static final long W = 7 * SECOND;
    private static final BrokerId BROKER = new BrokerId("b1");
    private static final Holder ME = new Holder(BROKER, FORMER + 1);
    private static final Share LIMIT = new Share(10 * Limit.MICROS, 10 * Limit.MICROS);

    @TempDir
    private Path dir;

    @Test
    void shouldStartAsIfThePastHadNotBeenOnceItIsForgotten() throws Exception {
        RunningStore store = RunningStore.start();
        SettingsLoader loaded = store.settings(BROKER.value(), dir);
        try (BrokerRegistry registry = new BrokerRegistry(loaded.settings().store());
                SupplyTables tables = new SupplyTables(loaded.settings().store(), Duration.ofSeconds(60))) {
            registry.awaitStore();
            for (int life = 1; life <= FORMER; life++) {
                assertThat(registry.nextIncarnation(loaded.settings(), anyLife -> "link"))
                        .isEqualTo(life);
            }
            long emptyNs = start(tables);
            fill(store, tables);
            assertThat(rows(store, "event_journal")).isEqualTo((long) FORMER * EVENTS);
            long pastNs = start(tables);

            long removingNs = System.nanoTime();
            int passes = forgetAll(tables);
            removingNs = System.nanoTime() - removingNs;

            assertThat(rows(store, "event_journal")).isZero();
            assertThat(rows(store, "snapshot")).isZero();
            assertThat(rows(store, "weir_limit"))
                    .as("those of the one topic that is there")
                    .isEqualTo(2);
            assertThat(rows(store, "weir_lease")).as("the live one's").isEqualTo(1);
            assertThat(tables.row(ME)).isPresent();
            assertThat(registry.nextIncarnation(loaded.settings(), life -> "link"))
                    .as("no life's number is given twice")
                    .isEqualTo(FORMER + 1);
            LOG.info(
                    "{} former lives with {} events each, {} names with {} versions each: rows read in {} ms when the store was"
                            + " new, {} ms with this past, {} ms without it; removed in {} ms and {} passes",
                    FORMER,
                    EVENTS,
                    FORMER,
                    VERSIONS,
                    ms(emptyNs),
                    ms(pastNs),
                    ms(start(tables)),
                    ms(removingNs),
                    passes);
        }
    }

    private static double ms(long ns) {
        return ns / 100_000 / 10.0;
    }

    /** What a broker reads before it can do anything; the least of several times. */
    private static long start(SupplyTables tables) {
        return LongStream.range(0, 5)
                .map(turn -> {
                    long startNs = System.nanoTime();
                    tables.register(ME);
                    tables.rows();
                    new KnownLimits().read(tables.limitsAfter(0).rows());
                    return System.nanoTime() - startNs;
                })
                .min()
                .orElseThrow();
    }

    /** As a broker does for which nobody else is there: it looks, asks itself, removes. */
    private static int forgetAll(SupplyTables tables) {
        Retention retention = new Retention(0, W, 1_000);
        Bookkeeper keeper = new Bookkeeper(new Ledger(ME));
        long nowNs = 0;
        long upTo = 0;
        int passes = 0;
        boolean more = true;
        while (more) {
            List<Holder> closed = tables.closed(10_000);
            retention.leases(closed, tables.rows(), nowNs);
            var changes = tables.limitsAfter(upTo);
            upTo = changes.upTo();
            retention.limits(changes.rows(), nowNs);
            nowNs += 10 * SECOND;
            retention.answered(
                    Retention.answer(retention.round(), retention.question(nowNs), keeper, Optional.of(Set.of(ME))));
            List<Retention.Removal> due = retention.due(nowNs);
            for (Retention.Removal removal : due) {
                assertThat(remove(tables, removal)).as("%s", removal).isTrue();
                retention.done(removal);
            }
            more = !due.isEmpty();
            passes++;
        }
        return passes;
    }

    private static boolean remove(SupplyTables tables, Retention.Removal removal) {
        if (removal instanceof Retention.OfHolder of) {
            return tables.forget(of.closed());
        }
        if (removal instanceof Retention.OfVersions of) {
            return tables.forgetVersions(of.topic(), of.below());
        }
        Retention.OfName of = (Retention.OfName) removal;
        return tables.forgetName(of.topic(), of.version());
    }

    private static void fill(RunningStore store, SupplyTables tables) throws SQLException {
        try (Connection connection = store.connect();
                PreparedStatement events = connection.prepareStatement("INSERT INTO event_journal (persistence_id,"
                        + " sequence_number, deleted, writer, write_timestamp, adapter_manifest, event_ser_id,"
                        + " event_ser_manifest, event_payload) SELECT ?, n, FALSE, 'w', 0, '', 1, '',"
                        + " decode(repeat('00', 200), 'hex') FROM generate_series(1, " + EVENTS + ") n");
                PreparedStatement snapshots = connection.prepareStatement("INSERT INTO snapshot (persistence_id,"
                        + " sequence_number, created, snapshot_ser_id, snapshot_ser_manifest, snapshot_payload)"
                        + " VALUES (?, " + EVENTS + ", 0, 1, '', decode(repeat('00', 2000), 'hex'))")) {
            for (int life = 1; life <= FORMER; life++) {
                Holder former = new Holder(BROKER, life);
                tables.register(former);
                tables.stop(former);
                tables.inherited(former, Account.LEASED);
                tables.inherited(former, Account.KEPT);
                String journal = SupplyLedger.journalOf(former).id();
                events.setString(1, journal);
                events.executeUpdate();
                snapshots.setString(1, journal);
                snapshots.executeUpdate();
                TopicName name = new TopicName("name-" + life);
                for (int version = 1; version <= VERSIONS; version++) {
                    Share limit = version == VERSIONS && life > 1 ? Share.NONE : LIMIT;
                    tables.insert(new LimitRow(name, version, limit, 0, Sharing.GOSSIP, Optional.of(former), false));
                    tables.finished(name, version);
                }
            }
        }
    }

    private static long rows(RunningStore store, String table) throws SQLException {
        try (Connection connection = store.connect();
                ResultSet rows = connection.createStatement().executeQuery("SELECT COUNT(*) FROM " + table)) {
            rows.next();
            return rows.getLong(1);
        }
    }
}

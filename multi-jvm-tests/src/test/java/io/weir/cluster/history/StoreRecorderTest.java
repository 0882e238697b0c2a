package io.weir.cluster.history;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.weir.cluster.BrokerCluster;
import io.weir.cluster.history.StoredSupply.Entry;
import io.weir.config.Endpoint;
import io.weir.config.value.BrokerId;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.wire.SupplyCodec;
import io.weir.supervisor.store.StoreServer;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against the columns that it reads, in a database that can be taken away. */
class StoreRecorderTest {
    private static final String PASSWORD = "only-for-this-test";

    @TempDir
    private static Path directory;

    private static StoreServer server;
    private static String url;

    @BeforeAll
    static void store() {
        int port = BrokerCluster.freePortBase(1);
        server = StoreServer.start(directory.resolve("store"), port, PASSWORD);
        url = StoreServer.url(new Endpoint("127.0.0.1", port), PASSWORD);
    }

    @AfterAll
    static void end() {
        server.close();
    }

    /** From beside the store's database. */
    private static void administer(String... all) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url.replace("/weir?", "/template1?"));
                Statement statement = connection.createStatement()) {
            for (String sql : all) {
                statement.execute(sql);
            }
        }
    }

    private static void execute(String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @BeforeEach
    void tables() throws SQLException {
        execute("DROP TABLE IF EXISTS event_journal, snapshot, weir_lease, weir_limit");
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE event_journal (ordering BIGINT PRIMARY KEY, persistence_id VARCHAR,"
                    + " sequence_number BIGINT, write_timestamp BIGINT, event_payload BYTEA)");
            statement.execute(
                    "CREATE TABLE snapshot (persistence_id VARCHAR, sequence_number BIGINT, snapshot_payload BYTEA)");
            statement.execute(
                    "CREATE TABLE weir_lease (broker VARCHAR, incarnation BIGINT, state VARCHAR, renew_seq BIGINT,"
                            + " leased_heir_broker VARCHAR, leased_heir_incarnation BIGINT, leased_done BOOLEAN,"
                            + " kept_heir_broker VARCHAR, kept_heir_incarnation BIGINT, kept_done BOOLEAN)");
            statement.execute(
                    "CREATE TABLE weir_limit (topic VARCHAR, version BIGINT, rate_micros BIGINT, burst_micros BIGINT,"
                            + " floor_permille INT, sharing VARCHAR, minter_broker VARCHAR, minter_incarnation BIGINT, done BOOLEAN,"
                            + " indicator VARCHAR)");
        }
    }

    private void write(long number, long wallClockMs) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                PreparedStatement insert =
                        connection.prepareStatement("INSERT INTO event_journal VALUES (?, 'supply|b1|1', ?, ?, ?)")) {
            insert.setLong(1, number);
            insert.setLong(2, number);
            insert.setLong(3, wallClockMs);
            insert.setBytes(4, SupplyCodec.encode(new SupplyEvent.Recovered(number)));
            insert.execute();
        }
    }

    @Test
    void shouldTrustAWallClockThatFitsAndBoundOneThatDoesNot() throws SQLException {
        try (StoreRecorder recorder = new StoreRecorder(url)) {
            recorder.now();
            long beforeNs = System.nanoTime();
            write(1, System.currentTimeMillis());
            write(2, System.currentTimeMillis() + Duration.ofHours(5).toMillis());
            write(3, System.currentTimeMillis() - Duration.ofHours(5).toMillis());
            long writtenNs = System.nanoTime();
            List<Entry> entries = recorder.now().entries();

            assertThat(entries).hasSize(3);
            assertThat(entries.get(0).slackNs()).isEqualTo(Entry.CLOCKS_APART_NS);
            assertThat(entries)
                    .allSatisfy(entry -> {
                        assertThat(entry.atNs() - entry.slackNs()).isLessThanOrEqualTo(writtenNs);
                        assertThat(entry.atNs() + entry.slackNs()).isGreaterThanOrEqualTo(beforeNs);
                    })
                    .allMatch(entry -> entry.slackNs() < Duration.ofMinutes(1).toNanos());
        }
    }

    @Test
    void shouldKeepWhatTheStoreForgetsAndGoOnWhenItIsBack() throws SQLException {
        try (StoreRecorder recorder = new StoreRecorder(url)) {
            write(1, System.currentTimeMillis());
            recorder.now();
            execute("DELETE FROM event_journal");
            administer(
                    "ALTER DATABASE weir ALLOW_CONNECTIONS false",
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'weir'");
            assertThatThrownBy(recorder::now).isInstanceOf(SQLException.class);

            administer("ALTER DATABASE weir ALLOW_CONNECTIONS true");
            write(2, System.currentTimeMillis());
            assertThat(recorder.now().entries())
                    .extracting(Entry::holder, Entry::sequence)
                    .contains(
                            tuple(new Holder(new BrokerId("b1"), 1), 1L), tuple(new Holder(new BrokerId("b1"), 1), 2L));
        }
    }

    /** As a store does that shows commits before they are on its disk, and is then killed. */
    @Test
    void shouldForgetAndTellWhatTheStoreTookBack() throws SQLException {
        try (StoreRecorder recorder = new StoreRecorder(url)) {
            write(1, System.currentTimeMillis());
            write(2, System.currentTimeMillis());
            write(3, System.currentTimeMillis());
            recorder.now();
            assertThat(recorder.takenBack()).isEmpty();

            execute("DELETE FROM event_journal WHERE sequence_number = 3");
            execute("UPDATE event_journal SET ordering = 4 WHERE sequence_number = 2");

            assertThat(recorder.now().entries()).extracting(Entry::ordering).containsExactly(1L, 4L);
            assertThat(recorder.takenBack()).extracting(Entry::sequence).containsExactly(2L, 3L);
        }
    }

    @Test
    void shouldKeepWhatABrokerDeletesFromTheBeginningOn() throws SQLException {
        try (StoreRecorder recorder = new StoreRecorder(url)) {
            for (int number = 1; number <= 4; number++) {
                write(number, System.currentTimeMillis());
            }
            recorder.now();

            execute("DELETE FROM event_journal WHERE sequence_number < 3");

            assertThat(recorder.now().entries()).hasSize(4);
            assertThat(recorder.takenBack()).isEmpty();
        }
    }
}

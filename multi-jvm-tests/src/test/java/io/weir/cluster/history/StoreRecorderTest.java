package io.weir.cluster.history;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.weir.cluster.history.StoredSupply.Entry;
import io.weir.config.value.BrokerId;
import io.weir.limiter.supply.SupplyCodec;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.SupplyEvent;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against the columns that it reads, in a database that can be taken away. */
class StoreRecorderTest {
    @TempDir
    private Path directory;

    private String url;

    @BeforeEach
    void tables() throws SQLException {
        url = "jdbc:h2:file:" + directory.resolve("store");
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE event_journal (ordering BIGINT PRIMARY KEY, persistence_id VARCHAR,"
                    + " sequence_number BIGINT, write_timestamp BIGINT, event_payload VARBINARY)");
            statement.execute(
                    "CREATE TABLE snapshot (persistence_id VARCHAR, sequence_number BIGINT, snapshot_payload VARBINARY)");
            statement.execute(
                    "CREATE TABLE weir_lease (broker VARCHAR, incarnation BIGINT, state VARCHAR, renew_seq BIGINT,"
                            + " leased_heir_broker VARCHAR, leased_heir_incarnation BIGINT, leased_done BOOLEAN,"
                            + " kept_heir_broker VARCHAR, kept_heir_incarnation BIGINT, kept_done BOOLEAN)");
            statement.execute(
                    "CREATE TABLE weir_limit (topic VARCHAR, version BIGINT, rate_micros BIGINT, burst_micros BIGINT,"
                            + " floor_permille INT, sharing VARCHAR, minter_broker VARCHAR, minter_incarnation BIGINT, done BOOLEAN)");
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
            try (Connection connection = DriverManager.getConnection(url);
                    Statement statement = connection.createStatement()) {
                statement.execute("DELETE FROM event_journal");
                statement.execute("SHUTDOWN IMMEDIATELY");
            } catch (SQLException e) {
                assertThat(e.getMessage()).contains("closed");
            }
            assertThatThrownBy(recorder::now).isInstanceOf(SQLException.class);

            write(2, System.currentTimeMillis());
            assertThat(recorder.now().entries())
                    .extracting(Entry::holder, Entry::sequence)
                    .contains(
                            tuple(new Holder(new BrokerId("b1"), 1), 1L), tuple(new Holder(new BrokerId("b1"), 1), 2L));
        }
    }
}

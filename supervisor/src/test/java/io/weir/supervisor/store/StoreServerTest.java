package io.weir.supervisor.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.config.Endpoint;
import io.weir.supervisor.Await;
import io.weir.supervisor.FreePorts;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StoreServerTest {
    private static final String PASSWORD = "it's only for \"this\" test";

    private final int port = FreePorts.take(1)[0];

    @TempDir
    private Path temporary;

    private Path directory;
    private StoreServer server;

    /** Deep enough that the path of a socket file in it would be too long. */
    @BeforeEach
    void deepDirectory() {
        directory = temporary.resolve("a b'c").resolve("d".repeat(120)).resolve("store");
    }

    @AfterEach
    void close() {
        if (server != null) {
            server.close();
        }
    }

    private void start() {
        server = StoreServer.start(directory, port, PASSWORD);
    }

    private Connection connect() throws SQLException {
        return DriverManager.getConnection(StoreServer.url(port), StoreServer.USER, PASSWORD);
    }

    private String answer(String sql) throws SQLException {
        try (Connection connection = connect();
                ResultSet rows = connection.createStatement().executeQuery(sql)) {
            rows.next();
            return rows.getString(1);
        }
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = connect()) {
            connection.createStatement().execute(sql);
        }
    }

    private void kill() throws InterruptedException {
        server.process().destroyForcibly().waitFor();
    }

    /** What A3 rests on: a commit is on the disk before anybody is told of it or sees it. */
    @Test
    void shouldSyncWhatItAcknowledgesAndListenToNobodyElse() throws SQLException {
        start();

        assertThat(answer("SHOW fsync")).isEqualTo("on");
        assertThat(answer("SHOW synchronous_commit")).isEqualTo("on");
        assertThat(answer("SHOW full_page_writes")).isEqualTo("on");
        assertThat(answer("SHOW data_checksums")).isEqualTo("on");
        assertThat(answer("SHOW listen_addresses")).isEqualTo("127.0.0.1");
        assertThat(answer("SHOW unix_socket_directories")).isEmpty();
        assertThatThrownBy(() -> DriverManager.getConnection(StoreServer.url(port), StoreServer.USER, "another"))
                .hasMessageContaining("password authentication failed");
    }

    @Test
    void shouldHaveWhatItHadWhenItIsStoppedAndWhenItIsKilled() throws Exception {
        start();
        execute("CREATE TABLE kept (number INT)");
        execute("INSERT INTO kept VALUES (1)");
        server.close();
        assertThat(server.process().exitValue()).as("a clean end").isZero();
        start();
        execute("INSERT INTO kept VALUES (2)");
        kill();
        start();

        assertThat(answer("SELECT SUM(number) FROM kept")).isEqualTo("3");
    }

    @Test
    void shouldNotServeTwice() {
        start();

        assertThatThrownBy(() -> StoreServer.prepare(directory, new Endpoint("127.0.0.1", port), PASSWORD))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining(
                        "runs already, as process " + server.process().pid());
    }

    /** A child that stands still does not see that its server is gone, and the next one must not start beside it. */
    @Test
    void shouldStartAgainWhenAKilledOneLeftAChildThatStandsStill() throws Exception {
        start();
        ProcessHandle child;
        try (Connection connection = connect();
                ResultSet row = connection.createStatement().executeQuery("SELECT pg_backend_pid()")) {
            row.next();
            child = ProcessHandle.of(row.getLong(1)).orElseThrow();
            Command.of(List.of("kill", "-STOP", Long.toString(child.pid()))).run();
            kill();
            assertThat(child.isAlive()).isTrue();
            start();
        }

        assertThat(answer("SELECT 1")).isEqualTo("1");
        // Somebody else's init takes note of its end.
        Await.until("the child is gone", () -> !child.isAlive());
    }

    /** As after the restart of a container, where the same few numbers are given again. */
    @Test
    void shouldStartAgainWhenAKilledOnesNumberIsNowAnothers() throws Exception {
        start();
        kill();
        Path file = directory.resolve("postgresql/postmaster.pid");
        // Not this process's own: PostgreSQL takes its parent for no rival.
        Process stranger = new ProcessBuilder("sleep", "600").start();
        try {
            List<String> lines = new ArrayList<>(Files.readAllLines(file));
            lines.set(0, Long.toString(stranger.pid()));
            Files.write(file, lines);
            start();

            assertThat(answer("SELECT 1")).isEqualTo("1");
        } finally {
            stranger.destroyForcibly();
        }
    }

    @Test
    void shouldBeginAnewWhenTheFirstStartWasCutShort() throws Exception {
        Path half = Files.createDirectories(directory.resolve("postgresql.half"));
        Files.writeString(half.resolve("PG_VERSION"), "17\n");
        start();

        assertThat(answer("SELECT 1")).isEqualTo("1");
        assertThat(half).doesNotExist();
    }

    @Test
    void shouldSayWhatToDoAboutAnOlderWeirsStore() throws Exception {
        Files.createDirectories(directory);
        Files.writeString(directory.resolve("weir.mv.db"), "H:2");

        assertThatThrownBy(this::start)
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("the store of an older Weir (H2), which this one can't read")
                .hasMessageContaining("another directory")
                .hasMessageNotContaining("\n");
    }
}

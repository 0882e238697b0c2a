package io.weir.supervisor.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.FreePorts;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StoreServerTest {
    private static final String PASSWORD = "only-for-this-test";

    @TempDir
    private Path directory;

    /** As a full disk makes it do. */
    @Test
    void shouldSayThatItFailedWhenItsDatabaseHasClosedItself() throws Exception {
        int port = FreePorts.take(1)[0];
        StoreServer server = StoreServer.start(directory, port, PASSWORD);
        assertThat(server.failure()).isEmpty();

        try (Connection connection = DriverManager.getConnection(StoreServer.url(port), StoreServer.USER, PASSWORD)) {
            connection.createStatement().execute("SHUTDOWN IMMEDIATELY");
        }

        assertThat(server.failure()).isPresent();
    }
}

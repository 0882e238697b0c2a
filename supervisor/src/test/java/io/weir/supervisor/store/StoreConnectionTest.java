package io.weir.supervisor.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.SettingsLoader;
import io.weir.config.WeirSettings.StoreSettings;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class StoreConnectionTest {
    private static final Duration PATIENT = Duration.ofSeconds(20);

    @TempDir
    private Path dir;

    /** Seen with a broker that was cut off between an insert and its commit: nobody could close its journal. */
    @Test
    void shouldGetWhatAnotherLeftLockedInAnOpenTransaction() throws Exception {
        RunningStore store = RunningStore.start();
        store.execute("CREATE TABLE numbers (number INT PRIMARY KEY)");
        StoreSettings settings = store.settings("b1", dir).settings().store();
        try (StoreConnection cutOff = new StoreConnection(settings, "cut-off", PATIENT);
                StoreConnection heir = new StoreConnection(settings, "heir", PATIENT)) {
            String insert = "INSERT INTO numbers VALUES (7)";
            cutOff.call(opened -> opened.createStatement().executeUpdate(insert));
            int inserted = heir.call(opened -> {
                int rows = opened.createStatement().executeUpdate(insert);
                opened.commit();
                return rows;
            });
            assertThat(inserted).isEqualTo(1);
        }
    }

    @Test
    void shouldHaveTheSameForTheJournalsConnections() {
        RunningStore store = RunningStore.start();
        SettingsLoader loaded = store.settings("b1", dir);
        assertThat(loaded.akka().getString("akka-persistence-jdbc.shared-databases.slick.db.connectionInitSql"))
                .contains("idle_in_transaction_session_timeout = '" + StoreConnection.ABANDONED_MS / 1_000 + "s'");
    }
}

package io.weir.supervisor.store;

import io.weir.config.SettingsLoader;
import io.weir.supervisor.FreePorts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** A store of its own for one test: an empty database in the embedded PostgreSQL, of which every test JVM has one. */
public final class RunningStore implements AutoCloseable {
    private static final String PASSWORD = "a-test's-password";
    private static final AtomicInteger DATABASES = new AtomicInteger();

    /** One server for the whole test JVM; it ends with it. */
    private static final class Server {
        private static final int PORT = FreePorts.take(1)[0];

        static {
            try {
                Path directory = Files.createTempDirectory("weir-test-store");
                StoreServer server = StoreServer.start(directory, PORT, PASSWORD);
                Runtime.getRuntime().addShutdownHook(new Thread(() -> end(server, directory)));
                // Nothing that a test writes must outlive a power cut, and disks of build machines are slow.
                execute(StoreServer.url(PORT), "ALTER SYSTEM SET fsync = off");
                execute(StoreServer.url(PORT), "SELECT pg_reload_conf()");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static void end(StoreServer server, Path directory) {
            server.close();
            try {
                PostgresPrograms.delete(directory);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private final String name;

    private RunningStore(String name) {
        this.name = name;
    }

    public static RunningStore start() {
        RunningStore store = new RunningStore("weir" + DATABASES.incrementAndGet());
        execute(StoreServer.url(Server.PORT), "CREATE DATABASE " + store.name);
        return store;
    }

    String name() {
        return name;
    }

    private String url() {
        return StoreServer.url(Server.PORT).replaceFirst("[^/]*$", name);
    }

    public Connection connect() throws SQLException {
        return DriverManager.getConnection(url(), StoreServer.USER, PASSWORD);
    }

    public void execute(String sql) {
        execute(url(), sql);
    }

    private static void execute(String url, String sql) {
        try (Connection connection = DriverManager.getConnection(url, StoreServer.USER, PASSWORD);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    /** A broker's environment with this store, and ports of its own; its cluster is itself. */
    public Map<String, String> environment(String brokerId, Path dataDirectory) {
        return environment(brokerId, dataDirectory, url());
    }

    public static Map<String, String> environment(String brokerId, Path dataDirectory, String url) {
        int[] ports = FreePorts.take(4);
        return new HashMap<>(Map.of(
                "WEIR_BROKER_ID",
                brokerId,
                "WEIR_BROKER_DATA_DIR",
                dataDirectory.toString(),
                "WEIR_STORE_URL",
                url,
                "WEIR_STORE_PASSWORD",
                PASSWORD,
                "WEIR_HTTP_PORT",
                Integer.toString(ports[0]),
                "WEIR_TCP_PORT",
                Integer.toString(ports[1]),
                "WEIR_CLUSTER_PORT",
                Integer.toString(ports[2]),
                "WEIR_CLUSTER_MANAGEMENT_PORT",
                Integer.toString(ports[3]),
                "WEIR_CLUSTER_DISCOVERY_CONTACT_POINTS",
                "127.0.0.1:" + ports[3]));
    }

    public SettingsLoader settings(String brokerId, Path dataDirectory) {
        return SettingsLoader.load(Optional.empty(), environment(brokerId, dataDirectory));
    }

    public static String password() {
        return PASSWORD;
    }

    /** Whoever still has a connection loses it. */
    @Override
    public void close() {
        execute(StoreServer.url(Server.PORT), "DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
    }
}

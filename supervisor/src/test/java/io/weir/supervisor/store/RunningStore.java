package io.weir.supervisor.store;

import io.weir.config.SettingsLoader;
import io.weir.config.WeirSettings.StoreKind;
import io.weir.supervisor.FreePorts;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** A store of its own for one test: the embedded server in this JVM, or a database in a real PostgreSQL. */
public final class RunningStore implements AutoCloseable {
    private static final String PASSWORD = "a-test's-password";
    private static final AtomicInteger DATABASES = new AtomicInteger();

    /** One server for the whole test JVM; it ends with it. */
    private static final class Postgres {
        private static final EmbeddedPostgres SERVER = start();

        private static EmbeddedPostgres start() {
            try {
                return EmbeddedPostgres.builder().start();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private final StoreKind kind;
    private final String url;
    private final String user;
    private final Optional<StoreServer> server;

    private RunningStore(StoreKind kind, String url, String user, Optional<StoreServer> server) {
        this.kind = kind;
        this.url = url;
        this.user = user;
        this.server = server;
    }

    /** @param directory where the embedded store keeps its database */
    public static RunningStore start(StoreKind kind, Path directory) {
        if (kind == StoreKind.H2) {
            int port = FreePorts.take(1)[0];
            return new RunningStore(
                    kind,
                    StoreServer.url(port),
                    StoreServer.USER,
                    Optional.of(StoreServer.start(directory, port, PASSWORD)));
        }
        String name = "weir" + DATABASES.incrementAndGet();
        RunningStore postgres = new RunningStore(
                kind, Postgres.SERVER.getJdbcUrl("postgres", "postgres"), "postgres", Optional.empty());
        postgres.execute("CREATE DATABASE " + name);
        return new RunningStore(kind, Postgres.SERVER.getJdbcUrl("postgres", name), "postgres", Optional.empty());
    }

    /** Whatever the store made at its start is gone afterwards. */
    public RunningStore emptied() {
        if (kind == StoreKind.H2) {
            execute("DROP ALL OBJECTS");
        }
        return this;
    }

    public Connection connect() throws SQLException {
        return DriverManager.getConnection(url, user, PASSWORD);
    }

    public void execute(String sql) {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    /** A broker's environment with this store, and ports of its own; its cluster is itself. */
    public Map<String, String> environment(String brokerId, Path dataDirectory) {
        return environment(brokerId, dataDirectory, url, user);
    }

    public static Map<String, String> environment(String brokerId, Path dataDirectory, String url, String user) {
        int[] ports = FreePorts.take(4);
        return new HashMap<>(Map.of(
                "WEIR_BROKER_ID",
                brokerId,
                "WEIR_BROKER_DATA_DIR",
                dataDirectory.toString(),
                "WEIR_STORE_URL",
                url,
                "WEIR_STORE_USER",
                user,
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

    @Override
    public void close() {
        server.ifPresent(StoreServer::close);
    }
}

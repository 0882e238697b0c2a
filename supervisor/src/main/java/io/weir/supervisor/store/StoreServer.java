package io.weir.supervisor.store;

import io.weir.config.Endpoint;
import io.weir.config.WeirSettings.StoreKind;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.h2.tools.Server;

/**
 * The embedded store: an H2 database behind a TCP port, on loopback unless told otherwise, in a process of its own, because it must outlive any
 * broker. The database is opened here first, so that a client can connect to it but never create another one.
 */
public final class StoreServer implements AutoCloseable {
    public static final String USER = "weir";
    private static final String DATABASE = "weir";
    private static final String LOOPBACK = "127.0.0.1";

    private final Connection keepOpen;
    private final Server server;

    private StoreServer(Connection keepOpen, Server server) {
        this.keepOpen = keepOpen;
        this.server = server;
    }

    public static StoreServer start(Path directory, int port, String password) {
        return start(directory, new Endpoint(LOOPBACK, port), password);
    }

    /** Elsewhere than on loopback, whoever knows the password is let in from other hosts too. */
    public static StoreServer start(Path directory, Endpoint address, String password) {
        // H2 binds to all addresses unless this is set, and reads it once.
        System.setProperty("h2.bindAddress", address.host());
        String file = directory.toAbsolutePath().resolve(DATABASE).toString();
        Connection connection = null;
        try {
            connection = DriverManager.getConnection(
                    "jdbc:h2:file:" + file
                            + ";DATABASE_TO_UPPER=false;DB_CLOSE_DELAY=-1;WRITE_DELAY=0;DB_CLOSE_ON_EXIT=FALSE",
                    USER,
                    password);
            connection.setAutoCommit(false);
            StoreSchema.ensure(connection, StoreKind.H2);
            List<String> options = new ArrayList<>(List.of(
                    "-tcpPort",
                    Integer.toString(address.port()),
                    "-baseDir",
                    directory.toAbsolutePath().toString()));
            if (!address.loopback()) {
                options.add("-tcpAllowOthers");
            }
            Server server =
                    Server.createTcpServer(options.toArray(String[]::new)).start();
            return new StoreServer(connection, server);
        } catch (StoreException e) {
            shutDown(connection);
            throw e;
        } catch (SQLException e) {
            shutDown(connection);
            throw new StoreException(
                    "the store in " + directory + " can't start on " + address + ": " + e.getMessage(), e);
        }
    }

    /** What a broker connects with. */
    public static String url(int port) {
        return url(new Endpoint(LOOPBACK, port));
    }

    public static String url(Endpoint address) {
        return "jdbc:h2:tcp://" + address + "/./" + DATABASE + ";DATABASE_TO_UPPER=false";
    }

    @Override
    public void close() {
        server.stop();
        shutDown(keepOpen);
    }

    private static void shutDown(Connection opened) {
        if (opened == null) {
            return;
        }
        try (Connection connection = opened;
                Statement statement = connection.createStatement()) {
            statement.execute("SHUTDOWN");
        } catch (SQLException e) {
            throw new StoreException("the store did not shut down cleanly: " + e.getMessage(), e);
        }
    }
}

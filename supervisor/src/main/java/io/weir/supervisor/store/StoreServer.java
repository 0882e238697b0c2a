package io.weir.supervisor.store;

import io.weir.config.Endpoint;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The embedded store: a PostgreSQL of its own for one cluster, with the database in a folder of the cluster's. It is
 * the server's process itself that outlives the brokers, with no JVM around it: {@link #prepare} makes everything ready
 * and says which command to become.
 *
 * <p>A commit is acknowledged, and seen by others, only after it is on the disk. So whoever reads a row may rely on it
 * whatever happens next to the server: an heir that reads the journal of a dead broker acts on nothing that a crash
 * could take back.
 */
public final class StoreServer implements AutoCloseable {
    public static final String USER = "weir";
    private static final String DATABASE = "weir";
    private static final String LOOPBACK = "127.0.0.1";
    /** What an older Weir kept its store in. */
    private static final String FORMER_DATABASE = "weir.mv.db";

    private static final long READY_WITHIN_NS = TimeUnit.SECONDS.toNanos(60);
    private static final long STOP_WITHIN_S = 30;
    private static final long LOOK_MS = 20;

    private final Process process;

    private StoreServer(Process process) {
        this.process = process;
    }

    /**
     * Unpacks PostgreSQL and makes the database where they are missing, gives it its settings and clears away what a
     * killed server left. Two that prepare the same directory at once wait for each other.
     *
     * @param password the one that the database was made with, if it exists
     * @return the command that is the server. SIGINT stops it at once and cleanly; SIGTERM waits for its clients.
     */
    public static List<String> prepare(Path directory, Endpoint address, String password) {
        formerStore(directory).ifPresent(line -> {
            throw new StoreException(line);
        });
        try {
            Path own = Files.createDirectories(directory).toRealPath();
            try (FileChannel lock = FileChannel.open(
                    own.resolve("prepare.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                lock.lock();
                Path programs = PostgresPrograms.unpacked(own);
                PostgresData data = new PostgresData(
                        own.resolve("postgresql"), programs, Unprivileged.in(own, programs.resolve("bin/postgres")));
                if (!data.exists()) {
                    data.create(USER, DATABASE, password);
                }
                data.sweep();
                data.configure(address);
                data.own();
                return data.serve();
            }
        } catch (IOException e) {
            throw new StoreException("the store in " + directory + " can't be made ready: " + e, e);
        }
    }

    /**
     * The one line about a directory with a database of an older Weir, which this one can't read; empty if there is
     * none.
     */
    public static Optional<String> formerStore(Path directory) {
        Path file = directory.resolve(FORMER_DATABASE);
        return Files.exists(file)
                ? Optional.of(
                        file + " is the store of an older Weir (H2), which this one can't read: start with another"
                                + " directory, or move the file away and define the topics again ('weir topic list' of the older Weir shows"
                                + " them)")
                : Optional.empty();
    }

    /** Runs it as a child of this process until it is closed; returns when it answers. */
    public static StoreServer start(Path directory, int port, String password) {
        List<String> command = prepare(directory, new Endpoint(LOOPBACK, port), password);
        try {
            StoreServer server = new StoreServer(new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(
                            directory.resolve("server.log").toFile()))
                    .start());
            server.awaitAnswer(directory, port, password);
            return server;
        } catch (IOException e) {
            throw new StoreException("the store in " + directory + " can't start: " + e.getMessage(), e);
        }
    }

    private void awaitAnswer(Path directory, int port, String password) {
        long beganNs = System.nanoTime();
        while (true) {
            try (Connection connection = DriverManager.getConnection(url(port), USER, password)) {
                connection.isValid(1);
                return;
            } catch (SQLException e) {
                if (!process.isAlive() || System.nanoTime() - beganNs > READY_WITHIN_NS) {
                    close();
                    throw new StoreException(
                            "the store in " + directory + " can't start on port " + port + ": " + e.getMessage(), e);
                }
            }
            try {
                TimeUnit.MILLISECONDS.sleep(LOOK_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                close();
                throw new StoreException("interrupted", e);
            }
        }
    }

    /** The server itself. */
    Process process() {
        return process;
    }

    /** What a broker connects with. */
    public static String url(int port) {
        return url(new Endpoint(LOOPBACK, port));
    }

    public static String url(Endpoint address) {
        return "jdbc:postgresql://" + address + "/" + DATABASE;
    }

    /** The same with user and password, for who takes nothing but a URL. */
    public static String url(Endpoint address, String password) {
        return url(address) + "?user=" + USER + "&password=" + password;
    }

    /**
     * Ends a server cleanly without waiting for its clients. One that is still being prepared ends as {@link #kill}
     * ends it.
     */
    public static void stop(long pid) {
        if (isPreparing(pid)) {
            kill(pid);
        } else {
            Command.of(List.of("kill", "-INT", Long.toString(pid))).succeeds();
        }
    }

    /**
     * Ends a server at once. While it is prepared, a shell, a JVM and initdb are at work; all of them end with it, and
     * what they leave is swept by the next one that prepares.
     */
    public static void kill(long pid) {
        if (isPreparing(pid)) {
            // Whoever stands still starts nobody, so no child is missed.
            Command.of(List.of("kill", "-STOP", Long.toString(pid))).succeeds();
            ProcessHandle.of(pid).stream()
                    .flatMap(ProcessHandle::children)
                    .toList()
                    .forEach(child -> kill(child.pid()));
        }
        ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
    }

    /** A server's children are its own to end. Where no name can be seen, it counts as a server. */
    private static boolean isPreparing(long pid) {
        String name = PostgresData.name(pid);
        return !name.isEmpty() && !name.equals("postgres");
    }

    @Override
    public void close() {
        stop(process.pid());
        try {
            if (!process.waitFor(STOP_WITHIN_S, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}

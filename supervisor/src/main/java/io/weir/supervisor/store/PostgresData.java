package io.weir.supervisor.store;

import io.weir.config.Endpoint;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The embedded store's database as files: made once, whole or not at all; given its settings at every start; and freed
 * of what a server that was killed has left behind.
 */
final class PostgresData {
    private static final String PID_FILE = "postmaster.pid";
    private static final long ORPHANS_END_WITHIN_NS = TimeUnit.SECONDS.toNanos(3);
    private static final long KILLED_END_WITHIN_NS = TimeUnit.SECONDS.toNanos(10);
    private static final long LOOK_MS = 10;

    private final Path folder;
    private final Path programs;
    private final Unprivileged way;

    PostgresData(Path folder, Path programs, Unprivileged way) {
        this.folder = folder;
        this.programs = programs;
        this.way = way;
    }

    boolean exists() {
        return Files.isDirectory(folder);
    }

    /**
     * Until it is complete and on the disk it has another name; what an earlier attempt left under that name is
     * removed. The database that initdb makes gets the name that the store's URL has before anybody can connect.
     */
    void create(String user, String database, String password) throws IOException {
        Path half = folder.resolveSibling(folder.getFileName() + ".half");
        PostgresPrograms.delete(half);
        List<String> initdb = new ArrayList<>(List.of(
                programs.resolve("bin/initdb").toString(),
                "--pgdata=" + half,
                "--username=" + user,
                "--pwfile=/dev/stdin",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--data-checksums",
                "--wal-segsize=4",
                "--no-instructions"));
        if (System.getProperty("os.name").equals("Linux")) {
            // One call for a thousand files.
            initdb.add("--sync-method=syncfs");
        }
        try {
            new Command(way.command(initdb), password + "\n").run();
            new Command(
                            way.command(List.of(
                                    programs.resolve("bin/postgres").toString(),
                                    "--single",
                                    "-D",
                                    half.toString(),
                                    "-c",
                                    "exit_on_error=on",
                                    "template1")),
                            "ALTER DATABASE postgres RENAME TO " + database + ";\n")
                    .run();
            Files.move(half, folder, StandardCopyOption.ATOMIC_MOVE);
            try (FileChannel parent = FileChannel.open(folder.getParent(), StandardOpenOption.READ)) {
                parent.force(true);
            }
        } catch (StoreException | IOException e) {
            PostgresPrograms.delete(half);
            throw e;
        }
    }

    /** Writes only what changed: on a full disk the store must still start. */
    void configure(Endpoint address) throws IOException {
        replace("postgresql.conf", settings(address));
        replace("pg_hba.conf", admission(address));
    }

    private void replace(String name, String text) throws IOException {
        Path file = folder.resolve(name);
        if (Files.exists(file) && Files.readString(file).equals(text)) {
            return;
        }
        Path next = folder.resolve(name + ".next");
        Files.writeString(next, text);
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /** Durable first: an acknowledged commit is on the disk. Then small: a few brokers write a few times a second. */
    private static String settings(Endpoint address) {
        return String.join(
                "\n",
                "# Written by Weir at every start; a setting of yours goes to postgresql.auto.conf (ALTER SYSTEM).",
                "listen_addresses = '" + address.host() + "'",
                "port = " + address.port(),
                "# No socket file: its path may be too long, and another user's folder is not ours to write.",
                "unix_socket_directories = ''",
                "",
                "# What was acknowledged outlives a crash and a power cut, and nobody sees a commit before it does.",
                "fsync = on",
                "synchronous_commit = on",
                "full_page_writes = on",
                "wal_level = minimal",
                "max_wal_senders = 0",
                "min_wal_size = 8MB",
                "max_wal_size = 32MB",
                "",
                "# Six to eight a broker, and fifty brokers at most.",
                "max_connections = 400",
                "max_locks_per_transaction = 16",
                "shared_buffers = 16MB",
                "max_worker_processes = 1",
                "max_parallel_workers = 0",
                "max_parallel_workers_per_gather = 0",
                "max_logical_replication_workers = 0",
                "autovacuum_max_workers = 1",
                "jit = off",
                "",
                "# The session of a broker that is gone without a word lets go of its locks.",
                "tcp_keepalives_idle = 5",
                "tcp_keepalives_interval = 2",
                "tcp_keepalives_count = 3",
                "",
                "log_checkpoints = off",
                "log_min_messages = warning",
                "log_min_error_statement = panic",
                "log_line_prefix = '%m [%p] '",
                "log_timezone = 'UTC'",
                "timezone = 'UTC'",
                "");
    }

    /** Everybody needs the password; elsewhere than on loopback it lets others in too. */
    private static String admission(Endpoint address) {
        Stream<String> from =
                address.loopback() ? Stream.of("127.0.0.1/32", "::1/128") : Stream.of("0.0.0.0/0", "::/0");
        return from.map(each -> "host all all " + each + " scram-sha-256\n")
                .reduce("# Written by Weir at every start.\n", String::concat);
    }

    /**
     * PostgreSQL refuses files that are another user's; which user it runs as can change with what the machine allows.
     */
    void own() throws IOException {
        int current = (Integer) Files.getAttribute(folder, "unix:uid");
        int wanted = way.owner().orElseGet(PostgresData::ownUid);
        if (current == wanted) {
            return;
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.toList()) {
                Files.setAttribute(file, "unix:uid", wanted);
            }
        } catch (IOException e) {
            throw new StoreException("the database in " + folder + " belongs to the user with number " + current
                    + ", and this user may not change that: " + e.getMessage());
        }
    }

    private static int ownUid() {
        return Integer.parseInt(Command.of(List.of("id", "-u")).run());
    }

    /**
     * After a kill -9 the server's file with its process number is still there, and its children may be: they end by
     * themselves when they look, unless they stand still. The server would refuse to start while one of them lives,
     * which is right, and while its old number is that of some other process, which after a restart of a container is
     * likely and would be so for ever.
     *
     * @throws StoreException if the database's server runs
     */
    void sweep() throws IOException {
        Path file = folder.resolve(PID_FILE);
        if (Files.notExists(file)) {
            return;
        }
        Optional<Long> server = Files.readString(file).lines().findFirst().flatMap(PostgresData::number);
        if (server.filter(pid -> isServedBy(pid)).isPresent()) {
            throw new StoreException(
                    "the store in " + folder.getParent() + " runs already, as process " + server.get());
        }
        endOrphans();
        if (server.flatMap(ProcessHandle::of).filter(ProcessHandle::isAlive).isPresent() && isStranger(server.get())) {
            Files.delete(file);
        }
    }

    private void endOrphans() {
        long beganNs = System.nanoTime();
        List<ProcessHandle> orphans = orphans();
        while (!orphans.isEmpty()) {
            long waitedNs = System.nanoTime() - beganNs;
            if (waitedNs > ORPHANS_END_WITHIN_NS) {
                // Their server is gone, and what they acknowledged is on the disk.
                orphans.forEach(ProcessHandle::destroyForcibly);
            }
            if (waitedNs > KILLED_END_WITHIN_NS) {
                throw new StoreException("processes of a store that was killed are still there: " + orphans);
            }
            try {
                TimeUnit.MILLISECONDS.sleep(LOOK_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new StoreException("interrupted", e);
            }
            orphans = orphans();
        }
    }

    private List<ProcessHandle> orphans() {
        return ProcessHandle.allProcesses()
                .filter(process -> isServedBy(process.pid()))
                .toList();
    }

    /** A server and its children work in its folder. */
    private boolean isServedBy(long pid) {
        return workingFolder(pid).filter(this::isThis).isPresent() && name(pid).equals("postgres");
    }

    private boolean isThis(Path other) {
        try {
            return Files.isSameFile(other, folder);
        } catch (IOException e) {
            return false;
        }
    }

    /** Certainly no server of this folder. Where that can't be seen, PostgreSQL decides. */
    private boolean isStranger(long pid) {
        String name = name(pid);
        return !name.isEmpty() && !name.equals("postgres")
                || workingFolder(pid).filter(other -> !isThis(other)).isPresent();
    }

    private static Optional<Path> workingFolder(long pid) {
        try {
            return Optional.of(Files.readSymbolicLink(Path.of("/proc", Long.toString(pid), "cwd")));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Empty for one that has ended and elsewhere than on Linux. */
    static String name(long pid) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(pid), "comm"))
                    .strip();
        } catch (IOException e) {
            return "";
        }
    }

    private static Optional<Long> number(String text) {
        try {
            return Optional.of(Long.parseLong(text.strip()));
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    List<String> serve() {
        return way.command(List.of(programs.resolve("bin/postgres").toString(), "-D", folder.toString()));
    }
}

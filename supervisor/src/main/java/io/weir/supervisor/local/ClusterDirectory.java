package io.weir.supervisor.local;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A local cluster's data directory.
 *
 * <pre>
 * version           of this layout
 * cluster.json      what the cluster consists of ({@link ClusterState})
 * store/            the embedded store's database, and its password, for this user only
 * brokers.conf      settings that every broker has; empty unless some were given
 * brokers/ID/       a broker's settings and its own data
 * logs/NAME.log     what each process said
 * recordings/TOPIC.csv   the last recording of a topic's arrivals; there when somebody made one
 * </pre>
 */
public final class ClusterDirectory {
    private static final String VERSION = "1";
    private static final long LOCK_POLL_MS = 20;
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");

    private final Path root;

    private ClusterDirectory(Path root) {
        this.root = root;
    }

    /** Makes the directory where it is missing; refuses one of another version, or one that is something else. */
    public static ClusterDirectory create(Path path) {
        Path root = path.toAbsolutePath().normalize();
        try {
            boolean fresh = Files.notExists(root);
            Files.createDirectories(root);
            Path version = root.resolve("version");
            if (Files.notExists(version)) {
                if (!fresh && !isEmpty(root)) {
                    throw new LocalClusterException(
                            root + " holds files that are not Weir's: choose an empty or a new directory with --data");
                }
                restrict(root, "rwx------");
                Files.writeString(version, VERSION + "\n");
            }
            checkVersion(version);
            for (String folder : List.of("store", "brokers", "logs")) {
                Files.createDirectories(root.resolve(folder));
            }
            if (!Files.isWritable(root)) {
                throw noRights(root);
            }
            return new ClusterDirectory(root);
        } catch (IOException e) {
            throw noRights(root);
        }
    }

    /** A directory that a cluster was started in before. */
    public static ClusterDirectory existing(Path path) {
        Path root = path.toAbsolutePath().normalize();
        Path version = root.resolve("version");
        if (!Files.isReadable(version)) {
            throw new LocalClusterException(
                    "no cluster was ever started in " + root + ": start one with 'weir up --data " + root + "'");
        }
        try {
            checkVersion(version);
        } catch (IOException e) {
            throw noRights(root);
        }
        return new ClusterDirectory(root);
    }

    private static void checkVersion(Path file) throws IOException {
        String version = Files.readString(file).strip();
        if (!version.equals(VERSION)) {
            throw new LocalClusterException(
                    file.getParent() + " is of version '" + version + "', this Weir reads version " + VERSION
                            + ": use the Weir that wrote it, or another directory with --data");
        }
    }

    private static boolean isEmpty(Path directory) throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.findAny().isEmpty();
        }
    }

    private static LocalClusterException noRights(Path root) {
        return new LocalClusterException(
                "the data directory " + root + " can't be written: get the rights, or choose another with --data");
    }

    private static void restrict(Path path, String permissions) throws IOException {
        if (FileSystems.getDefault().supportedFileAttributeViews().contains("posix")) {
            Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
        }
    }

    public Path root() {
        return root;
    }

    public Path log(String name) {
        return root.resolve("logs").resolve(name + ".log");
    }

    public Path recording(String topic) {
        return root.resolve("recordings").resolve(topic + ".csv");
    }

    /** Settings that every broker has beside its own; empty if there are none. */
    String settings() {
        Path file = root.resolve("brokers.conf");
        try {
            return Files.exists(file) ? Files.readString(file) : "";
        } catch (IOException e) {
            throw noRights(root);
        }
    }

    void keepSettings(String text) {
        try {
            writeSecret(root.resolve("brokers.conf"), text);
        } catch (IOException e) {
            throw noRights(root);
        }
    }

    Path storeDirectory() {
        return root.resolve("store");
    }

    Path brokerDirectory(String id) {
        return root.resolve("brokers").resolve(id);
    }

    /**
     * Where the media driver keeps its buffers: in memory where the system has such a file system, because a disk's
     * write-back would show as latency. Its name follows from this directory, so that a later command finds and removes
     * it.
     */
    public Path aeronDirectory() {
        if (!Files.isWritable(SHARED_MEMORY)) {
            return root.resolve("aeron");
        }
        return SHARED_MEMORY.resolve(
                "weir-" + Integer.toHexString(root.toString().hashCode()));
    }

    /** Only one command at a time changes a cluster. */
    Closeable lock() {
        return lock("command", 0);
    }

    /** Holds the lock of that name until it is closed, or the process ends; waits for whoever has it for so long. */
    Closeable lock(String name, long withinMs) {
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(withinMs);
        try {
            FileChannel channel =
                    FileChannel.open(root.resolve(name + ".lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            while (tryLock(channel) == null) {
                if (System.nanoTime() - deadlineNs >= 0) {
                    channel.close();
                    throw new LocalClusterException(
                            withinMs == 0
                                    ? "another command is starting or stopping the cluster in " + root
                                    : "another " + name + " looks after " + root);
                }
                LocalProcess.sleep(LOCK_POLL_MS);
            }
            return channel;
        } catch (IOException e) {
            throw noRights(root);
        }
    }

    private static FileLock tryLock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock();
        } catch (OverlappingFileLockException e) {
            return null;
        }
    }

    public Optional<ClusterState> state() {
        Path file = root.resolve("cluster.json");
        if (Files.notExists(file)) {
            return Optional.empty();
        }
        try {
            return Optional.of(new ObjectMapper().readValue(file.toFile(), ClusterState.class));
        } catch (IOException e) {
            throw new LocalClusterException(file + " can't be read ("
                    + e.getMessage().lines().findFirst().orElse("") + ")");
        }
    }

    void write(ClusterState state) {
        try {
            Path next = root.resolve("cluster.json.next");
            Files.writeString(next, state.json());
            Files.move(
                    next,
                    root.resolve("cluster.json"),
                    StandardCopyOption.ATOMIC_MOVE,
                    StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw noRights(root);
        }
    }

    /** The embedded store's password: made once, readable by this user only. */
    String storePassword() {
        Path file = storeDirectory().resolve("password");
        try {
            if (Files.notExists(file)) {
                byte[] random = new byte[16];
                new SecureRandom().nextBytes(random);
                writeSecret(file, HexFormat.of().formatHex(random));
            }
            return Files.readString(file).strip();
        } catch (IOException e) {
            throw noRights(root);
        }
    }

    void writeSecret(Path file, String text) throws IOException {
        Files.deleteIfExists(file);
        Files.createFile(file);
        restrict(file, "rw-------");
        Files.writeString(file, text, StandardCharsets.UTF_8);
    }

    void deleteAeronDirectory() {
        Path directory = aeronDirectory();
        if (Files.notExists(directory)) {
            return;
        }
        try (Stream<Path> entries = Files.walk(directory)) {
            for (Path entry : entries.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(entry);
            }
        } catch (IOException e) {
            throw new LocalClusterException(
                    "the media driver's directory " + directory + " can't be removed: " + e.getMessage());
        }
    }
}

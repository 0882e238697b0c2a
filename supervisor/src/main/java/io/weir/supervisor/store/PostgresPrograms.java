package io.weir.supervisor.store;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tukaani.xz.XZInputStream;

/**
 * PostgreSQL's programs, which a jar on the class path brings as an archive. They are unpacked once for each user and
 * version, into {@code ~/.cache/weir}, or beside the database where there is no such place. Root's are in
 * {@code /var/cache/weir}: they may have to run as somebody who can't look into root's home. They appear there whole or
 * not at all, also when several processes unpack at once or one of them is killed.
 */
final class PostgresPrograms {
    private static final String MUSL = "/lib/ld-musl-";
    private static final Path OF_THE_SYSTEM = Path.of("/var/cache");
    /** A lock file keeps other processes out, this keeps the other threads out. */
    private static final Object IN_THIS_PROCESS = new Object();

    private static final Logger LOG = LoggerFactory.getLogger(PostgresPrograms.class);

    private PostgresPrograms() {}

    /** The folder with {@code bin}, {@code lib} and {@code share}. */
    static Path unpacked(Path ifHomeIsReadOnly) {
        String name = archiveName();
        URL archive = PostgresPrograms.class.getClassLoader().getResource(name);
        if (archive == null) {
            throw new StoreException("this Weir brings no PostgreSQL for this machine (" + name
                    + " is in none of its jars): add the jar to lib/, or use a PostgreSQL of yours with"
                    + " 'weir up --store URL'");
        }
        try {
            Optional<Path> cache = cache(System.getenv(), Files.isWritable(OF_THE_SYSTEM));
            if (cache.isPresent()) {
                try {
                    return unpacked(archive, cache.get());
                } catch (IOException e) {
                    LOG.debug("PostgreSQL can't be unpacked into {}: {}", cache.get(), e.toString());
                }
            }
            return unpacked(archive, ifHomeIsReadOnly);
        } catch (IOException e) {
            throw new StoreException("PostgreSQL can't be unpacked into " + ifHomeIsReadOnly + ": " + e, e);
        }
    }

    static Path unpacked(URL archive, Path cache) throws IOException {
        Path home = cache.resolve("postgresql-" + identity(archive));
        if (Files.isDirectory(home)) {
            return home;
        }
        Files.createDirectories(cache.getParent());
        makeReadable(cache, cache);
        synchronized (IN_THIS_PROCESS) {
            try (FileChannel lock = FileChannel.open(
                    cache.resolve("unpack.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                lock.lock();
                if (!Files.isDirectory(home)) {
                    Path half = cache.resolve(home.getFileName() + ".half");
                    delete(half);
                    unpack(archive, half);
                    Files.move(half, home, StandardCopyOption.ATOMIC_MOVE);
                }
            }
        }
        return home;
    }

    private static void unpack(URL archive, Path into) throws IOException {
        try (InputStream in = archive.openStream();
                TarArchiveInputStream tar =
                        new TarArchiveInputStream(new XZInputStream(new BufferedInputStream(in, 1 << 16)))) {
            for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
                Path target = into.resolve(entry.getName()).normalize();
                if (!target.startsWith(into)) {
                    throw new IOException(entry.getName() + " leads out of " + archive);
                }
                makeReadable(into, entry.isDirectory() ? target : target.getParent());
                if (entry.isSymbolicLink()) {
                    Files.createSymbolicLink(target, Path.of(entry.getLinkName()));
                } else if (entry.isFile()) {
                    Files.copy(tar, target);
                    Files.setPosixFilePermissions(
                            target,
                            PosixFilePermissions.fromString((entry.getMode() & 0100) != 0 ? "rwxr-xr-x" : "rw-r--r--"));
                }
            }
        }
        sync(into);
    }

    /**
     * A power cut must not leave a folder of empty files under its final name. One call for all files: a thousand
     * single ones take seconds.
     */
    private static void sync(Path folder) throws IOException {
        try {
            Command.of(List.of("sync", "-f", folder.toString())).run();
        } catch (StoreException e) {
            // Another system's sync knows no single file system.
            Command.of(List.of("sync")).run();
        }
    }

    static void delete(Path folder) throws IOException {
        if (Files.notExists(folder)) {
            return;
        }
        try (Stream<Path> entries = Files.walk(folder)) {
            for (Path entry : entries.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(entry);
            }
        }
    }

    /** Empty if this user has no home: Java then calls it "?". */
    static Optional<Path> cache(Map<String, String> environment, boolean root) {
        return Stream.of(
                        Optional.ofNullable(environment.get("XDG_CACHE_HOME")).map(Path::of),
                        Optional.of(OF_THE_SYSTEM).filter(cache -> root),
                        Optional.ofNullable(environment.get("HOME")).map(home -> Path.of(home, ".cache")))
                .flatMap(Optional::stream)
                .filter(Path::isAbsolute)
                .map(cache -> cache.resolve("weir"))
                .findFirst();
    }

    /** For who is not its owner too, whatever the umask is. */
    private static void makeReadable(Path top, Path folder) throws IOException {
        if (Files.notExists(folder)) {
            if (!folder.equals(top)) {
                makeReadable(top, folder.getParent());
            }
            Files.createDirectory(folder);
            Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
    }

    /** Another archive gets another folder; its checksum is in the jar's table of contents, so nothing is read. */
    private static String identity(URL archive) throws IOException {
        URLConnection connection = archive.openConnection();
        connection.setUseCaches(false);
        String name = Path.of(archive.getPath()).getFileName().toString();
        String platform = name.replaceFirst("^postgres-", "").replaceFirst("\\.txz$", "");
        if (connection instanceof JarURLConnection jar) {
            try (java.util.jar.JarFile file = jar.getJarFile()) {
                return platform + "-" + Long.toHexString(jar.getJarEntry().getCrc());
            }
        }
        return platform + "-" + connection.getContentLengthLong();
    }

    /** As the jars of the binaries name it. */
    private static String archiveName() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String os = system.startsWith("mac") ? "darwin" : system.replace(' ', '_');
        String machine = System.getProperty("os.arch");
        String arch =
                switch (machine) {
                    case "amd64", "x86_64" -> "x86_64";
                    case "aarch64", "arm64" -> "arm_64";
                    default -> machine;
                };
        String library = Files.exists(Path.of(MUSL + arch.replace("arm_64", "aarch64") + ".so.1")) && os.equals("linux")
                ? "-alpine_linux"
                : "";
        return "postgres-" + os + "-" + arch + library + ".txz";
    }
}

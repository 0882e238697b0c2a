package io.weir.cluster;

import io.weir.supervisor.local.Installation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** What {@code mvn package} has left for these tests: they run it, not the classes beside them. */
public final class BuiltDistribution {
    private static final Path TARGET = Path.of("target").toAbsolutePath();

    private BuiltDistribution() {}

    public static Installation installation() {
        return new Installation(only(TARGET.resolve("dist"), "weir-*"));
    }

    static Path archive() {
        return only(TARGET, "weir-*.tar.gz");
    }

    public static Path launcher() {
        return Path.of("..").toAbsolutePath().normalize().resolve("weir");
    }

    /** A directory of a test's own, kept after it. */
    public static Path directory(String name) {
        return TARGET.resolve("clusters").resolve(name);
    }

    /** The same, without what an earlier run has left there. */
    public static Path emptyDirectory(String name) throws IOException {
        Path directory = directory(name);
        if (Files.exists(directory)) {
            try (Stream<Path> entries = Files.walk(directory)) {
                for (Path entry : entries.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(entry);
                }
            }
        }
        return Files.createDirectories(directory);
    }

    private static Path only(Path directory, String glob) {
        try (Stream<Path> found = Files.list(directory)
                .filter(path ->
                        directory.getFileSystem().getPathMatcher("glob:" + glob).matches(path.getFileName()))) {
            return found.findFirst()
                    .orElseThrow(
                            () -> new IllegalStateException("no " + glob + " in " + directory + ": run 'mvn package'"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

package io.weir.supervisor.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tukaani.xz.LZMA2Options;
import org.tukaani.xz.XZOutputStream;

class PostgresProgramsTest {
    private static final int RACERS = 4;

    @TempDir
    private Path dir;

    private URL archive(String program) throws IOException {
        Path file = dir.resolve("postgres-any.txz");
        try (OutputStream out = Files.newOutputStream(file);
                TarArchiveOutputStream tar = new TarArchiveOutputStream(new XZOutputStream(out, new LZMA2Options()))) {
            byte[] text = "#!/bin/sh\necho it runs\n".getBytes(StandardCharsets.UTF_8);
            TarArchiveEntry entry = new TarArchiveEntry(program, true);
            entry.setMode(0100755);
            entry.setSize(text.length);
            tar.putArchiveEntry(entry);
            tar.write(text);
            tar.closeArchiveEntry();
            TarArchiveEntry link = new TarArchiveEntry("lib/link", TarConstants.LF_SYMLINK);
            link.setLinkName("../bin/program");
            tar.putArchiveEntry(link);
            tar.closeArchiveEntry();
        }
        return file.toUri().toURL();
    }

    @Test
    void shouldLeaveOneWholeFolderWhenManyUnpackAtOnceAfterOneThatWasKilled() throws Exception {
        URL archive = archive("bin/program");
        Path cache = dir.resolve("cache");
        Path home = PostgresPrograms.unpacked(archive, cache);
        PostgresPrograms.delete(home);
        Files.createDirectories(cache.resolve(home.getFileName() + ".half").resolve("bin/left-behind"));
        ExecutorService threads = Executors.newFixedThreadPool(RACERS);
        List<Path> unpacked = new ArrayList<>();
        try {
            CyclicBarrier start = new CyclicBarrier(RACERS);
            Callable<Path> racer = () -> {
                start.await();
                return PostgresPrograms.unpacked(archive, cache);
            };
            for (Future<Path> each :
                    threads.invokeAll(Stream.generate(() -> racer).limit(RACERS).toList())) {
                unpacked.add(each.get());
            }
        } finally {
            threads.shutdownNow();
        }

        assertThat(unpacked).containsOnly(home);
        assertThat(Command.of(List.of(home.resolve("lib/link").toString())).run())
                .isEqualTo("it runs");
        assertThat(home.resolve("bin/left-behind")).doesNotExist();
        try (Stream<Path> left = Files.list(cache)) {
            assertThat(left.map(Path::getFileName).map(Path::toString))
                    .containsExactlyInAnyOrder(home.getFileName().toString(), "unpack.lock");
        }
    }

    @Test
    void shouldUnpackWhereItsUserMayAndWhereANobodyCanReachWhatIsRoots() {
        Map<String, String> home = Map.of("HOME", "/home/somebody");

        assertThat(PostgresPrograms.cache(home, false)).contains(Path.of("/home/somebody/.cache/weir"));
        assertThat(PostgresPrograms.cache(home, true)).contains(Path.of("/var/cache/weir"));
        assertThat(PostgresPrograms.cache(Map.of("HOME", "/root", "XDG_CACHE_HOME", "/elsewhere"), true))
                .contains(Path.of("/elsewhere/weir"));
        assertThat(PostgresPrograms.cache(Map.of("HOME", "?"), false)).isEmpty();
        assertThat(PostgresPrograms.cache(Map.of(), false)).isEmpty();
    }

    @Test
    void shouldRefuseAnArchiveThatLeadsElsewhere() throws IOException {
        URL archive = archive("../program");

        assertThatThrownBy(() -> PostgresPrograms.unpacked(archive, dir.resolve("cache")))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("leads out of");
        assertThat(dir.resolve("cache/program")).doesNotExist();
    }
}

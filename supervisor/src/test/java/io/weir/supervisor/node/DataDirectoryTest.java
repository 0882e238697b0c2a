package io.weir.supervisor.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.supervisor.Await;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DataDirectoryTest {
    private static final int GOT_IT = 10;
    private static final int REFUSED = 11;

    @TempDir
    private Path dir;

    /** Another process that wants the directory. */
    static final class Contender {
        private Contender() {}

        public static void main(String[] args) {
            try (DataDirectory directory = DataDirectory.lock(Path.of(args[0]))) {
                System.exit(GOT_IT);
            } catch (StartException e) {
                System.exit(e.getMessage().contains("is in use by another broker process") ? REFUSED : 1);
            }
        }
    }

    /** Another process that has the directory until it is killed; it says so with a file. */
    static final class Holder {
        private Holder() {}

        public static void main(String[] args) throws Exception {
            try (DataDirectory directory = DataDirectory.lock(Path.of(args[0]))) {
                Files.createFile(Path.of(args[0]).resolve("held"));
                new CountDownLatch(1).await();
            }
        }
    }

    @Test
    void shouldKeepEveryoneElseOutWhileItIsHeld() throws Exception {
        try (DataDirectory held = DataDirectory.lock(dir)) {
            held.writeIncarnation(7);

            assertThatThrownBy(() -> DataDirectory.lock(dir))
                    .isInstanceOf(StartException.class)
                    .hasMessageContaining(dir.toString())
                    .hasMessageContaining("is in use by another broker process");
            // After the attempt in this process: POSIX would drop the lock with the first descriptor that is closed.
            assertThat(contend()).isEqualTo(REFUSED);
            assertThat(held.lastIncarnation()).isEqualTo(7);
        }
        assertThat(contend()).isEqualTo(GOT_IT);
        DataDirectory.lock(dir).close();
    }

    @Test
    void shouldRememberTheIncarnationWhenTheNextProcessTakesTheDirectory() {
        Path fresh = dir.resolve("not/there/yet");
        try (DataDirectory first = DataDirectory.lock(fresh)) {
            assertThat(first.lastIncarnation()).isZero();
            first.writeIncarnation(Long.MAX_VALUE);
            first.writeIncarnation(42);
            assertThat(first.lastIncarnation()).isEqualTo(42);
        }
        try (DataDirectory second = DataDirectory.lock(fresh)) {
            assertThat(second.lastIncarnation()).isEqualTo(42);
        }
    }

    @Test
    void shouldHearAtOnceThatTheProcessIsDeadThatHeldIt() throws Exception {
        try (DataDirectory before = DataDirectory.lock(dir)) {
            before.writeHolder(7);
        }
        AtomicBoolean killed = new AtomicBoolean();
        Process holder = start(Holder.class);
        try {
            Await.until("it has the lock", () -> Files.exists(dir.resolve("held")));
            CompletableFuture<Long> heard = CompletableFuture.supplyAsync(() -> {
                try (DataDirectory free = DataDirectory.lockWhenFree(dir)) {
                    assertThat(killed).as("nobody gets it from the living").isTrue();
                    return free.lastHolder();
                }
            });
            assertThat(contend()).as("it is held all the while").isEqualTo(REFUSED);
            killed.set(true);
            holder.destroyForcibly();

            assertThat(heard.get(60, TimeUnit.SECONDS)).isEqualTo(7);
        } finally {
            holder.destroyForcibly();
        }
    }

    @Test
    void shouldReadTheNumbersWhenAShorterLineWasWrittenOverALongerOne() throws IOException {
        Files.writeString(dir.resolve("lock"), "12 0\n345\n");
        try (DataDirectory directory = DataDirectory.lock(dir)) {
            assertThat(directory.lastIncarnation()).isEqualTo(12);
            assertThat(directory.lastHolder()).isZero();
        }
    }

    @Test
    void shouldSayWhatToDoWhenTheLockFileIsNotOurs() throws IOException {
        Files.writeString(dir.resolve("lock"), "12x");
        try (DataDirectory directory = DataDirectory.lock(dir)) {
            assertThatThrownBy(directory::lastIncarnation)
                    .isInstanceOf(StartException.class)
                    .hasMessageContaining(dir.toString())
                    .hasMessageContaining("remove it");
        }
    }

    @Test
    void shouldSayWhatToDoWhenTheDirectoryCannotBeMade() throws IOException {
        Path file = Files.writeString(dir.resolve("file"), "");

        assertThatThrownBy(() -> DataDirectory.lock(file.resolve("below")))
                .isInstanceOf(StartException.class)
                .hasMessageContaining(file.resolve("below").toString())
                .hasMessageContaining("rights");
    }

    private int contend() throws Exception {
        Process contender = start(Contender.class);
        if (!contender.waitFor(60, TimeUnit.SECONDS)) {
            contender.destroyForcibly();
        }
        return contender.waitFor();
    }

    private Process start(Class<?> main) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        main.getName(),
                        dir.toString())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
    }
}

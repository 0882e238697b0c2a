package io.weir.cluster;

import java.io.IOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A cluster test that waits for what must come and does not ask how soon: it may run beside others, with what processor
 * time those leave it that {@linkplain Measuring measure}.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(SideBySide.GivesWay.class)
public @interface SideBySide {
    /** Threads and processes that this JVM starts from now on inherit it. */
    final class GivesWay implements BeforeAllCallback {
        private static final Path THREADS = Path.of("/proc/self/task");
        private static final String NICENESS = "5";

        @Override
        public void beforeAll(ExtensionContext context) throws IOException, InterruptedException {
            if (Files.notExists(THREADS)) {
                return;
            }
            List<String> command = new ArrayList<>(List.of("renice", "-n", NICENESS, "-p"));
            try (Stream<Path> threads = Files.list(THREADS)) {
                threads.forEach(thread -> command.add(thread.getFileName().toString()));
            }
            // A thread that has ended meanwhile is no matter.
            new ProcessBuilder(command)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start()
                    .waitFor();
        }
    }
}

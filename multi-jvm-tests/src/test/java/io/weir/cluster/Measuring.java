package io.weir.cluster;

import java.io.IOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A cluster test that asks how much passed in what time, or looks at the whole machine. One such class runs at a time,
 * in whichever JVM; those that are {@link SideBySide} may run meanwhile and give way to it.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(Measuring.OneAtATime.class)
public @interface Measuring {
    /** By a lock on a file, which ends with the process at the latest. */
    final class OneAtATime implements BeforeAllCallback, AfterAllCallback {
        private FileChannel file;

        @Override
        public void beforeAll(ExtensionContext context) throws IOException {
            Path lock = BuiltDistribution.directory("measuring.lock");
            Files.createDirectories(lock.getParent());
            file = FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            file.lock();
        }

        @Override
        public void afterAll(ExtensionContext context) throws IOException {
            file.close();
        }
    }
}

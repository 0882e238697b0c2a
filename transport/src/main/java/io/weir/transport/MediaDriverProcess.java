package io.weir.transport;

import io.aeron.CommonContext;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.exceptions.DriverTimeoutException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.SleepingMillisIdleStrategy;

/**
 * The Aeron media driver that all brokers of one host share, in a process of its own: brokers on one host then link
 * through shared memory, and no broker's pause or death stops another's links.
 *
 * <p>One thread does all its work. Without traffic that thread parks for up to a millisecond, which costs an idle host
 * a few hundredths of a core; the first message wakes it within that time, and while messages flow it does not park.
 */
public final class MediaDriverProcess implements AutoCloseable {
    private static final int SPINS = 20;
    private static final int YIELDS = 10;
    private static final long MIN_PARK_NS = 1_000;
    private static final long MAX_PARK_NS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long NEW_LINK_POLL_MS = 20;
    /** A killed client's streams are freed after this; Aeron's 10 s would stall whoever publishes to it. */
    private static final long CLIENT_LIVENESS_NS = TimeUnit.SECONDS.toNanos(3);

    private static final long DRIVER_TIMEOUT_MS = 2_000;

    private final MediaDriver driver;

    private MediaDriverProcess(MediaDriver driver) {
        this.driver = driver;
    }

    /** Nobody but this user can read or write what goes through {@code directory}. */
    public static MediaDriverProcess start(Path directory) {
        MediaDriver.Context context = new MediaDriver.Context()
                .aeronDirectoryName(directory.toString())
                .dirDeleteOnStart(true)
                .dirDeleteOnShutdown(true)
                .threadingMode(ThreadingMode.SHARED)
                .sharedIdleStrategy(new BackoffIdleStrategy(SPINS, YIELDS, MIN_PARK_NS, MAX_PARK_NS))
                // Its tasks come with a new link only; by default it would look for one a thousand times a second.
                .asyncExecutorIdleStrategy(new SleepingMillisIdleStrategy(NEW_LINK_POLL_MS))
                .driverTimeoutMs(DRIVER_TIMEOUT_MS)
                .clientLivenessTimeoutNs(CLIENT_LIVENESS_NS)
                .warnIfDirectoryExists(false)
                .printConfigurationOnStart(false)
                .spiesSimulateConnection(false);
        MediaDriver launched = MediaDriver.launch(context);
        try {
            // Aeron makes the directory anew, with what the process's umask leaves. What it makes inside is only
            // reached
            // through it, and no broker uses it before this: it waits for a driver that is active.
            closeToOthers(directory);
        } catch (IOException e) {
            launched.close();
            throw new UncheckedIOException(directory + " can't be closed to other users: " + e.getMessage(), e);
        }
        return new MediaDriverProcess(launched);
    }

    private static void closeToOthers(Path directory) throws IOException {
        if (Files.getFileStore(directory).supportsFileAttributeView(PosixFileAttributeView.class)) {
            Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
        }
    }

    /** Whether a driver that works on {@code directory} is alive. */
    public static boolean isActive(Path directory) {
        try {
            return Files.isRegularFile(directory.resolve("cnc.dat"))
                    && CommonContext.isDriverActive(directory.toFile(), DRIVER_TIMEOUT_MS, message -> {});
        } catch (DriverTimeoutException e) {
            return false; // it has made its file, and on a busy machine takes its time to fill it
        }
    }

    @Override
    public void close() {
        driver.close();
    }
}

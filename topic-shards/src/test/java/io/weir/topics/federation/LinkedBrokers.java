package io.weir.topics.federation;

import io.weir.transport.MediaDriverProcess;
import io.weir.transport.gateway.GatewaySettings;
import io.weir.transport.link.LinkSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import org.agrona.IoUtil;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The brokers of one test, linked over a real media driver. What a test opens here is closed after it, last opened
 * first.
 */
final class LinkedBrokers implements BeforeEachCallback, AfterEachCallback {
    static final String TOPIC = "orders";

    private final Deque<AutoCloseable> toClose = new ArrayDeque<>();
    private Path root;

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        Path memory = Path.of("/dev/shm");
        root = Files.isWritable(memory)
                ? Files.createTempDirectory(memory, "weir-federation-")
                : Files.createTempDirectory("weir-federation-");
        startDriver("driver");
    }

    @Override
    public void afterEach(ExtensionContext context) throws Exception {
        while (!toClose.isEmpty()) {
            toClose.pop().close();
        }
        IoUtil.delete(root.toFile(), true);
    }

    /** The directory of the driver that every test has. */
    Path driver() {
        return root.resolve("driver");
    }

    /** A second one, so that links to it go by UDP. */
    void startDriver(String name) throws IOException {
        open(MediaDriverProcess.start(root.resolve(name)));
    }

    <T extends AutoCloseable> T open(T closeable) {
        toClose.push(closeable);
        return closeable;
    }

    /** With supply for {@link #TOPIC}. */
    LinkedBroker broker(String id) throws IOException {
        return open(new LinkedBroker(id, driver())).supply(TOPIC);
    }

    /** Without any. */
    LinkedBroker dryBroker(String id) throws IOException {
        return open(new LinkedBroker(id, driver()));
    }

    /** Its links hold back after some sixty kilobytes. */
    LinkedBroker smallBroker(String id, String driver) throws IOException {
        GatewaySettings usual = GatewaySettings.defaults();
        GatewaySettings gateway = new GatewaySettings(
                100,
                100,
                100,
                8 * 1024,
                64 * 1024,
                2_500,
                usual.bufferBytes(),
                usual.maxBufferBytes(),
                usual.heartbeatNs(),
                usual.maxHeartbeatNs(),
                usual.messageTimeoutNs(),
                usual.maxMessageTimeoutNs(),
                usual.maxDelayNs(),
                usual.stallNs(),
                usual.handshakeNs());
        LinkSettings links = new LinkSettings(
                16 * 1024 - 16, 4, Duration.ofMillis(100), Duration.ofSeconds(3), Duration.ofMillis(50));
        return open(new LinkedBroker(id, root.resolve(driver), gateway, links)).supply(TOPIC);
    }
}

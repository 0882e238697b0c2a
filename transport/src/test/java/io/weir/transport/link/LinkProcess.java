package io.weir.transport.link;

import io.weir.transport.MediaDriverProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.agrona.DirectBuffer;

/** A media driver or a broker's end in a JVM of its own, so that a signal can end or stop it. */
final class LinkProcess implements AutoCloseable {
    private static final String DRIVER = "driver";
    private static final String END = "end";

    private final Process process;

    private LinkProcess(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
                "-Xmx128m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                LinkProcess.class.getName()));
        command.addAll(List.of(arguments));
        process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    static LinkProcess driver(Path directory) throws IOException {
        return new LinkProcess(DRIVER, directory.toString());
    }

    /** An end that links to {@code peer}, and sends back each number that it gets. */
    static LinkProcess echo(PeerAddress self, PeerAddress peer) throws IOException {
        return new LinkProcess(
                END,
                self.aeronDirectory(),
                self.id().value(),
                Long.toString(self.incarnation()),
                Integer.toString(self.endpoint().port()),
                peer.aeronDirectory(),
                peer.id().value(),
                Long.toString(peer.incarnation()),
                Integer.toString(peer.endpoint().port()));
    }

    void signal(String name) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                .start()
                .waitFor();
    }

    @Override
    public void close() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    public static void main(String[] arguments) {
        if (arguments[0].equals(DRIVER)) {
            try (MediaDriverProcess driver = MediaDriverProcess.start(Path.of(arguments[1]))) {
                awaitParentsEnd();
            }
        } else {
            PeerAddress self = address(arguments, 1);
            PeerAddress peer = address(arguments, 5);
            Thread broker = Thread.currentThread();
            try (Links links = Links.start(self, End.SMALL, () -> LockSupport.unpark(broker))) {
                links.connect(peer);
                echo(links);
            }
        }
    }

    private static void echo(Links links) {
        LinkEvents events = new LinkEvents() {
            @Override
            public void onPeerConnected(Peer peer) {}

            @Override
            public void onPeerLost(Peer peer) {}

            @Override
            public boolean onFrame(Peer peer, DirectBuffer buffer, int offset, int length, long arrivalNs) {
                links.offer(peer.id(), buffer, offset, length, arrivalNs, System.nanoTime());
                return true;
            }
        };
        while (parentLives()) {
            links.knock();
            if (links.poll(events, 100, System.nanoTime()) == 0) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
            }
        }
    }

    private static void awaitParentsEnd() {
        while (parentLives()) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
        }
    }

    private static boolean parentLives() {
        return ProcessHandle.current().parent().map(parent -> parent.pid() > 1).orElse(false);
    }

    private static PeerAddress address(String[] arguments, int from) {
        return End.address(
                arguments[from + 1],
                Long.parseLong(arguments[from + 2]),
                Path.of(arguments[from]),
                Integer.parseInt(arguments[from + 3]));
    }
}

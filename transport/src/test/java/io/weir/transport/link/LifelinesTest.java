package io.weir.transport.link;

import static io.weir.transport.Awaiting.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.Endpoint;
import io.weir.config.value.BrokerId;
import io.weir.transport.MediaDriverProcess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LifelinesTest {
    private final List<PeerAddress> ended = new CopyOnWriteArrayList<>();

    private static PeerAddress address(String id, long incarnation, int port) {
        return new PeerAddress(new BrokerId(id), incarnation, "host", "/aeron", new Endpoint("127.0.0.1", port));
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private Lifelines start(PeerAddress self) throws IOException {
        Lifelines started = new Lifelines(() -> self, ended::add);
        started.start();
        return started;
    }

    @Test
    void shouldTellThatAPeerHasEndedWhenItsConnectionBreaks() throws Exception {
        PeerAddress a = address("a", 7, freePort());
        PeerAddress b = address("b", 8, freePort());
        try (Lifelines ofA = start(a)) {
            ofA.follow(List.of(b));
            try (Lifelines ofB = start(b)) {
                ofB.follow(List.of(a));
                await("both are up", () -> ofA.isUpTo(b.id()) && ofB.isUpTo(a.id()));
            }
            await("a knows", () -> ended.contains(b));
            assertThat(ofA.isUpTo(b.id())).isFalse();
            PeerAddress nextLife = address("b", 9, b.endpoint().port());
            try (Lifelines ofB = start(nextLife)) {
                ofA.follow(List.of(nextLife));
                await("it is up again", () -> ofA.isUpTo(b.id()));
                ofA.follow(List.of());
                await("it is not followed any more", () -> !ofA.isUpTo(b.id()));
            }
        }
        assertThat(ended).as("nobody ended but that one").containsExactly(b);
    }

    @Test
    void shouldTellThatAProcessWasKilled(@TempDir Path dir) throws Exception {
        PeerAddress a = End.address("a", 1, dir, freePort());
        PeerAddress b = End.address("b", 1, dir, freePort());
        try (Lifelines ofA = start(a)) {
            ofA.follow(List.of(b));
            try (LinkProcess process = LinkProcess.echo(b, a)) {
                await("it is up", () -> ofA.isUpTo(b.id()));
                process.signal("KILL");
                await("a knows", () -> ended.contains(b));
            }
        }
    }

    /** Another broker, or another life, at the same address: its end says nothing of the one that is meant. */
    @Test
    void shouldNotTakeAnotherForThePeer() throws Exception {
        PeerAddress meant = address("b", 8, freePort());
        try (Lifelines ofA = start(address("a", 7, freePort()))) {
            ofA.follow(List.of(meant));
            try (ServerSocket other = new ServerSocket(meant.endpoint().port(), 1, InetAddress.getLoopbackAddress())) {
                for (String words : List.of("HTTP/1.1 400 Bad Request\r\n", "")) {
                    try (Socket connected = other.accept()) {
                        connected.getOutputStream().write(words.getBytes());
                    }
                }
            }
            try (Lifelines former = start(address("b", 5, meant.endpoint().port()));
                    Socket guest = new Socket(
                            InetAddress.getLoopbackAddress(), meant.endpoint().port())) {
                assertThat(guest.getInputStream().readNBytes(10))
                        .as("it says who it is")
                        .hasSize(10);
                assertThat(former.isUpTo(meant.id())).isFalse();
            }
            try (Lifelines ofB = start(meant)) {
                await("it is up to the one that is meant", () -> ofA.isUpTo(meant.id()));
            }
            await("that one's end is told", () -> !ended.isEmpty());
            assertThat(ended).containsExactly(meant);
        }
    }

    /** A peer's last words count; and one that lives after all is heard again. */
    @Test
    void shouldReadWhatAPeerSentBeforeItsEndIsReported(@TempDir Path dir) throws Exception {
        Path driver = dir.resolve("driver");
        try (MediaDriverProcess running = MediaDriverProcess.start(driver);
                End a = End.start("a", 1, driver, End.SMALL);
                End b = End.start("b", 1, driver, End.SMALL)) {
            End.join(a, b);
            awaitPolling("they are linked", a, b, () -> a.isUpTo(b) && b.isUpTo(a));
            for (int i = 0; i < 5; i++) {
                assertThat(b.send(a, i, 100)).isTrue();
            }
            a.links.peerEnded(b.address.id(), b.address.incarnation());
            awaitPolling("a reports it", a, b, () -> a.news.contains("-b#1"));
            assertThat(a.heard).containsExactly(0L, 1L, 2L, 3L, 4L);
            awaitPolling("b lives", a, b, () -> a.news.equals(List.of("+b#1", "-b#1", "+b#1")));
        }
    }

    private static void awaitPolling(String what, End a, End b, BooleanSupplier condition) {
        await(what, () -> {
            a.poll();
            b.poll();
            return condition.getAsBoolean();
        });
    }
}

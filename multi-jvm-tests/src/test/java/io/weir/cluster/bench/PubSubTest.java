package io.weir.cluster.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.cluster.Certificate;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Weir;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code weir pub} and {@code weir sub}, against a peer that speaks NSQ V2. */
@Timeout(60)
class PubSubTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int weir(NsqPeer peer, String... args) {
        List<String> line = new ArrayList<>(List.of(args));
        line.addAll(List.of("--tcp", peer.endpoint().toString()));
        return Weir.commandLine()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(line.toArray(String[]::new));
    }

    private static void await(String what, BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadlineNs).as(what).isNegative();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }

    @Test
    void shouldPublishTheMessagesOfTheCommandLine() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            assertThat(weir(peer, "pub", "orders", "first", "größer"))
                    .as(err.toString())
                    .isEqualTo(ExitCode.OK);
            assertThat(peer.published()).containsExactly("first", "größer");
            assertThat(err.toString()).contains("2 messages taken");
        }
    }

    @Test
    void shouldRepeatThemUpToACountAtARate() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            assertThat(weir(peer, "pub", "orders", "a", "b", "--count", "5", "--rate", "1000"))
                    .isEqualTo(ExitCode.OK);
            assertThat(peer.published()).containsExactly("a", "b", "a", "b", "a");
        }
    }

    @Test
    void shouldPublishALineOfTheStandardInputEach() throws IOException {
        InputStream before = System.in;
        System.setIn(new ByteArrayInputStream("one\n\ntwo\nthree\n".getBytes(StandardCharsets.UTF_8)));
        try (NsqPeer peer = new NsqPeer()) {
            assertThat(weir(peer, "pub", "orders", "--count", "2")).isEqualTo(ExitCode.OK);
            assertThat(peer.published()).containsExactly("one", "two");
        } finally {
            System.setIn(before);
        }
    }

    @Test
    void shouldSayWhatWasRefusedAndEndWithOne() throws IOException {
        try (NsqPeer peer = new NsqPeer().refusing("E_PUB_FAILED too fast")) {
            assertThat(weir(peer, "pub", "orders", "first")).isEqualTo(ExitCode.FAILED);
            assertThat(err.toString()).contains("message 1 was refused: E_PUB_FAILED too fast");
        }
    }

    @Test
    void shouldShowItsSecretToABrokerThatAsksForOne(@TempDir Path dir) throws IOException {
        Path file = Files.writeString(dir.resolve("secret"), "known to few\n");
        try (NsqPeer peer = new NsqPeer().askingFor("known to few")) {
            assertThat(weir(peer, "pub", "orders", "first", "--secret-file", file.toString()))
                    .as(err.toString())
                    .isEqualTo(ExitCode.OK);
            assertThat(weir(peer, "sub", "orders", "audit", "--count", "1", "--secret-file", file.toString()))
                    .as(err.toString())
                    .isEqualTo(ExitCode.OK);
            assertThat(out.toString()).isEqualTo("first\n");
            String bench =
                    "bench latency --rate 500 --publishers 2 --seconds 0.5 --warmup 0.1 --topic t --secret-file ";
            assertThat(weir(peer, (bench + file).split(" "))).as(err.toString()).isEqualTo(ExitCode.OK);
        }
    }

    @Test
    void shouldSayWhatIsMissingWhenABrokerAsksForASecretOrDoesNotEncrypt(@TempDir Path dir) throws Exception {
        Path wrong = Files.writeString(dir.resolve("wrong"), "guessed");
        Path ca = Certificate.create(dir).certificate();
        try (NsqPeer peer = new NsqPeer().askingFor("known to few")) {
            assertThat(weir(peer, "pub", "orders", "x")).isEqualTo(ExitCode.FAILED);
            assertThat(err.toString()).contains("asks for a secret: --secret-file");
            assertThat(weir(peer, "sub", "orders", "audit", "--secret-file", wrong.toString()))
                    .isEqualTo(ExitCode.FAILED);
            assertThat(err.toString()).contains("E_AUTH_FAILED");
            assertThat(weir(peer, "pub", "orders", "x", "--secret-file", dir + "/none"))
                    .isEqualTo(ExitCode.USAGE);
            assertThat(err.toString()).contains("none can't be read");
            assertThat(weir(peer, "pub", "orders", "x", "--tls-ca", ca.toString()))
                    .isEqualTo(ExitCode.FAILED);
            assertThat(err.toString()).contains("it does not encrypt");
            assertThat(weir(peer, "pub", "orders", "x", "--tls-ca", wrong.toString()))
                    .isEqualTo(ExitCode.USAGE);
            assertThat(peer.published()).isEmpty();
        }
    }

    @Test
    void shouldFailClearlyWhenTheConnectionBreaks() throws IOException {
        try (NsqPeer peer = new NsqPeer().closingAfter(1)) {
            assertThat(weir(peer, "pub", "orders", "a", "b", "c")).isEqualTo(ExitCode.FAILED);
            assertThat(err.toString()).contains("the connection broke").contains("1 message taken");
        }
    }

    @Test
    void shouldSayInOneLineThatNothingListens() throws IOException {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        int exit = Weir.commandLine()
                .setErr(new PrintWriter(err, true))
                .execute("pub", "orders", "x", "--tcp", "127.0.0.1:" + port);
        assertThat(exit).isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(err.toString().lines()).singleElement().asString().contains("127.0.0.1:" + port);
    }

    @Test
    void shouldPrintAcknowledgeAndTakeNotOneTooMany() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            for (String body : new String[] {"a", "b", "c", "d"}) {
                peer.enqueue(body.getBytes(StandardCharsets.UTF_8));
            }
            assertThat(weir(peer, "sub", "orders", "audit", "--count", "3")).isEqualTo(ExitCode.OK);

            assertThat(out.toString().lines()).containsExactly("a", "b", "c");
            assertThat(peer.finished()).containsExactly("a", "b", "c");
            assertThat(peer.lines())
                    .contains("SUB orders audit", "RDY 3", "CLS")
                    .endsWith("RDY 0", "CLS");
            assertThat(weir(peer, "sub", "orders", "audit", "--count", "1")).isEqualTo(ExitCode.OK);
            assertThat(out.toString().lines()).containsExactly("a", "b", "c", "d");
        }
    }

    @Test
    void shouldPrintALineOfJsonEach() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            peer.enqueue("two\nlines".getBytes(StandardCharsets.UTF_8));
            peer.enqueue(new byte[] {(byte) 0xff, 0});
            weir(peer, "sub", "orders", "audit", "--count", "2", "-o", "json");

            assertThat(out.toString().lines())
                    .containsExactly(
                            "{\"id\":\"0000000000000000\",\"attempts\":1,\"timestampNs\":1000000007,\"body\":\"two\\nlines\"}",
                            "{\"id\":\"0000000000000001\",\"attempts\":1,\"timestampNs\":1000000007,\"bodyBase64\":\"/wA=\"}");
        }
    }

    @Test
    void shouldConnectAgainAfterTheConnectionBrokeAndAnswerHeartbeats() throws Exception {
        try (NsqPeer peer = new NsqPeer()) {
            CompletableFuture<Integer> sub =
                    CompletableFuture.supplyAsync(() -> weir(peer, "sub", "orders", "audit", "--count", "2"));
            peer.enqueue("before".getBytes(StandardCharsets.UTF_8));
            await("the first message", () -> peer.finished().contains("before"));
            peer.heartbeat();
            await("an answered heartbeat", () -> peer.lines().contains("NOP"));
            peer.hangUp();
            peer.enqueue("after".getBytes(StandardCharsets.UTF_8));

            assertThat(sub.get(30, TimeUnit.SECONDS)).isEqualTo(ExitCode.OK);
            assertThat(out.toString().lines()).containsExactly("before", "after");
            assertThat(err.toString()).contains("is lost").contains("trying again");
        }
    }
}

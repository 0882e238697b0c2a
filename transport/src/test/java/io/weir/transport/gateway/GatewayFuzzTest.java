package io.weir.transport.gateway;

import static io.weir.transport.Awaiting.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.transport.Sessions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever comes over a socket: others are served, the client gets answers or is closed, and nothing of it stays. */
@Timeout(60)
public class GatewayFuzzTest {
    private static final int ROUNDS = 250;

    @ParameterizedTest
    @ValueSource(strings = {"none", "snappy", "deflate"})
    void shouldServeOthersAndForgetTheClientWhateverItSends(String layer) throws Exception {
        long seed = Long.getLong("weir.fuzz.seed", 20_263);
        Sessions sessions = new Sessions(seed);
        RecordingPort port = new RecordingPort();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (GatewayLoop loop = new GatewayLoop(any, GatewaySettings.defaults(), System::nanoTime);
                Client other = start(loop, port)) {
            for (int round = 0; round < ROUNDS; round++) {
                String what = "seed " + seed + ", round " + round;
                try (Client client = Client.greeted(loop)) {
                    byte[] session = sessions.mutated(sessions.valid(3_000));
                    if (layer.equals("none")) {
                        sendInPieces(client, session, sessions);
                    } else {
                        assertThat(client.identify("{\"feature_negotiation\":true,\"" + layer + "\":true}"))
                                .contains("\"" + layer + "\":true");
                        (layer.equals("snappy") ? client.snappyOut() : client.deflateOut()).send(session);
                    }
                } catch (SocketException closed) {
                    // The broker was first, as it may be; that it serves others is what counts.
                }
                assertThat(other.send(Client.command("PUB alive", "x")).answer())
                        .as(what)
                        .isEqualTo("OK");
            }
            await("all but one are gone", () -> clients(loop, port) == 1);
        }
    }

    private static Client start(GatewayLoop loop, RecordingPort port) throws IOException {
        loop.start(port);
        return Client.greeted(loop);
    }

    private static void sendInPieces(Client client, byte[] session, Sessions sessions) throws IOException {
        int at = 0;
        while (at < session.length) {
            int end = Math.min(session.length, at + 1 + sessions.random().nextInt(session.length));
            client.send(Arrays.copyOfRange(session, at, end));
            at = end;
        }
    }

    private static int clients(GatewayLoop loop, RecordingPort port) {
        CompletableFuture<Integer> answer = new CompletableFuture<>();
        port.work.add(() -> answer.complete(loop.connections()));
        loop.wakeUp();
        return answer.orTimeout(20, TimeUnit.SECONDS).join();
    }

    @Test
    void shouldServeAClientThatSendsOneByteAtATime() throws Exception {
        RecordingPort port = new RecordingPort();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (GatewayLoop loop = new GatewayLoop(any, GatewaySettings.defaults(), System::nanoTime)) {
            loop.start(port);
            try (Client client = Client.silent(loop)) {
                byte[] command = Client.command("PUB slow", "body");
                for (byte one : "  V2".getBytes(StandardCharsets.US_ASCII)) {
                    client.send(new byte[] {one});
                }
                for (byte one : command) {
                    client.send(new byte[] {one});
                }
                assertThat(client.answer()).isEqualTo("OK");
                assertThat(port.published.poll().body()).asString().isEqualTo("body");
            }
        }
    }
}

package io.weir.transport.gateway;

import static io.weir.transport.Awaiting.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What all clients' buffers may take together. */
@Timeout(60)
class BufferBudgetTest {
    private static final int LARGE = 250_000;
    private static final int BUDGET = 4 * 262_144;
    /**
     * What half-sent publications have sent, until three quarters of it are taken but for some: each buffer is the next
     * size up.
     */
    private static final int[] HALF_SENT = {LARGE - 10, LARGE - 10, 100_000};

    private final RecordingPort port = new RecordingPort();
    private final List<Client> hogs = new ArrayList<>();
    private GatewayLoop loop;

    @BeforeEach
    void start() throws IOException {
        GatewaySettings usual = GatewaySettings.defaults();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        loop = new GatewayLoop(
                any,
                new GatewaySettings(
                        usual.maxConnections(),
                        usual.maxConnectionsByAddress(),
                        usual.maxStrangersByAddress(),
                        LARGE,
                        LARGE,
                        usual.maxReady(),
                        usual.bufferBytes(),
                        BUDGET,
                        usual.heartbeatNs(),
                        usual.maxHeartbeatNs(),
                        usual.messageTimeoutNs(),
                        usual.maxMessageTimeoutNs(),
                        usual.maxDelayNs(),
                        usual.stallNs(),
                        usual.handshakeNs()),
                System::nanoTime);
        loop.start(port);
    }

    @AfterEach
    void stop() throws IOException {
        for (Client hog : hogs) {
            hog.close();
        }
        loop.close();
    }

    private void takeAllThatThereIs() throws IOException {
        byte[] whole = Client.command("PUB t", new byte[LARGE]);
        long expected = 0;
        for (int bytes : HALF_SENT) {
            Client hog = Client.greeted(loop);
            hogs.add(hog);
            hog.send(Arrays.copyOf(whole, bytes));
            expected += bytes;
            long atLeast = expected;
            await("the broker has room for its bytes", () -> bufferBytes() >= atLeast);
        }
    }

    private void leave() throws IOException {
        for (Client hog : hogs) {
            hog.close();
        }
        await("their memory is back", () -> bufferBytes() < LARGE);
    }

    private long bufferBytes() {
        CompletableFuture<Long> answer = new CompletableFuture<>();
        port.work.add(() -> answer.complete(loop.bufferBytes()));
        loop.wakeUp();
        return answer.orTimeout(20, TimeUnit.SECONDS).join();
    }

    @Test
    void shouldRefuseLargeCommandsAndServeSmallOnesWhenHalfSentOnesTakeTheMemory() throws IOException {
        takeAllThatThereIs();
        byte[] whole = Client.command("PUB t", new byte[LARGE]);
        try (Client large = Client.greeted(loop);
                Client small = Client.greeted(loop)) {
            // As much as finds no room: what is closed with bytes unread would be reset, and the error with it.
            large.send(Arrays.copyOf(whole, 64 * 1024));
            Client.Frame refusal = large.frame();
            assertThat(refusal.type()).isEqualTo(Frames.ERROR);
            assertThat(refusal.text()).startsWith("E_INVALID").contains("no memory");
            assertThat(large.ended()).isTrue();
            assertThat(small.send(Client.command("PUB t", "x")).answer()).isEqualTo("OK");
            assertThat(bufferBytes()).isLessThanOrEqualTo(BUDGET);
        }

        leave();
        try (Client large = Client.greeted(loop)) {
            assertThat(large.send(whole).answer()).isEqualTo("OK");
        }
    }

    @Test
    void shouldLeaveALargeMessageInItsChannelWhenThereIsNoMemoryToSendIt() throws IOException {
        try (Client publisher = Client.greeted(loop)) {
            assertThat(publisher.send(Client.command("PUB t", new byte[LARGE])).answer())
                    .isEqualTo("OK");
        }
        await("the publisher's memory is back", () -> bufferBytes() < LARGE);
        takeAllThatThereIs();
        try (Client consumer = Client.greeted(loop)) {
            assertThat(consumer.send("SUB t c\n").answer()).isEqualTo("OK");
            consumer.send("RDY 1\n");
            assertThat(consumer.answer()).startsWith("E_INVALID").contains("no memory");
            assertThat(consumer.ended()).isTrue();
        }

        leave();
        try (Client consumer = Client.greeted(loop)) {
            assertThat(consumer.send("SUB t c\n").answer()).isEqualTo("OK");
            consumer.send("RDY 1\n");
            assertThat(consumer.frame().body()).hasSize(LARGE);
        }
    }
}

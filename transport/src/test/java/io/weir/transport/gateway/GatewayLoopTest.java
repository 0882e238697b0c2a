package io.weir.transport.gateway;

import static io.weir.transport.Awaiting.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.DataInputStream;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class GatewayLoopTest {
    /** A broker that accepts everything but the body "bad", at which it breaks. */
    private static final class Fragile implements MessagePort {
        private final CountDownLatch failures = new CountDownLatch(3);

        @Override
        public boolean publish(PublishRequest request, long nowNs) {
            if (CommandDecoder.text(request.in(), request.bodyAt(), request.bodyLength())
                    .equals("bad")) {
                throw new IllegalStateException("broken on purpose");
            }
            request.publisher().accepted(request.ticket());
            return true;
        }

        @Override
        public Subscription subscribe(Subscriber subscriber, String topic, String channel, long timeoutNs, long nowNs) {
            return null;
        }

        @Override
        public int doWork(long nowNs) {
            failures.countDown();
            throw new IllegalStateException("broken on purpose");
        }

        @Override
        public long nextDeadlineNs() {
            return NO_DEADLINE;
        }
    }

    @Test
    void shouldCloseOnlyTheConnectionThatFailsAndOutliveAFailingDuty() throws Exception {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        Fragile broker = new Fragile();
        try (GatewayLoop loop = new GatewayLoop(any, GatewaySettings.defaults(), System::nanoTime)) {
            loop.start(broker);
            try (Socket good = connect(loop);
                    Socket bad = connect(loop)) {
                bad.getOutputStream().write(ascii("PUB t\n\0\0\0\3bad"));
                assertThat(bad.getInputStream().read()).isNegative();
                good.getOutputStream().write(ascii("PUB t\n\0\0\0\4good"));
                DataInputStream answers = new DataInputStream(good.getInputStream());
                assertThat(answers.readInt()).isEqualTo(6);
                assertThat(answers.readInt()).isEqualTo(Frames.RESPONSE);
                assertThat(new String(answers.readNBytes(2), StandardCharsets.US_ASCII))
                        .isEqualTo("OK");
            }
            loop.wakeUp();
            assertThat(broker.failures.await(10, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void shouldStopListeningWhenItIsClosed() throws Exception {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        GatewayLoop loop = new GatewayLoop(any, GatewaySettings.defaults(), System::nanoTime);
        loop.start(new Fragile());
        InetSocketAddress address = loop.address();
        try (Socket client = connect(loop)) {
            // What is closed with bytes unread is reset: the answer says that all of them were read.
            client.getOutputStream().write(ascii("PUB t\n\0\0\0\4good"));
            client.getInputStream().readNBytes(10);
            loop.close();
            assertThat(client.getInputStream().read()).isNegative();
        }
        try (GatewayLoop next = new GatewayLoop(address, GatewaySettings.defaults(), System::nanoTime)) {
            assertThat(next.address()).isEqualTo(address);
        }
    }

    /** Keeps publications open until it is told, and notes when each came. */
    private static final class Slow implements MessagePort {
        private final List<Long> arrivalsNs = new CopyOnWriteArrayList<>();
        private final AtomicBoolean released = new AtomicBoolean();
        private final List<Runnable> answers = new ArrayList<>();

        @Override
        public boolean publish(PublishRequest request, long nowNs) {
            Publisher publisher = request.publisher();
            long ticket = request.ticket();
            answers.add(() -> publisher.accepted(ticket));
            arrivalsNs.add(request.arrivalNs());
            return true;
        }

        @Override
        public Subscription subscribe(Subscriber subscriber, String topic, String channel, long timeoutNs, long nowNs) {
            return null;
        }

        @Override
        public int doWork(long nowNs) {
            if (!answers.isEmpty() && released.getAndSet(false)) {
                List<Runnable> now = List.copyOf(answers);
                answers.clear();
                now.forEach(Runnable::run);
            }
            return 0;
        }

        @Override
        public long nextDeadlineNs() {
            return NO_DEADLINE;
        }
    }

    @Test
    void shouldStampACommandThatWasHeldBackWithTheTimeAtWhichItsBytesCame() throws Exception {
        AtomicLong clock = new AtomicLong(1_000);
        Slow broker = new Slow();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (GatewayLoop loop = new GatewayLoop(any, GatewaySettings.defaults(), clock::get)) {
            loop.start(broker);
            try (Socket client = connect(loop)) {
                client.getOutputStream().write(ascii("PUB t\n\0\0\0\1aPUB t\n\0\0\0\1bPUB t\n\0\0\0\1"));
                await("the first is there", () -> broker.arrivalsNs.size() == 1);
                clock.set(2_000);
                broker.released.set(true);
                loop.wakeUp();
                await("the second had its turn", () -> broker.arrivalsNs.size() == 2);
                broker.released.set(true);
                loop.wakeUp();
                assertThat(client.getInputStream().readNBytes(20)).hasSize(20);
                clock.set(3_000);
                client.getOutputStream().write('c');
                await("the third is whole", () -> broker.arrivalsNs.size() == 3);
            }
        }
        assertThat(broker.arrivalsNs).containsExactly(1_000L, 1_000L, 3_000L);
    }

    @Test
    void shouldReadAheadOfACommandThatIsHeldBackSoThatItsTimeCounts() throws Exception {
        AtomicLong clock = new AtomicLong(1_000);
        Slow broker = new Slow();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        long laterNs = TimeUnit.SECONDS.toNanos(5);
        try (GatewayLoop loop = new GatewayLoop(any, GatewaySettings.defaults(), clock::get)) {
            loop.start(broker);
            try (Socket client = connect(loop);
                    Socket other = connect(loop)) {
                client.getOutputStream().write(ascii("PUB t\n\0\0\0\1aPUB t\n\0\0\0\1b"));
                await("the first is there", () -> broker.arrivalsNs.size() == 1);
                clock.set(laterNs);
                client.getOutputStream().write(ascii("PUB t\n\0\0\0\1c"));
                client.shutdownOutput();
                // Sockets are read in turn: when this one is heard of, so are those bytes.
                other.getOutputStream().write(ascii("PUB t\n\0\0\0\1x"));
                await("the other one's is there", () -> broker.arrivalsNs.size() == 2);
                clock.set(2 * laterNs);
                for (int there = 3; there <= 4; there++) {
                    broker.released.set(true);
                    loop.wakeUp();
                    int turn = there;
                    await(
                            "the next has its turn, though nothing more will come",
                            () -> broker.arrivalsNs.size() == turn);
                }
                assertThat(client.getInputStream().readNBytes(20)).hasSize(20);
            }
        }
        assertThat(broker.arrivalsNs).containsExactly(1_000L, laterNs, 1_000L, laterNs);
    }

    @Test
    void shouldGoOnWhenSomethingFailsThatIsNoException() throws Exception {
        RecordingPort port = new RecordingPort();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (GatewayLoop loop = new GatewayLoop(any, GatewaySettings.defaults(), System::nanoTime)) {
            loop.start(port);
            AtomicBoolean thrown = new AtomicBoolean();
            port.work.add(() -> {
                thrown.set(true);
                throw new StackOverflowError("on purpose");
            });
            loop.wakeUp();
            await("it was thrown", thrown::get);
            try (Client client = Client.greeted(loop)) {
                assertThat(client.send(Client.command("PUB t", "x")).answer()).isEqualTo("OK");
            }
        }
    }

    /** Whoever sends a byte now and then is heard of, but holds memory for a command that never comes. */
    @Test
    void shouldCloseAClientWhoseCommandDoesNotComeToAnEnd() throws Exception {
        GatewaySettings usual = GatewaySettings.defaults();
        AtomicLong clock = new AtomicLong(1);
        RecordingPort port = new RecordingPort();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (GatewayLoop loop = new GatewayLoop(any, usual, clock::get)) {
            loop.start(port);
            try (Client idle = Client.greeted(loop);
                    Client dribbling = Client.greeted(loop)) {
                idle.identify("{\"heartbeat_interval\":-1}");
                dribbling.identify("{\"heartbeat_interval\":-1}");
                dribbling.send("PUB t\n\0\1\0\0");
                // Who is answered now came after it.
                assertThat(idle.send(Client.command("PUB t", "x")).answer()).isEqualTo("OK");
                // 64 KiB take eight seconds of a very slow line, beside what every client may stand still.
                clock.addAndGet(usual.stallNs() + TimeUnit.SECONDS.toNanos(7));
                loop.wakeUp();
                dribbling.send("x");
                assertThat(idle.send(Client.command("PUB t", "x")).answer()).isEqualTo("OK");
                clock.addAndGet(TimeUnit.SECONDS.toNanos(2));
                loop.wakeUp();
                assertThat(dribbling.ended()).isTrue();
                assertThat(idle.send(Client.command("PUB t", "x")).answer()).isEqualTo("OK");
            }
        }
    }

    /** Breaks it as nothing from outside should be able to. */
    private static void damage(GatewayLoop loop, int index) throws ReflectiveOperationException {
        Field connections = GatewayLoop.class.getDeclaredField("connections");
        connections.setAccessible(true);
        Field negotiation = Connection.class.getDeclaredField("negotiation");
        negotiation.setAccessible(true);
        Field identity = Negotiation.class.getDeclaredField("identity");
        identity.setAccessible(true);
        identity.set(negotiation.get(((List<?>) connections.get(loop)).get(index)), null);
    }

    @Test
    void shouldLookAfterTheOthersWhenHousekeepingFailsForOne() throws Exception {
        RecordingPort port = new RecordingPort();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (GatewayLoop loop = new GatewayLoop(any, GatewaySettings.defaults(), System::nanoTime)) {
            loop.start(port);
            try (Client broken = Client.greeted(loop);
                    Client other = Client.greeted(loop)) {
                assertThat(broken.send(Client.command("PUB t", "x")).answer()).isEqualTo("OK");
                other.identify("{\"heartbeat_interval\":1000}");
                CompletableFuture<Void> damaged = new CompletableFuture<>();
                port.work.add(() -> {
                    try {
                        damage(loop, 0);
                        damaged.complete(null);
                    } catch (ReflectiveOperationException e) {
                        damaged.completeExceptionally(e);
                    }
                });
                loop.wakeUp();
                damaged.get(20, TimeUnit.SECONDS);

                assertThat(other.answer()).isEqualTo("_heartbeat_");
                assertThat(broken.ended()).isTrue();
            }
        }
    }

    @Test
    void shouldHoldNoMemoryForIdleClientsAndGoOnAskingWhetherTheyAreThere() throws Exception {
        int many = 1_000;
        RecordingPort port = new RecordingPort();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        List<Client> clients = new ArrayList<>();
        try (GatewayLoop loop = new GatewayLoop(any, GatewaySettings.defaults(), System::nanoTime)) {
            loop.start(port);
            try (Client busy = Client.greeted(loop)) {
                for (int i = 0; i < many; i++) {
                    clients.add(Client.greeted(loop));
                    // Who does not answer two in a row is closed; on a busy machine the last one connects seconds after
                    // the first.
                    clients.get(i).identify("{\"heartbeat_interval\":3000}");
                }
                for (Client client : clients) {
                    assertThat(client.answer()).isEqualTo("_heartbeat_");
                    client.send("NOP\n");
                }
                assertThat(busy.send(Client.command("PUB t", "x")).answer()).isEqualTo("OK");
                CompletableFuture<long[]> answer = new CompletableFuture<>();
                port.work.add(() -> answer.complete(new long[] {loop.connections(), loop.bufferBytes()}));
                loop.wakeUp();
                long[] seen = answer.get(20, TimeUnit.SECONDS);
                assertThat(seen[0]).isEqualTo(many + 1);
                // Some for those who talk at this moment; one each would be 1,000.
                assertThat(seen[1] / GatewaySettings.defaults().bufferBytes()).isLessThan(20);
            } finally {
                for (Client client : clients) {
                    client.close();
                }
            }
        }
    }

    private static Socket connect(GatewayLoop loop) throws IOException {
        Socket socket = new Socket(loop.address().getAddress(), loop.address().getPort());
        socket.setSoTimeout(20_000);
        socket.getOutputStream().write(ascii("  V2"));
        return socket;
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}

package io.weir.topics.federation;

import static io.weir.topics.federation.LinkedBrokers.TOPIC;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.limiter.algorithm.Loan;
import io.weir.topics.algorithm.LongRing;
import io.weir.topics.algorithm.LongSegments;
import io.weir.topics.path.NsqSocket;
import io.weir.topics.path.RunningBroker;
import io.weir.transport.link.Peer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Whatever a hostile peer sends inside a link, on the message path's own thread. A failure says the seed. */
@Timeout(90)
class FederationFuzzTest {
    private static final int FRAMES = 200_000;
    private static final int FRAMES_A_TURN = 1_000;
    private static final int CAPACITY = 2_048;

    @RegisterExtension
    final LinkedBrokers brokers = new LinkedBrokers();

    private final long seed = new Random().nextLong();
    private final Random random = new Random(seed);
    private final UnsafeBuffer scratch = new UnsafeBuffer(new byte[CAPACITY]);
    /** Frames end where it ends: who reads on throws. */
    private final UnsafeBuffer in = new UnsafeBuffer(ByteBuffer.allocateDirect(CAPACITY));

    private final Peer hostile = new Peer(new BrokerId("x"), 1);
    private LinkedBroker broker;
    private int unread;

    @Test
    void shouldReadOrRefuseEveryFrameAndGoOn() throws Exception {
        broker = brokers.broker("a").supply("honest");
        try (Messages messages = new Messages()) {
            onThread(() -> broker.federation().onPeerConnected(hostile));
            for (int i = 0; i < FRAMES; i += FRAMES_A_TURN) {
                onThread(() -> {
                    for (int n = 0; n < FRAMES_A_TURN; n++) {
                        hear(frame());
                    }
                });
                messages.publish();
            }
            onThread(() -> broker.federation().onPeerLost(hostile));
            assertThat(unread).as("seed %d", seed).isBetween(1, FRAMES);
            messages.publish();
        }
        RunningBroker.await(
                "nobody holds anything any more; seed " + seed,
                () -> RunningBroker.await(broker.broker.path().stats()).stream()
                        .flatMap(topic -> topic.channels().stream())
                        .allMatch(channel -> channel.consumers() == 0));
    }

    /** As the link does: one that can't be read ends the connection, and the next begins. */
    private void hear(int length) {
        int at = CAPACITY - length;
        in.putBytes(at, scratch, 0, length);
        if (!broker.federation().onFrame(hostile, in, at, length, System.nanoTime())) {
            unread++;
            broker.federation().onPeerLost(hostile);
            broker.federation().onPeerConnected(hostile);
        }
    }

    private int frame() {
        int length = realFrame();
        switch (random.nextInt(4)) {
            case 0 -> { // as it is
            }
            case 1 -> scratch.putByte(random.nextInt(length), (byte) random.nextInt());
            case 2 -> length = random.nextInt(length + 1);
            default -> {
                length = random.nextInt(300);
                for (int i = 2; i < length; i++) {
                    scratch.putByte(i, (byte) random.nextInt());
                }
            }
        }
        return length;
    }

    private int realFrame() {
        int subscription = random.nextInt(20);
        int window = random.nextInt(100) - 5;
        String topic = random.nextBoolean() ? TOPIC : "t" + random.nextInt(5);
        return switch (random.nextInt(8)) {
            case 0 -> FederationFrames.subscribe(scratch, subscription, window, topic, "c" + random.nextInt(3));
            case 1 ->
                FederationFrames.notice(
                        scratch,
                        random.nextBoolean() ? FederationFrames.UNSUBSCRIBE : FederationFrames.ENDED,
                        subscription);
            case 2 -> FederationFrames.acknowledge(scratch, subscription, window, ids(), 3);
            case 3 ->
                FederationFrames.giveBack(
                        scratch, subscription, random.nextInt(50), random.nextInt(), random.nextLong());
            case 4 -> {
                ByteBuffer body = ByteBuffer.allocate(100);
                int context = random.nextInt(20);
                FederationFrames.deliver(
                        scratch,
                        0,
                        subscription,
                        random.nextBoolean(),
                        1,
                        random.nextInt(50),
                        body,
                        context,
                        context,
                        100 - context);
                yield FederationFrames.deliverBytes(context, 100 - context);
            }
            case 5 ->
                FederationFrames.outcome(scratch, random.nextInt(7), random.nextLong(), random.nextLong(), "reason");
            case 6 -> {
                Loan loan = new Loan();
                loan.set(0, random.nextInt(5), random.nextLong(), random.nextLong(), random.nextLong());
                int end = FederationFrames.loan(scratch, FederationFrames.HEADER_BYTES, 1, loan, topic);
                FederationFrames.loans(
                        scratch,
                        random.nextBoolean() ? FederationFrames.ASK : FederationFrames.LEND,
                        1 + random.nextInt(2),
                        random.nextLong());
                yield end;
            }
            default -> publication(topic);
        };
    }

    private LongRing ids() {
        LongRing ids = new LongRing(new LongSegments());
        for (int i = 0; i < 3; i++) {
            ids.add(random.nextInt(50));
        }
        return ids;
    }

    /** Field by field: only the gateway can make a request that the encoder takes. */
    private int publication(String topic) {
        scratch.setMemory(0, 200, (byte) 0);
        scratch.putByte(0, FederationFrames.VERSION);
        scratch.putByte(1, FederationFrames.PUBLISH);
        scratch.putByte(2, (byte) topic.length());
        scratch.putInt(4, random.nextInt(3));
        scratch.putLong(8, random.nextLong());
        scratch.putShort(24, (short) (random.nextInt(4) == 0 ? random.nextInt() : 0));
        int at = FederationFrames.PUBLISH_HEADER_BYTES;
        scratch.putStringWithoutLengthAscii(at, topic);
        return at + topic.length() + random.nextInt(50);
    }

    private void onThread(Runnable work) throws Exception {
        CompletableFuture<Void> done = new CompletableFuture<>();
        assertThat(broker.broker.path().offer((port, nowNs) -> {
                    try {
                        work.run();
                        done.complete(null);
                    } catch (RuntimeException | Error e) {
                        done.completeExceptionally(new AssertionError("seed " + seed, e));
                    }
                }))
                .isTrue();
        done.get(30, TimeUnit.SECONDS);
    }

    /** An honest publisher beside the hostile peer. */
    private final class Messages implements AutoCloseable {
        private final NsqSocket publisher = broker.publisher();

        private Messages() throws IOException {}

        void publish() throws IOException {
            publisher.sendBody("PUB honest", "m");
            assertThat(publisher.answer()).as("seed %d", seed).isEqualTo("OK");
        }

        @Override
        public void close() throws IOException {
            publisher.close();
        }
    }
}

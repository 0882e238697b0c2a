package io.weir.transport.link;

import static org.assertj.core.api.Assertions.assertThat;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.FragmentAssembler;
import io.aeron.Subscription;
import io.aeron.logbuffer.FragmentHandler;
import io.weir.transport.MediaDriverProcess;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.agrona.IoUtil;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a peer says that does not keep to the protocol. The seed of each run is in what a failure says. */
@Timeout(120)
class LinkFuzzTest {
    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(60);
    private static final int CONNECTIONS = 40;
    private static final int MAX_FRAME = 16 * 1024;

    private final long seed = new Random().nextLong();
    private final Random random = new Random(seed);
    private final UnsafeBuffer frame = new UnsafeBuffer(new byte[MAX_FRAME]);

    @Test
    void shouldPutTogetherOnlyWhatFitsAndReserveOnlyForWhatCame() {
        PartAssembly assembly = new PartAssembly(MAX_FRAME);
        UnsafeBuffer part = new UnsafeBuffer(ByteBuffer.allocateDirect(512));
        long came = 0;
        for (int i = 0; i < 200_000; i++) {
            int size = 1 + random.nextInt(500);
            int claimed = random.nextInt(4) == 0 ? random.nextInt() : random.nextInt(2_000);
            LinkFrames.encodePartHeader(random.nextInt(4), claimed, part, 0);
            boolean first = LinkFrames.isFirst(part, 0);
            came = first ? size : came + size;

            PartAssembly.State state = assembly.add(part, 0, LinkFrames.HEADER_BYTES + size);

            assertThat(assembly.frame().capacity()).as("seed %d", seed).isLessThanOrEqualTo(MAX_FRAME);
            if (state == PartAssembly.State.WHOLE) {
                assertThat((long) assembly.length()).as("seed %d", seed).isEqualTo(came);
            }
        }
    }

    /** A hostile peer that completes the handshake each time, and then sends bytes of its own making. */
    @Test
    void shouldOutliveAHostilePeerWhileAnotherLinkGoesOn() throws Exception {
        Path root = Files.createTempDirectory(
                Files.isWritable(Path.of("/dev/shm")) ? Path.of("/dev/shm") : Path.of("/tmp"), "weir-fuzz-");
        Path driver = root.resolve("d");
        PeerAddress hostile = End.address("x", 1, driver, End.freeUdpPort());
        try (MediaDriverProcess ignored = MediaDriverProcess.start(driver);
                End a = End.start("a", 1, driver, End.SMALL);
                End b = End.start("b", 1, driver, End.SMALL);
                Aeron client = Aeron.connect(new Aeron.Context().aeronDirectoryName(driver.toString()));
                Subscription fromA =
                        client.addSubscription(a.address.channelTo(hostile, 64 * 1024), a.address.streamTo(hostile))) {
            End.join(a, b);
            a.links.connect(hostile);
            long[] next = {0};
            long[] heardOfA = {0};
            FragmentHandler hear = new FragmentAssembler((buffer, offset, length, header) -> {
                LinkFrames.Hello hello = LinkFrames.decodeHello(buffer, offset, length);
                heardOfA[0] = hello == null ? heardOfA[0] : hello.session();
            });
            for (int i = 0; i < CONNECTIONS; i++) {
                try (ExclusivePublication toA = client.addExclusivePublication(
                        hostile.channelTo(a.address, 64 * 1024), hostile.streamTo(a.address))) {
                    long session = 1 + random.nextInt(1_000_000);
                    long connects = connects(a);
                    await("handshake " + i, () -> {
                        turn(a, b, next);
                        fromA.poll(hear, 10);
                        LinkFrames.Hello hello =
                                new LinkFrames.Hello(hostile.id(), 1, a.address.id(), session, heardOfA[0], 0);
                        toA.offer(frame, 0, LinkFrames.encodeHello(hello, frame, 0));
                        return connects(a) > connects;
                    });
                    for (int n = 0; n < 50; n++) {
                        toA.offer(frame, 0, hostileFrame());
                        turn(a, b, next);
                    }
                }
            }
            a.links.disconnect(hostile.id());
            await("all that the other peer sent", () -> {
                turn(a, b, next);
                return a.heard.size() >= 1_000;
            });
            // Nothing was lost, doubled or out of order on the other link.
            for (int i = 0; i < a.heard.size(); i++) {
                assertThat(a.heard.get(i)).as("seed %d", seed).isEqualTo(i);
            }
            assertThat(a.news.stream().filter("-b#1"::equals).count()).isZero();
        } finally {
            IoUtil.delete(root.toFile(), true);
        }
    }

    private static long connects(End a) {
        return a.links.stats().stream()
                .filter(stats -> stats.peer().value().equals("x"))
                .mapToLong(LinkStats::connects)
                .sum();
    }

    private void turn(End a, End b, long[] next) {
        if (b.isLinked() && b.send(a, next[0], 8)) {
            next[0]++;
        }
        b.poll();
        a.poll();
    }

    /**
     * Bytes behind a right head, a real frame with some bytes changed, or noise; data that is right is End's to read.
     */
    private int hostileFrame() {
        int length = 1 + random.nextInt(300);
        for (int i = 0; i < 300; i++) {
            frame.putByte(i, (byte) random.nextInt());
        }
        switch (random.nextInt(5)) {
            case 0 -> LinkFrames.encodePartHeader(random.nextInt(4), random.nextInt(400), frame, 0);
            case 1 -> LinkFrames.encodePartHeader(random.nextInt(), random.nextInt(), frame, 0);
            case 2 -> LinkFrames.encodeSealedHeader(random.nextInt(3), random.nextLong(), random.nextInt(), frame, 0);
            case 3 -> {
                LinkFrames.Hello hello = new LinkFrames.Hello(
                        End.address("x", 1, Path.of("d"), 1).id(),
                        random.nextInt(3),
                        End.address("a", 1, Path.of("d"), 1).id(),
                        1 + random.nextInt(5),
                        random.nextInt(5),
                        0,
                        random.nextInt(),
                        random.nextInt(4));
                length = LinkFrames.encodeHello(hello, frame, 0);
                frame.putByte(random.nextInt(length), (byte) random.nextInt());
            }
            default -> {
                frame.putByte(0, LinkFrames.VERSION);
                frame.putByte(1, (byte) random.nextInt(6));
                if (frame.getByte(1) == LinkFrames.DATA) {
                    LinkFrames.encodeDataHeader(-1 - random.nextInt(10), frame, 0);
                }
            }
        }
        return length;
    }

    private void await(String what, java.util.function.BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + LIMIT_NS;
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadlineNs)
                    .as("%s did not come; seed %d", what, seed)
                    .isNegative();
            LockSupport.parkNanos(100_000);
        }
    }
}

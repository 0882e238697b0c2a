package io.weir.transport.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.weir.config.Endpoint;
import io.weir.config.value.BrokerId;
import io.weir.transport.MediaDriverProcess;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.LongStream;
import org.agrona.IoUtil;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(90)
class LinksTest {
    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(30);

    private final Deque<AutoCloseable> toClose = new ArrayDeque<>();
    private final List<End> ends = new ArrayList<>();
    private Path root;
    private End a;
    private End b;
    private End c;

    @BeforeEach
    void makeDirectory() throws IOException {
        Path memory = Path.of("/dev/shm");
        root = Files.isWritable(memory)
                ? Files.createTempDirectory(memory, "weir-links-")
                : Files.createTempDirectory("weir-links-");
    }

    @AfterEach
    void closeAll() throws Exception {
        while (!toClose.isEmpty()) {
            toClose.pop().close();
        }
        IoUtil.delete(root.toFile(), true);
    }

    @ParameterizedTest
    @ValueSource(strings = {"ipc", "udp", "sealed"})
    void shouldCarryMessagesBothWaysInOrderWithoutLoss(String media) throws Exception {
        linkAAndB(media, media.equals("sealed") ? End.SEALED : End.SMALL);

        int count = 20_000;
        long[] next = new long[2];
        await("all messages", () -> {
            for (int i = 0; i < 50 && next[0] < count && a.send(b, next[0], 8 + (int) (next[0] % 3_000)); i++) {
                next[0]++;
            }
            for (int i = 0; i < 50 && next[1] < count && b.send(a, next[1], 100); i++) {
                next[1]++;
            }
            return a.heard.size() == count && b.heard.size() == count;
        });

        assertThat(b.heard).isEqualTo(numbers(count));
        assertThat(a.heard).isEqualTo(numbers(count));
        assertThat(a.stats(b))
                .returns((long) count, LinkStats::sent)
                .returns((long) count, LinkStats::received)
                .returns(100L * count, LinkStats::receivedBytes)
                .returns(0L, LinkStats::reconnects)
                .returns(0L, LinkStats::malformed)
                .returns(0L, LinkStats::dropped);
        assertThat(a.news).containsExactly("+b#1");
        assertThat(b.wakeUps.get()).isPositive();
    }

    @ParameterizedTest
    @ValueSource(strings = {"ipc", "udp", "sealed"})
    void shouldCarryBodiesUpToTheBoundAndRefuseLongerOnes(String media) throws Exception {
        LinkSettings usual = LinkSettings.defaults();
        LinkSettings settings = new LinkSettings(
                usual.maxBodyBytes(),
                usual.maxPeers(),
                usual.helloInterval(),
                usual.silence(),
                usual.retry(),
                media.equals("sealed"));
        linkAAndB(media, settings);

        int longest = settings.maxBodyBytes();
        assertThat(longest).isGreaterThan(1024 * 1024);
        long[] next = {0};
        await("big messages", () -> {
            while (next[0] < 60 && a.send(b, next[0], next[0] % 2 == 0 ? longest : 200_000)) {
                next[0]++;
            }
            return b.heard.size() == 60;
        });

        assertThat(b.heard).isEqualTo(numbers(60));
        assertThat(b.lengths.subList(0, 4)).containsExactly(longest, 200_000, longest, 200_000);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> a.links.offer(b.address.id(), new UnsafeBuffer(new byte[0]), 0, longest + 1, 0, 0))
                .withMessageContaining(String.valueOf(longest));
    }

    @Test
    void shouldWriteABodyStraightIntoTheStreamAndGoOnAfterAWriterThatFails() throws Exception {
        linkAAndB("ipc", End.SMALL);
        BrokerId to = b.address.id();

        assertThatIllegalStateException()
                .isThrownBy(() -> a.links.offer(
                        to,
                        8,
                        (buffer, offset) -> {
                            throw new IllegalStateException("on purpose");
                        },
                        0,
                        0));
        await("a small body", () -> a.links.offer(to, 8, (buffer, offset) -> buffer.putLong(offset, 1), 0, 0));
        await(
                "a long body",
                () -> a.links.offer(
                        to,
                        10_000,
                        (buffer, offset) -> {
                            buffer.setMemory(offset, 10_000, (byte) 2);
                            buffer.putLong(offset, 2);
                        },
                        0,
                        0));
        await("both", () -> b.heard.size() == 2);

        assertThat(b.heard).containsExactly(1L, 2L);
        assertThat(b.lengths).containsExactly(8, 10_000);
    }

    @Test
    void shouldKnockOnceForAllThatWasOfferedAndOnlyWhenToldTo() throws Exception {
        linkAAndB("ipc", End.SMALL);

        try (Selector sleep = Selector.open()) {
            b.links.channel().register(sleep, SelectionKey.OP_READ);
            UnsafeBuffer body = new UnsafeBuffer(new byte[8]);
            for (int i = 0; i < 3; i++) {
                assertThat(a.links.offer(b.address.id(), body, 0, 8, 0, 0)).isTrue();
            }
            assertThat(a.links.owesKnocks()).isTrue();
            assertThat(sleep.selectNow()).isZero();

            a.links.knock();
            assertThat(a.links.owesKnocks()).isFalse();
            assertThat(sleep.select(TimeUnit.NANOSECONDS.toMillis(LIMIT_NS))).isEqualTo(1);
            ByteBuffer knock = ByteBuffer.allocate(8);
            DatagramChannel door = (DatagramChannel) b.links.channel();
            assertThat(door.receive(knock)).isNotNull();
            assertThat(door.receive(knock)).isNull();
        }
        await("what was offered", () -> b.heard.size() == 3);
    }

    @Test
    void shouldTellTheArrivalByTheMessagesAge() throws Exception {
        linkAAndB("ipc", End.SMALL);

        long ageNs = TimeUnit.HOURS.toNanos(1);
        long beforeNs = System.nanoTime();
        UnsafeBuffer body = new UnsafeBuffer(new byte[8]);
        // A sender whose clock has nothing to do with this one's.
        await("offer", () -> a.links.offer(b.address.id(), body, 0, 8, 1_000, 1_000 + ageNs));
        await("message", () -> b.heard.size() == 1);

        assertThat(b.lastArrivalNs - beforeNs + ageNs).isBetween(-LIMIT_NS, LIMIT_NS);
    }

    @Test
    void shouldHoldBackOnlyThePairWhoseReceiverIsFull() throws Exception {
        linkAAndC();
        End full = end("full", 1, "d1");
        End.join(a, full);
        awaitUp(a, full);
        awaitUp(a, c);
        ends.remove(full); // polls no more

        long[] next = {0, 0};
        await("back-pressure", () -> {
            while (a.send(full, next[0], 1_000)) {
                next[0]++;
            }
            return a.stats(full).refusedBackPressure() > 100;
        });
        long held = next[0];
        long wakeUpsWhileFull = a.wakeUps.get();
        await("the other pair", () -> {
            while (next[1] < 5_000 && a.send(c, next[1], 1_000)) {
                next[1]++;
            }
            return c.heard.size() == 5_000;
        });
        // Longer than the silence after which a peer that says nothing is lost: one that is only full is not.
        long fullUntilNs =
                System.nanoTime() + End.SMALL.silence().plusSeconds(1).toNanos();
        await("a full receiver to be kept", () -> System.nanoTime() - fullUntilNs > 0);

        assertThat(a.news).doesNotContain("-full#1");
        assertThat(full.links.stats()).singleElement().returns(true, LinkStats::connected);
        ends.add(full);
        await("all that was accepted", () -> full.heard.size() == held);
        assertThat(full.heard).isEqualTo(numbers((int) held));
        await("to be woken when there is room", () -> a.wakeUps.get() > wakeUpsWhileFull);
        await("more", () -> a.send(full, held, 1_000));
        await("the link to go on", () -> full.heard.size() == held + 1);
        assertThat(c.heard).isEqualTo(numbers(5_000));
    }

    @Test
    void shouldTellAKilledPeerAsLostAndItsNextLifeAsConnected() throws Exception {
        linkAAndC();
        PeerAddress echo = End.address("echo", 1, root.resolve("d1"), End.freeUdpPort());
        LinkProcess process = linkAToEcho(echo);

        process.signal("KILL");
        long[] next = {0};
        await("loss, while the other pair goes on", () -> {
            if (a.isUpTo(c) && a.send(c, next[0], 100)) {
                next[0]++;
            }
            a.links.offer(echo.id(), new UnsafeBuffer(new byte[100]), 0, 100, 0, 0);
            return a.news.contains("-echo#1") && next[0] > 10_000;
        });
        PeerAddress again =
                End.address("echo", 2, root.resolve("d1"), echo.endpoint().port());
        opened(LinkProcess.echo(again, a.address));

        a.links.connect(again);
        await("the next life", () -> a.news.contains("+echo#2"));
        awaitAnswerOf(echo);
        await("the other pair's rest", () -> c.heard.size() == next[0]);
        assertThat(c.heard).isEqualTo(numbers((int) next[0]));
        assertThat(a.news).containsSubsequence("+echo#1", "-echo#1", "+echo#2").doesNotContain("-c#1", "-echo#2");
    }

    @Test
    void shouldComeBackWhenAPeerWasStoppedForLongerThanItsClientLives() throws Exception {
        linkAAndC();
        PeerAddress echo = End.address("echo", 1, root.resolve("d1"), End.freeUdpPort());
        LinkProcess process = linkAToEcho(echo);

        process.signal("STOP");
        long stoppedUntilNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
        await("the loss", () -> a.news.contains("-echo#1") && System.nanoTime() - stoppedUntilNs > 0);
        process.signal("CONT");

        await("it to be back", () -> a.news.lastIndexOf("+echo#1") > a.news.indexOf("-echo#1"));
        awaitAnswerOf(echo);
        assertThat(a.news).doesNotContain("-c#1");
    }

    @Test
    void shouldReconnectWhenTheDriverIsClosedAndStartedAgain() throws Exception {
        MediaDriverProcess driver = MediaDriverProcess.start(root.resolve("d1"));
        startAAndB();
        awaitUp(a, b);

        driver.close();
        await("both lost", () -> a.news.contains("-b#1") && b.news.contains("-a#1"));
        assertThat(a.send(b, 0, 8)).isFalse();
        driver("d1");

        awaitMessageAfterReconnect(a, b);
        assertThat(a.news).containsExactly("+b#1", "-b#1", "+b#1");
        assertThat(a.links.driverConnects()).isEqualTo(2);
        assertThat(a.stats(b).reconnects()).isEqualTo(1);
    }

    @Test
    void shouldReconnectWhenTheDriverIsKilledAndStartedAgain() throws Exception {
        LinkProcess driver = opened(LinkProcess.driver(root.resolve("d1")));
        startAAndB();
        awaitUp(a, b);

        driver.signal("KILL");
        long[] next = {0};
        await("both lost, under load", () -> {
            if (a.send(b, next[0], 1_000)) {
                next[0]++;
            }
            return a.news.contains("-b#1") && b.news.contains("-a#1");
        });
        opened(LinkProcess.driver(root.resolve("d1")));

        b.heard.clear();
        awaitMessageAfterReconnect(a, b);
        assertThat(a.news).containsExactly("+b#1", "-b#1", "+b#1");
    }

    @Test
    void shouldWaitForADriverThatIsNotThereYet() throws Exception {
        startAAndB();
        await("offers to be refused", () -> {
            assertThat(a.links.offer(b.address.id(), new UnsafeBuffer(new byte[8]), 0, 8, 0, 0))
                    .isFalse();
            return !a.links.stats().isEmpty() && a.stats(b).refusedNotConnected() > 0;
        });

        driver("d1");

        awaitUp(a, b);
    }

    @Test
    void shouldTellAsLostAPeerThatIsNoLongerWantedAndRefuseOffersToIt() throws Exception {
        linkAAndB("ipc", End.SMALL);

        a.links.disconnect(b.address.id());
        await("both ends to fall", () -> a.news.contains("-b#1") && b.news.contains("-a#1"));
        assertThat(a.links.stats()).isEmpty();
        assertThat(a.send(b, 0, 8)).isFalse();
        assertThat(a.links.refusedUnknownPeer()).isPositive();

        a.links.connect(b.address);
        awaitMessageAfterReconnect(a, b);
    }

    @Test
    void shouldNotHearALifeThatIsOver() throws Exception {
        driver("d1");
        a = end("a", 1, "d1");
        End old = end("b", 4, "d1");
        End.join(a, old);
        awaitUp(a, old);

        a.links.connect(
                End.address("b", 5, root.resolve("d1"), old.address.endpoint().port()));
        await("the old life to be lost at both ends", () -> a.news.contains("-b#4") && old.news.contains("-a#1"));
        await("its hellos to be dropped", () -> a.stats(old).dropped() > 5);
        End present = end("b", 5, "d1");
        present.links.connect(a.address);

        await("the present life", () -> a.news.contains("+b#5"));
        assertThat(a.news).containsExactly("+b#4", "-b#4", "+b#5");
    }

    @Test
    void shouldCountAndDropWhatIsMalformedOrComesBeforeItsHello() throws Exception {
        linkAAndB("ipc", End.SMALL);

        UnsafeBuffer frame = new UnsafeBuffer(new byte[20_000]);
        try (Aeron stranger = Aeron.connect(new Aeron.Context()
                        .aeronDirectoryName(root.resolve("d1").toString()));
                ExclusivePublication stream = stranger.addExclusivePublication(
                        a.address.channelTo(b.address, 128 * 1024), a.address.streamTo(b.address))) {
            await("stranger's stream", stream::isConnected);
            send(stream, frame, 100); // version 0
            send(stream, frame, 1);
            LinkFrames.encodeDataHeader(-1, frame, 0);
            send(stream, frame, 100); // a negative age
            frame.putByte(1, (byte) 77);
            send(stream, frame, 100); // an unknown type
            LinkFrames.encodeHello(new LinkFrames.Hello(a.address.id(), 1, b.address.id(), 1, 0, 0), frame, 0);
            send(stream, frame, 20); // a cut hello
            await("malformed frames", () -> b.stats(a).malformed() == 5);
            LinkFrames.encodeDataHeader(0, frame, 0);
            send(stream, frame, 8_000 + 1_000); // fragmented by the stream: each fragment counts
            await("malformed frames", () -> b.stats(a).malformed() == 7);
            send(stream, frame, 24);
            LinkFrames.encodePartHeader(LinkFrames.FIRST, 16_000, frame, 0);
            send(stream, frame, 8_000);
            int length = LinkFrames.encodeHello(
                    new LinkFrames.Hello(new BrokerId("c"), 1, b.address.id(), Long.MAX_VALUE, 0, 0), frame, 0);
            send(stream, frame, length); // of another pair
            length = LinkFrames.encodeHello(
                    new LinkFrames.Hello(a.address.id(), Long.MAX_VALUE, b.address.id(), 1, 0, 0), frame, 0);
            send(stream, frame, length); // of a life that the store has not given out
            await("dropped frames", () -> b.stats(a).dropped() == 4);
        }

        await("the link to go on", () -> a.send(b, 9, 8));
        await("message", () -> b.heard.size() == 1);
        assertThat(b.heard).containsExactly(9L);
        assertThat(b.news).containsExactly("+a#1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"ipc", "sealed"})
    void shouldBeginAnewWhenAFrameCannotBeRead(String media) throws Exception {
        linkAAndB(media, media.equals("sealed") ? End.SEALED : End.SMALL);

        await("offer", () -> a.send(b, End.UNREADABLE, 8));
        await("both ends to begin anew", () -> b.news.equals(List.of("+a#1", "-a#1", "+a#1")));

        awaitMessageAfterReconnect(a, b);
        assertThat(a.news).containsExactly("+b#1", "-b#1", "+b#1");
        assertThat(b.stats(a).malformed()).isEqualTo(1);
    }

    @Test
    void shouldStayDownWithoutThePeersKeyAndAcrossANetworkWithoutBeingAsked() {
        driver("d1");
        driver("d2");
        a = end("a", 1, "d1", End.SEALED);
        b = end("b", 1, "d2", End.SEALED);
        a.links.connect(b.address);
        b.links.connect(a.address);
        a.links.agree(b.address.id(), 1, b.links.publicKey());
        b.links.agree(a.address.id(), 2, a.links.publicKey()); // another life's

        await("b to want a's key", () -> b.links.lacksKeyOf(a.address.id()));
        assertThat(a.links.lacksKeyOf(b.address.id())).isFalse();
        assertThat(a.news).isEmpty();
        b.links.agree(a.address.id(), 1, a.links.publicKey());
        awaitUp(a, b);

        PeerAddress far = new PeerAddress(new BrokerId("far"), 1, "elsewhere", "/d", new Endpoint("192.0.2.1", 4154));
        a.links.connect(far);
        await("a key is wanted for who is on another host", () -> a.links.lacksKeyOf(far.id()));
    }

    /** What a peer's stream carried, sent again by somebody else, and what somebody else sealed. */
    @Test
    void shouldTakeNothingOnASealedLinkThatThePeerDidNotSealForThisPlace() throws Exception {
        linkAAndB("sealed", End.SEALED);
        byte[] secret = new byte[32];
        FrameSeal forged = new FrameSeal(secret, a.address.directionTo(b.address), 77, 0);
        UnsafeBuffer frame = new UnsafeBuffer(new byte[2_000]);
        UnsafeBuffer sealed = new UnsafeBuffer(new byte[4_000]);
        int length = LinkFrames.encodeHello(
                new LinkFrames.Hello(a.address.id(), 1, b.address.id(), 77, 0, 0), frame, Integer.BYTES);
        LinkFrames.encodeLength(length, frame, 0);
        try (Aeron stranger = Aeron.connect(new Aeron.Context()
                        .aeronDirectoryName(root.resolve("d1").toString()));
                ExclusivePublication stream = stranger.addExclusivePublication(
                        a.address.channelTo(b.address, 64 * 1024), a.address.streamTo(b.address))) {
            await("stranger's stream", stream::isConnected);
            send(stream, sealed, forged.seal(frame.byteArray(), Integer.BYTES + length, sealed));
            frame.setMemory(0, 2_000, (byte) 0);
            LinkFrames.encodeHello(new LinkFrames.Hello(a.address.id(), 1, b.address.id(), 1, 0, 0), frame, 0);
            send(stream, frame, length); // not sealed at all
            await("both to be counted", () -> b.stats(a).malformed() == 2);
        }

        await("the link to go on", () -> a.send(b, 9, 8));
        await("message", () -> b.heard.size() == 1);
        assertThat(b.news).containsExactly("+a#1");
    }

    @Test
    void shouldKeepOtherUsersOutOfTheMediaDriversDirectory() throws Exception {
        driver("d1");

        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(root.resolve("d1"))))
                .isEqualTo("rwx------");
    }

    @Test
    void shouldTakeLessSharedMemoryAStreamTheMorePeersThereAre() {
        LinkSettings settings = LinkSettings.defaults();
        for (int peers : new int[] {1, 8, 9, 29, 32, 33, 256}) {
            long bothDirections = 2L * peers * 3 * settings.termBytes(peers);
            assertThat(bothDirections).as("%d peers", peers).isLessThanOrEqualTo((peers > 128 ? 384L : 192L) << 20);
        }
        assertThat(End.SMALL.termBytes(1)).isEqualTo(128 * 1024);
    }

    @Test
    void shouldRefuseALinkToItselfAndMorePeersThanTheBound() {
        a = end("a", 1, "d1");

        assertThatIllegalArgumentException().isThrownBy(() -> a.links.connect(a.address));
        for (int i = 0; i < End.SMALL.maxPeers(); i++) {
            a.links.connect(End.address("b" + i, 1, root, 1));
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> a.links.connect(End.address("one-more", 1, root, 1)))
                .withMessageContaining("maxPeers");
    }

    /** Through one media driver (ipc) or one each (udp). */
    private void linkAAndB(String media, LinkSettings settings) {
        String directoryOfB = media.equals("ipc") ? "d1" : "d2";
        driver("d1");
        if (!media.equals("ipc")) {
            driver(directoryOfB);
        }
        a = end("a", 1, "d1", settings);
        b = end("b", 1, directoryOfB, settings);
        End.join(a, b);
        awaitUp(a, b);
    }

    /** Without a media driver. */
    private void startAAndB() {
        a = end("a", 1, "d1");
        b = end("b", 1, "d1");
        End.join(a, b);
    }

    private void linkAAndC() {
        driver("d1");
        a = end("a", 1, "d1");
        c = end("c", 1, "d1");
        End.join(a, c);
    }

    private LinkProcess linkAToEcho(PeerAddress echo) throws IOException {
        LinkProcess process = opened(LinkProcess.echo(echo, a.address));
        a.links.connect(echo);
        await("echo", () -> a.news.contains("+echo#1"));
        return process;
    }

    private void awaitAnswerOf(PeerAddress echo) {
        await("an answer", () -> {
            a.links.offer(echo.id(), new UnsafeBuffer(new byte[8]), 0, 8, 0, 0);
            return !a.heard.isEmpty();
        });
    }

    private void driver(String directory) {
        toClose.push(MediaDriverProcess.start(root.resolve(directory)));
    }

    private End end(String id, long incarnation, String directory) {
        return end(id, incarnation, directory, End.SMALL);
    }

    private End end(String id, long incarnation, String directory, LinkSettings settings) {
        End end = End.start(id, incarnation, root.resolve(directory), settings);
        toClose.push(end);
        ends.add(end);
        return end;
    }

    private LinkProcess opened(LinkProcess process) {
        toClose.push(process);
        return process;
    }

    private static void send(ExclusivePublication stream, UnsafeBuffer frame, int length) {
        await("room", () -> stream.offer(frame, 0, length) > 0, List.of());
    }

    private void awaitUp(End one, End other) {
        await("a link between " + one.peer() + " and " + other.peer(), () -> one.isUpTo(other) && other.isUpTo(one));
    }

    private void awaitMessageAfterReconnect(End from, End to) {
        await("the link to be back", () -> from.send(to, 42, 8));
        await("a message", () -> to.heard.contains(42L));
    }

    private static List<Long> numbers(int count) {
        return LongStream.range(0, count).boxed().toList();
    }

    private void await(String what, BooleanSupplier condition) {
        await(what, condition, ends);
    }

    /** Every end's thread is this one, so it polls for all of them while it waits. */
    private static void await(String what, BooleanSupplier condition, List<End> ends) {
        long deadlineNs = System.nanoTime() + LIMIT_NS;
        while (!condition.getAsBoolean()) {
            int work = 0;
            for (End end : ends) {
                work += end.poll();
            }
            if (System.nanoTime() - deadlineNs > 0) {
                throw new AssertionError("waited in vain for " + what + "; "
                        + ends.stream()
                                .map(end -> end.peer() + ": " + end.news + " " + end.links.stats())
                                .toList());
            }
            if (work == 0) {
                LockSupport.parkNanos(50_000);
            }
        }
    }
}

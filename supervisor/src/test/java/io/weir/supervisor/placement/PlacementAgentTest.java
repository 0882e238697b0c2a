package io.weir.supervisor.placement;

import static org.assertj.core.api.Assertions.assertThat;

import akka.actor.testkit.typed.javadsl.ActorTestKit;
import akka.actor.testkit.typed.javadsl.FishingOutcomes;
import akka.actor.testkit.typed.javadsl.ManualTime;
import akka.actor.testkit.typed.javadsl.TestProbe;
import akka.actor.typed.ActorRef;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.Gates;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.value.Holder;
import io.weir.supervisor.placement.Decision.Part;
import io.weir.supervisor.placement.Decision.State;
import io.weir.topics.algorithm.SendingRecording;
import io.weir.topics.federation.PlacementTable;
import io.weir.topics.path.MessagePath;
import io.weir.topics.path.PathSettings;
import io.weir.transport.gateway.BrokerDirectory;
import io.weir.transport.gateway.ClientTerms;
import io.weir.transport.gateway.GatewayLoop;
import io.weir.transport.gateway.GatewaySettings;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A broker's end of placement: a real message path and its table, a store in memory, and the singleton played by a
 * probe.
 */
@Timeout(60)
class PlacementAgentTest {
    private static final TopicName ORDERS = new TopicName("orders");
    private static final BrokerId HERE = new BrokerId("here");
    private static final BrokerId THERE = new BrokerId("there");
    private static final Duration EVERY = Duration.ofMillis(500);
    /** What passes before an agent looks again that was told to while its look was under way. */
    private static final Duration AT_ONCE = Duration.ofMillis(1);

    private static final long SESSION = 41;

    private record Someone(long id, String group, double expectedRate) implements Publisher {
        @Override
        public void accepted(long ticket) {}

        @Override
        public void throttled(long ticket, long retryAfterNs) {}

        @Override
        public void failed(long ticket, String reason) {}
    }

    private final ActorTestKit kit = ActorTestKit.create(ManualTime.config());
    private final ManualTime time = ManualTime.get(kit.system());
    private final AtomicLong clock = new AtomicLong(1_000_000_000L);
    private final AtomicLong wallClock = new AtomicLong(PlacementTable.UNOBSERVED);
    private final StoredDecisions store = new StoredDecisions();
    private final PlacementTable table = new PlacementTable(HERE);
    private final TestProbe<Placement.Command> singleton = kit.createTestProbe();
    private final AtomicReference<Map<TopicName, Long>> placed = new AtomicReference<>(Map.of());
    private MessagePath path;
    private ActorRef<PlacementAgent.Command> agent;

    @BeforeEach
    void start() throws IOException {
        GatewaySettings gateway = GatewaySettings.defaults();
        GatewayLoop loop = new GatewayLoop(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                gateway,
                ClientTerms.defaults(),
                new BrokerDirectory() {
                    @Override
                    public Optional<BrokerId> self() {
                        return Optional.of(HERE);
                    }

                    @Override
                    public Optional<String> tcpOf(BrokerId broker) {
                        return Optional.empty();
                    }
                },
                System::nanoTime);
        Gates gates = new Gates(new Holder(HERE, 1), new Lease(1_000_000_000L), 0, loop::wakeUp);
        path = MessagePath.start(loop, gateway, PathSettings.defaults(), gates, topic -> {}, System::nanoTime);
        agent = agent(table, false);
    }

    private ActorRef<PlacementAgent.Command> agent(PlacementTable of, boolean registeredOnly) {
        return kit.spawn(PlacementAgent.create(new PlacementAgent.Dependencies(
                HERE,
                path,
                of,
                store,
                Runnable::run,
                singleton.getRef(),
                placed::set,
                EVERY,
                () -> SESSION,
                clock::get,
                wallClock::get,
                registeredOnly)));
    }

    @AfterEach
    void stop() {
        kit.shutdownTestKit();
        path.close();
    }

    private <T> T onPath(Supplier<T> work) {
        CompletableFuture<T> done = new CompletableFuture<>();
        assertThat(path.offer((port, nowNs) -> done.complete(work.get()))).isTrue();
        return done.join();
    }

    /** Publishes as the message path does, and answers where it would go; null: nowhere else. */
    private BrokerId publish(long id, String group, double expectedRate, int messages) {
        return onPath(() -> publishHere(id, group, expectedRate, messages));
    }

    private BrokerId publishHere(long id, String group, double expectedRate, int messages) {
        return publishHere(table, id, group, expectedRate, messages);
    }

    private BrokerId publishHere(PlacementTable to, long id, String group, double expectedRate, int messages) {
        byte[] name = ORDERS.value().getBytes(StandardCharsets.US_ASCII);
        PublishRequest request = new PublishRequest()
                .begin(new Someone(id, group, expectedRate), 0, ByteBuffer.wrap(name), clock.get())
                .topic(0, name.length)
                .batch(0, 0, messages);
        return to.homeOf(request);
    }

    /** Half a second passes, and what the agent then reports. */
    private Report report() {
        clock.addAndGet(EVERY.toNanos());
        if (wallClock.get() != PlacementTable.UNOBSERVED) {
            wallClock.addAndGet(EVERY.toNanos());
        }
        time.timePasses(EVERY);
        Placement.Reported reported = singleton.expectMessageClass(Placement.Reported.class, Duration.ofSeconds(10));
        assertThat(reported.report().problem()).isNull();
        assertThat(reported.report().broker()).isEqualTo(HERE);
        return reported.report();
    }

    private static Report.OfTopic orders(Report report) {
        assertThat(report.topics()).as("something new of one topic").hasSize(1);
        assertThat(report.topics().get(0).topic()).isEqualTo(ORDERS);
        return report.topics().get(0);
    }

    private static Decision decision(long revision, BrokerId broker, long... ids) {
        return new Decision(
                ORDERS,
                revision,
                "one",
                "srtm",
                State.FITTED,
                "PUBLISHERS_ARRIVED",
                1,
                10_000_000,
                List.of(new Part(broker, 10, 10, 0, 0, Decision.pack(ids))),
                new byte[0],
                0,
                List.of());
    }

    /** @param step so much of the agent's time passes at each look */
    private void await(String what, Duration step, Supplier<Boolean> condition) {
        long untilNs = System.nanoTime() + 10_000_000_000L;
        while (!condition.get()) {
            assertThat(System.nanoTime() - untilNs).as("not in time: " + what).isNegative();
            time.timePasses(step);
        }
    }

    @Test
    void shouldTellAPublisherThatSaidItsRateOnceAndThenOnlyThatTheBrokerIsThere() {
        publish(1, "north", 12.5, 1);
        Report first = report();
        assertThat(orders(first).ids()).containsExactly(1);
        assertThat(orders(first).rates()).containsExactly(12.5f);
        assertThat(orders(first).groups()).containsExactly("north");
        assertThat(first.number()).isZero();
        publish(1, "north", 12.5, 1);
        Report second = report();
        assertThat(second.topics()).isEmpty();
        assertThat(second.number()).isEqualTo(1);
        assertThat(second.session()).isEqualTo(first.session());
    }

    @Test
    void shouldMeasureWhoeverDidNotSayAndTellAgainOnlyWhenItsRateIsAnother() {
        publish(1, "", 0, 1);
        assertThat(report().topics()).as("its first window is cut off").isEmpty();
        publish(1, "", 0, 50);
        assertThat(orders(report()).rates()).containsExactly(100f);
        publish(1, "", 0, 55);
        assertThat(report().topics()).as("noise").isEmpty();
        float told = 100;
        for (int window = 0; window < 20 && told == 100; window++) {
            publish(1, "", 0, 200);
            Report report = report();
            told = report.topics().isEmpty() ? told : orders(report).rates()[0];
        }
        assertThat(told).as("it publishes 400 a second now").isBetween(125f, 400f);
    }

    @Test
    void shouldTellWhatASaidRateOrGroupBecame() {
        publish(1, "north", 10, 1);
        report();
        publish(1, "north", 40, 1);
        assertThat(orders(report()).rates()).containsExactly(40f);
        publish(1, "south", 40, 1);
        assertThat(orders(report()).groups()).containsExactly("south");
        publish(1, "south", 40, 1);
        assertThat(report().topics()).isEmpty();
    }

    @Test
    void shouldTellInWhichSlotsPublishersBeganToSend() {
        publish(1, "", 5, 1);
        assertThat(report().bursts()).as("nobody looks for groups").isEmpty();
        wallClock.set(9_000 * PlacementTable.SLOT_NS);
        report();
        long fromSlot = wallClock.get() / PlacementTable.SLOT_NS;
        publish(1, "", 5, 1);
        clock.addAndGet(7 * PlacementTable.SLOT_NS);
        publish(2, "", 5, 1);
        clock.addAndGet(-7 * PlacementTable.SLOT_NS);
        publish(3, "", 5, 0);
        Report report = report();
        assertThat(report.bursts()).hasSize(1);
        Report.Bursts bursts = report.bursts().get(0);
        assertThat(bursts.topic()).isEqualTo(ORDERS);
        assertThat(bursts.fromSlot()).isEqualTo(fromSlot);
        assertThat(bursts.ids()).containsExactlyInAnyOrder(1, 2, 3);
        for (int i = 0; i < 3; i++) {
            assertThat(bursts.slots()[i]).isEqualTo(bursts.ids()[i] == 2 ? 1L << 7 : 1L);
        }
        assertThat(report().bursts()).as("nobody sent").isEmpty();
    }

    @Test
    void shouldTellWhoHasLeft() {
        publish(1, "", 5, 1);
        report();
        List<Long> left = new ArrayList<>();
        for (int look = 0; look < 30 && left.isEmpty(); look++) {
            Report report = report();
            report.topics().forEach(of -> Arrays.stream(of.left()).forEach(left::add));
        }
        assertThat(left).containsExactly(1L);
        publish(1, "", 5, 1);
        assertThat(orders(report()).ids()).as("who comes back is told again").containsExactly(1);
    }

    @Test
    void shouldTellEverythingAnewUnderAnotherSessionWhenAsked() {
        publish(1, "", 5, 1);
        publish(2, "", 6, 1);
        Report before = report();
        assertThat(report().number()).isEqualTo(1);
        agent.tell(new PlacementAgent.SendAll());
        Report anew = report();
        assertThat(anew.number()).isZero();
        assertThat(anew.session()).isNotEqualTo(before.session());
        assertThat(orders(anew).ids()).containsExactlyInAnyOrder(1, 2);
    }

    @Test
    void shouldCutALongReportIntoMessagesOfBoundedSizeThatFollowEachOther() {
        int publishers = 2 * Report.MOST_PUBLISHERS + 10;
        onPath(() -> {
            for (long id = 1; id <= publishers; id++) {
                publishHere(id, "g", 5, 1);
            }
            return true;
        });
        List<Long> told = new ArrayList<>();
        Report report = report();
        for (int number = 0; ; number++) {
            assertThat(report.number()).isEqualTo(number);
            for (Report.OfTopic of : report.topics()) {
                assertThat(of.ids().length).isLessThanOrEqualTo(Report.MOST_PUBLISHERS);
                Arrays.stream(of.ids()).forEach(told::add);
            }
            if (told.size() >= publishers) {
                break;
            }
            report = singleton
                    .expectMessageClass(Placement.Reported.class, Duration.ofSeconds(10))
                    .report();
        }
        assertThat(told)
                .hasSize(publishers)
                .containsAll(LongStream.rangeClosed(1, publishers).boxed().toList());
    }

    @Test
    void shouldLayWhatWasDecidedOnTheMessagePathAndSayByWhichRevisionItWorks() {
        publish(1, "", 5, 1);
        assertThat(orders(report()).revision()).isZero();
        store.replace(0, decision(1, THERE, 1));
        agent.tell(new PlacementAgent.LookNow());
        await("its home is another", AT_ONCE, () -> THERE.equals(publish(1, "", 5, 1)));
        assertThat(placed.get())
                .as("the topic is placed, and nothing of it is here")
                .isEqualTo(Map.of(ORDERS, 0L));
        publish(1, "", 50, 1);
        assertThat(orders(report()).revision())
                .as("a window in which publishers moved belongs to no revision")
                .isEqualTo(-1);
        publish(1, "", 5, 1);
        assertThat(orders(report()).revision()).isEqualTo(1);

        store.replace(1, decision(2, HERE, 1));
        await("without being told to look, too", EVERY, () -> publish(1, "", 5, 1) == null);
        assertThat(placed.get()).isEqualTo(Map.of(ORDERS, 10_000_000L));
    }

    @Test
    void shouldKeepHomesWhileTheStoreIsAwayAndLookAgainWhenItIsBack() {
        store.replace(0, decision(1, THERE, 1));
        agent.tell(new PlacementAgent.LookNow());
        await("its home is another", AT_ONCE, () -> THERE.equals(publish(1, "", 5, 1)));
        store.away = true;
        agent.tell(new PlacementAgent.LookNow());
        time.timePasses(Duration.ofSeconds(5));
        assertThat(publish(1, "", 5, 1)).isEqualTo(THERE);
        store.away = false;
        store.replace(1, decision(2, HERE, 1));
        await("it is back", EVERY, () -> publish(1, "", 5, 1) == null);
    }

    @Test
    void shouldTellNothingWhenTheMessagePathHasEnded() {
        publish(1, "", 5, 1);
        report();
        path.close();
        clock.addAndGet(EVERY.toNanos());
        time.timePasses(EVERY);
        singleton.expectNoMessage(Duration.ofMillis(200));
        agent.tell(new PlacementAgent.LookNow());
        time.timePasses(Duration.ofSeconds(2));
        singleton.expectNoMessage(Duration.ofMillis(200));
    }

    @Test
    void shouldTellWhatWasRecordedAndTellItAgainToASuccessor() {
        publish(1, "", 5, 1);
        report();
        SendingRecording recording = new SendingRecording(ORDERS, 100, EVERY.toNanos());
        onPath(() -> {
            table.record(recording, clock.get(), 7_000);
            return true;
        });
        publish(1, "", 5, 3);
        clock.addAndGet(EVERY.toNanos());
        time.timePasses(EVERY);
        RecordedTraces.Part part = singleton
                .fishForMessage(
                        Duration.ofSeconds(10),
                        message -> message instanceof Placement.Recorded
                                ? FishingOutcomes.complete()
                                : FishingOutcomes.continueAndIgnore())
                .stream()
                .map(message -> ((Placement.Recorded) message).part())
                .findFirst()
                .orElseThrow();
        assertThat(part.topic()).isEqualTo(ORDERS);
        assertThat(part.publishers()).containsExactly(1);
        assertThat(part.messages()).containsExactly(3);
        agent.tell(new PlacementAgent.SendAll());
        clock.addAndGet(EVERY.toNanos());
        time.timePasses(EVERY);
        singleton.fishForMessage(
                Duration.ofSeconds(10),
                message -> message instanceof Placement.Recorded
                        ? FishingOutcomes.complete()
                        : FishingOutcomes.continueAndIgnore());
    }

    /** An agent of its own, since the usual one is for all topics and would report. */
    private ActorRef<PlacementAgent.Command> sleeper(AtomicReference<PlacementTable> of) {
        kit.stop(agent);
        store.calls = 0;
        AtomicReference<ActorRef<PlacementAgent.Command>> self = new AtomicReference<>();
        of.set(new PlacementTable(HERE, () -> self.get().tell(new PlacementAgent.SomebodyRegistered())));
        self.set(agent(of.get(), true));
        return self.get();
    }

    /** What the singleton was told, or null if it is nothing within a moment. */
    private Placement.Command next() {
        try {
            return singleton.receiveMessage(Duration.ofMillis(100));
        } catch (AssertionError e) {
            return null;
        }
    }

    @Test
    void shouldDoNothingWhileNobodyRegisters() {
        AtomicReference<PlacementTable> some = new AtomicReference<>();
        sleeper(some);
        for (int i = 0; i < 1_000; i++) {
            assertThat(publishHere(some.get(), i + 1, "", 0, 1)).isNull();
        }
        clock.addAndGet(Duration.ofHours(1).toNanos());
        time.timePasses(Duration.ofHours(1));
        singleton.expectNoMessage(Duration.ofMillis(200));
        assertThat(store.calls).as("one look at the start, in an hour").isLessThanOrEqualTo(2);
        assertThat(some.get().take()).as("nobody is counted").isEmpty();
    }

    @Test
    void shouldReportFromTheFirstRegistrationHereOnAndRestWhenThereIsNoneAnyMore() {
        AtomicReference<PlacementTable> some = new AtomicReference<>();
        sleeper(some);
        onPath(() -> publishHere(some.get(), 1, "north", 0, 1));
        await("it is awake", EVERY, () -> next() != null);
        boolean told = false;
        for (int i = 0; i < 10 && !told; i++) {
            onPath(() -> publishHere(some.get(), 1, "north", 0, 1));
            told = report().topics().stream()
                    .anyMatch(of -> of.topic().equals(ORDERS) && of.registered()[0] == PlacementTable.UNNAMED);
        }
        assertThat(told).isTrue();
        for (int look = 0; look < 25; look++) {
            clock.addAndGet(EVERY.toNanos());
            time.timePasses(EVERY);
            onPath(() -> true);
        }
        await("it rests", EVERY, () -> {
            clock.addAndGet(EVERY.toNanos());
            return next() == null;
        });
        int calls = store.calls;
        time.timePasses(Duration.ofHours(1));
        singleton.expectNoMessage(Duration.ofMillis(200));
        assertThat(store.calls).isLessThanOrEqualTo(calls + 2);
    }

    @Test
    void shouldReportWhoRegisteredBeforeItStarted() {
        kit.stop(agent);
        PlacementTable early = new PlacementTable(HERE, () -> {});
        onPath(() -> publishHere(early, 1, "north", 0, 1));
        agent(early, true);
        await("it is awake", EVERY, () -> next() != null);
    }

    @Test
    void shouldFollowTopicsThatSomebodyRegisteredForElsewhere() {
        AtomicReference<PlacementTable> some = new AtomicReference<>();
        ActorRef<PlacementAgent.Command> sleeper = sleeper(some);
        store.register(List.of(new Decisions.Registered(ORDERS, 99, 5, "", true, 0)), List.of());
        sleeper.tell(new PlacementAgent.LookNow());
        await("it follows the topic", EVERY, () -> {
            clock.addAndGet(EVERY.toNanos());
            onPath(() -> publishHere(some.get(), 1, "", 0, 1));
            return next() instanceof Placement.Reported reported
                    && reported.report().topics().stream().anyMatch(of -> of.ids().length == 1);
        });
    }
}

package io.weir.supervisor.placement;

import static org.assertj.core.api.Assertions.assertThat;

import akka.actor.testkit.typed.javadsl.ActorTestKit;
import akka.actor.testkit.typed.javadsl.ManualTime;
import akka.actor.testkit.typed.javadsl.TestProbe;
import akka.actor.typed.ActorRef;
import com.typesafe.config.ConfigFactory;
import io.weir.config.CrossesNodes;
import io.weir.config.WeirSettings.PlacementMode;
import io.weir.config.WeirSettings.PlacementSettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.Decision.State;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The singleton actor, under a clock of the test's, with a store in memory. */
@Timeout(60)
class PlacementTest {
    private static final TopicName ORDERS = new TopicName("orders");
    private static final BrokerId HERE = new BrokerId("b1");

    private final ActorTestKit kit = ActorTestKit.create(ManualTime.config()
            .withFallback(ConfigFactory.parseString(
                    "akka.actor.serialization-bindings { \"io.weir.config.CrossesNodes\" = jackson-cbor }")));
    private final ManualTime time = ManualTime.get(kit.system());
    private final StoredDecisions store = new StoredDecisions();
    private final AtomicLong clock = new AtomicLong(1_000_000_000L);
    private final TestProbe<PlacementAgent.Command> agent = kit.createTestProbe();
    private final AtomicInteger news = new AtomicInteger();
    private PlacementMode mode = PlacementMode.ALL;
    private int number;

    @AfterEach
    void stop() {
        kit.shutdownTestKit();
    }

    @Test
    void shouldStoreWhatItDecidesAndHaveBrokersLook() {
        ActorRef<Placement.Command> placement = placement("one");
        run(placement, 20);
        agent.fishForMessage(
                Duration.ofSeconds(5),
                message -> message instanceof PlacementAgent.LookNow
                        ? akka.actor.testkit.typed.javadsl.FishingOutcomes.complete()
                        : akka.actor.testkit.typed.javadsl.FishingOutcomes.continueAndIgnore());
        assertThat(store.get(ORDERS).orElseThrow().homes()).hasSize(10);

        TestProbe<PlacementView> views = kit.createTestProbe();
        placement.tell(new Placement.Show("", 10, views.getRef()));
        PlacementView view = views.receiveMessage();
        assertThat(view.brokers()).hasSize(1);
        assertThat(view.topics()).hasSize(1);
        assertThat(view.topics().get(0).publishers()).isEqualTo(10);

        TestProbe<Placement.Explained> explained = kit.createTestProbe();
        placement.tell(new Placement.Explain(ORDERS, explained.getRef()));
        assertThat(explained.receiveMessage().topic().orElseThrow().reasons()).isNotEmpty();
        placement.tell(new Placement.Explain(new TopicName("other"), explained.getRef()));
        assertThat(explained.receiveMessage().topic()).isEmpty();
    }

    @Test
    void shouldPlanWithoutApplying() {
        ActorRef<Placement.Command> placement = placement("one");
        run(placement, 12);
        await("it is placed", placement, () -> store.get(ORDERS).isPresent());
        int written = store.written.size();
        TestProbe<WhatIf.Plan> plans = kit.createTestProbe();
        placement.tell(new Placement.Plan(new WhatIf("orders", "lb", 3, List.of(), null, 2), plans.getRef()));
        WhatIf.Plan plan = plans.receiveMessage();
        assertThat(plan.problem()).isNull();
        assertThat(plan.brokers()).isEqualTo(4);
        assertThat(plan.topics()).hasSize(1);
        assertThat(plan.topics().get(0).brokersThen()).isEqualTo(4);
        assertThat(plan.topics().get(0).rate()).isEqualTo(2 * 10 * 20.0);
        placement.tell(new Placement.Plan(new WhatIf("nobody", null, 0, List.of(), null, 1), plans.getRef()));
        assertThat(plans.receiveMessage().problem()).contains("no such topic");
        placement.tell(new Placement.Plan(new WhatIf(null, null, 0, List.of("b1"), null, 1), plans.getRef()));
        assertThat(plans.receiveMessage().problem()).contains("no broker would be left");
        assertThat(store.written).hasSize(written);
    }

    @Test
    void shouldAskForEverythingWhenItMissedSomething() {
        ActorRef<Placement.Command> placement = placement("one");
        await("it has read the store", placement, () -> {
            placement.tell(new Placement.Reported(
                    new Report(HERE, 7, 3, 1_000, List.of(), List.of(), List.of()), agent.getRef()));
            return agent.receiveSeveralMessages(0).isEmpty() && askedForAll();
        });
    }

    @Test
    void shouldRegisterWhoeverSaysWhoItIsAndRefuseAnotherGroup() {
        ActorRef<Placement.Command> placement = placement("one");
        TestProbe<Placement.RegisterOutcome> outcomes = kit.createTestProbe();
        run(placement, 3);
        placement.tell(new Placement.Register(ORDERS, 77, 5, "north", outcomes.getRef()));
        assertThat(outcomes.receiveMessage().cause()).isNull();
        placement.tell(new Placement.Register(ORDERS, 77, 6, "north", outcomes.getRef()));
        assertThat(outcomes.receiveMessage().cause()).as("again").isNull();
        placement.tell(new Placement.Register(ORDERS, 77, 5, "south", outcomes.getRef()));
        Placement.RegisterOutcome refused = outcomes.receiveMessage();
        assertThat(refused.cause()).isEqualTo(Placement.RegisterRefusal.CONTRADICTORY_GROUP);
        assertThat(refused.text()).contains("publisher 77", "'south'", "'north'");
        placement.tell(new Placement.Register(ORDERS, 78, -1, "", outcomes.getRef()));
        assertThat(outcomes.receiveMessage().cause()).isEqualTo(Placement.RegisterRefusal.IMPOSSIBLE_RATE);
        placement.tell(new Placement.Register(new TopicName("other"), 77, 5, "", outcomes.getRef()));
        assertThat(outcomes.receiveMessage().cause()).isEqualTo(Placement.RegisterRefusal.UNKNOWN_TOPIC);

        assertThat(store.registrations())
                .as("stored before it was answered")
                .extracting(Decisions.Registered::id, Decisions.Registered::rate, Decisions.Registered::group)
                .containsExactly(org.assertj.core.groups.Tuple.tuple(77L, 6.0, "north"));
        assertThat(news.get()).as("every broker looks").isPositive();

        TestProbe<Placement.Explained> explained = kit.createTestProbe();
        placement.tell(new Placement.Explain(ORDERS, explained.getRef()));
        assertThat(explained.receiveMessage().topic().orElseThrow().refusals())
                .anyMatch(refusal -> refusal.contains("'south'"));
        await("it is placed with the others", placement, () -> store.get(ORDERS)
                .filter(decision -> decision.homes().containsKey(77L))
                .isPresent());

        placement.tell(new Placement.Unregister(ORDERS, 78, outcomes.getRef()));
        assertThat(outcomes.receiveMessage().cause()).isEqualTo(Placement.RegisterRefusal.NOT_REGISTERED);
        store.away = true;
        placement.tell(new Placement.Unregister(ORDERS, 77, outcomes.getRef()));
        assertThat(outcomes.receiveMessage().cause())
                .as("the store is away")
                .isEqualTo(Placement.RegisterRefusal.NOT_YET);
        store.away = false;
        await("it is written when the store is back", placement, () -> store.registrations()
                .isEmpty());
    }

    @Test
    void shouldDoNothingWhileNobodyIsRegistered() {
        mode = PlacementMode.REGISTERED;
        ActorRef<Placement.Command> placement = placement("one");
        assertThat(view(placement).brokers()).isEmpty();
        long read = store.calls;
        assertThat(read).as("once at the start").isLessThanOrEqualTo(2);
        clock.addAndGet(3_600_000_000_000L);
        time.timePasses(Duration.ofHours(1));
        placement.tell(
                new Placement.Reported(new Report(HERE, 7, 0, 1_000, List.of(), List.of(), List.of()), agent.getRef()));
        assertThat(view(placement).topics()).isEmpty();
        assertThat(store.calls).as("in an hour").isEqualTo(read);
        assertThat(news.get()).isZero();
        agent.expectNoMessage(Duration.ofMillis(100));
    }

    @Test
    void shouldWakeWhenSomebodyRegistersAndRestWhenNobodyIsLeft() {
        mode = PlacementMode.REGISTERED;
        ActorRef<Placement.Command> placement = placement("one");
        TestProbe<Placement.RegisterOutcome> outcomes = kit.createTestProbe();
        placement.tell(new Placement.Register(ORDERS, 77, 5, "north", outcomes.getRef()));
        assertThat(outcomes.receiveMessage().cause()).as("the first one, too").isNull();
        assertThat(store.registrations()).hasSize(1);
        assertThat(news.get()).as("brokers that are asleep look").isPositive();
        await("it is placed", placement, () -> store.get(ORDERS)
                .filter(decision -> decision.homes().containsKey(77L))
                .isPresent());
        placement.tell(new Placement.Unregister(ORDERS, 77, outcomes.getRef()));
        assertThat(outcomes.receiveMessage().cause()).isNull();
        await("it is taken back", placement, () -> store.get(ORDERS)
                .filter(decision -> decision.state() == State.DISSOLVED)
                .isPresent());
        for (int i = 0; i < 30; i++) {
            pass();
            view(placement);
        }
        long read = store.calls;
        for (int i = 0; i < 30; i++) {
            pass();
            view(placement);
        }
        assertThat(store.calls).isEqualTo(read);
    }

    @Test
    void shouldWakeByItselfWhenItsPredecessorLeftRegistrations() {
        store.register(List.of(new Decisions.Registered(ORDERS, 77, 5, "north", true, 0)), List.of());
        mode = PlacementMode.REGISTERED;
        ActorRef<Placement.Command> placement = placement("two");
        await("it is placed", placement, () -> store.get(ORDERS)
                .filter(decision -> decision.homes().containsKey(77L))
                .isPresent());
    }

    private PlacementView view(ActorRef<Placement.Command> placement) {
        TestProbe<PlacementView> views = kit.createTestProbe();
        placement.tell(new Placement.Show("", 1, views.getRef()));
        return views.receiveMessage();
    }

    private boolean askedForAll() {
        try {
            agent.expectMessageClass(PlacementAgent.SendAll.class, Duration.ofMillis(50));
            return true;
        } catch (AssertionError e) {
            return false;
        }
    }

    @Test
    void shouldWaitForAStoreThatIsAwayAndThenGoOn() {
        ActorRef<Placement.Command> placement = placement("one");
        run(placement, 3);
        store.away = true;
        run(placement, 15);
        assertThat(store.written).isEmpty();
        store.away = false;
        await("it is stored", placement, () -> !store.written.isEmpty());
        assertThat(store.get(ORDERS).orElseThrow().homes()).hasSize(10);
    }

    @Test
    void shouldDoNoHarmWhenTwoRunAtOnce() {
        ActorRef<Placement.Command> one = placement("one");
        ActorRef<Placement.Command> two = placement("two");
        int at = number;
        for (int i = 0; i < 400; i++) {
            number = at;
            tick(one, i);
            number = at;
            tick(two, i);
            at++;
            pass();
            if (store.get(ORDERS).filter(row -> row.state() == State.FITTED).isPresent()) {
                break;
            }
        }
        assertThat(store.get(ORDERS).orElseThrow().state()).isEqualTo(State.FITTED);
        long[] revisions = store.written.stream().mapToLong(Decision::revision).toArray();
        assertThat(revisions)
                .isEqualTo(LongStream.rangeClosed(1, revisions.length).toArray());
        assertThat(store.get(ORDERS).orElseThrow().homes()).hasSize(10);
    }

    @Test
    void shouldSendWhatCrossesNodesUnchanged() {
        TestProbe<PlacementView> views = kit.createTestProbe();
        TestProbe<Placement.Explained> explained = kit.createTestProbe();
        TestProbe<WhatIf.Plan> plans = kit.createTestProbe();
        TestProbe<Placement.RegisterOutcome> registered = kit.createTestProbe();
        PlacementView.OfTopic topic = new PlacementView.OfTopic(
                "orders",
                "FITTED",
                "srtm",
                3,
                "b1#1",
                "X",
                2,
                10,
                5,
                100,
                0,
                0,
                1,
                List.of(new PlacementView.OfPart("b1", 5, 100, 100, 2, null, 1.5, 99, 1.25, 2, 30.5)),
                List.of("r"),
                1,
                List.of(new PlacementView.OfGroup("found-1", true, 3, 30, 3, 2)),
                List.of("why"));
        for (CrossesNodes message : List.of(
                new PlacementAgent.LookNow(),
                new PlacementAgent.SendAll(),
                new Placement.Show("a", 5, views.getRef()),
                new Placement.Explain(ORDERS, explained.getRef()),
                new Placement.Explained(Optional.of(topic)),
                new Placement.Register(ORDERS, 7, 2.5, "north", registered.getRef()),
                new Placement.Unregister(ORDERS, 7, registered.getRef()),
                new Placement.RegisterOutcome(Placement.RegisterRefusal.CONTRADICTORY_GROUP, "why"),
                new Placement.RegisterOutcome(null, ""),
                new Placement.Explained(Optional.empty()),
                new Placement.Plan(new WhatIf("orders", "lb", 1, List.of("b1"), 5.0, 2), plans.getRef()),
                new WhatIf.Plan(
                        null,
                        "lb",
                        1,
                        0,
                        0,
                        List.of(new WhatIf.OfTopic(
                                "orders", 1, 2, 3, 4, 5, 6, List.of(new WhatIf.Part("b1", 1, 2)), List.of("why")))),
                new PlacementView(
                        "srtm",
                        "b1",
                        5,
                        List.of(new PlacementView.OfBroker("b1", 1, 2, 3, true, false)),
                        List.of(topic),
                        null))) {
            kit.serializationTestKit().verifySerialization(message, true);
        }
        Placement.Recorded recorded = new Placement.Recorded(
                new RecordedTraces.Part(HERE, ORDERS, 5, 6, 0, 1, new long[] {-7}, new long[] {3}, new int[] {2}));
        assertThat((Object) kit.serializationTestKit().verifySerialization(recorded, false))
                .usingRecursiveComparison()
                .isEqualTo(recorded);
        Placement.Reported reported = new Placement.Reported(report(0), agent.getRef());
        Object back = kit.serializationTestKit().verifySerialization(reported, false);
        assertThat(back).usingRecursiveComparison().isEqualTo(reported);
    }

    private ActorRef<Placement.Command> placement(String me) {
        return kit.spawn(Placement.create(new Placement.Dependencies(
                new PlacementSettings(
                        mode,
                        "srtm",
                        Duration.ofMillis(10),
                        1_000,
                        Duration.ofMillis(500),
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(10),
                        Duration.ofSeconds(30),
                        Duration.ofMinutes(5),
                        true,
                        Duration.ofHours(1)),
                me,
                topic -> topic.equals(ORDERS) ? Optional.of(Limit.of(10_000, 100)) : Optional.empty(),
                store,
                Runnable::run,
                new PlacementCounters(),
                news::incrementAndGet,
                new Random(1),
                clock::get,
                () -> clock.get() / 1_000_000)));
    }

    private void run(ActorRef<Placement.Command> placement, int seconds) {
        for (int i = 0; i < 2 * seconds; i++) {
            tick(placement, i);
            pass();
        }
    }

    private void await(
            String what, ActorRef<Placement.Command> placement, java.util.function.BooleanSupplier condition) {
        for (int i = 0; i < 200; i++) {
            if (condition.getAsBoolean()) {
                return;
            }
            tick(placement, i);
            pass();
        }
        throw new AssertionError("not within 100 s of the test's clock: " + what);
    }

    private void tick(ActorRef<Placement.Command> placement, int i) {
        placement.tell(new Placement.Reported(report(number++), agent.getRef()));
        // It has taken the report before the clock goes on.
        TestProbe<PlacementView> views = kit.createTestProbe();
        placement.tell(new Placement.Show("", 1, views.getRef()));
        views.receiveMessage();
    }

    private void pass() {
        clock.addAndGet(500_000_000L);
        time.timePasses(Duration.ofMillis(500));
    }

    private Report report(int of) {
        long[] ids = of % 20 == 0 ? LongStream.rangeClosed(1, 10).toArray() : new long[0];
        float[] rates = new float[ids.length];
        float[] sizes = new float[ids.length];
        String[] groups = new String[ids.length];
        for (int i = 0; i < ids.length; i++) {
            rates[i] = 20;
            sizes[i] = 1;
            groups[i] = "";
        }
        long revision =
                store.away ? 0 : store.get(ORDERS).map(Decision::revision).orElse(0L);
        int session = of / 20;
        return new Report(
                HERE,
                session,
                of % 20,
                500_000_000L,
                List.of(new Report.OfTopic(
                        ORDERS, revision, ids, rates, sizes, new byte[ids.length], groups, new long[0], 100, new int[] {
                            5, 100
                        })),
                List.of(new Report.Bursts(ORDERS, 1_000 + 50L * of, new long[] {1, -2}, new long[] {1, 1L << 63})),
                List.of(new Report.Delivered(ORDERS, HERE, revision, new int[] {5, 100}, new int[] {7, 3})));
    }
}

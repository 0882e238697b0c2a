package io.weir.topics.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import akka.actor.testkit.typed.javadsl.ActorTestKit;
import akka.actor.testkit.typed.javadsl.TestProbe;
import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.receptionist.Receptionist;
import akka.serialization.Serialization;
import akka.serialization.SerializationExtension;
import akka.serialization.Serializer;
import akka.serialization.Serializers;
import com.typesafe.config.ConfigFactory;
import io.weir.config.value.TopicName;
import io.weir.topics.definition.Definitions;
import io.weir.topics.definition.LimitMode;
import io.weir.topics.definition.TopicSettings;
import io.weir.topics.path.NsqSocket;
import io.weir.topics.path.RunningBroker;
import io.weir.transport.api.BrokerCommand;
import io.weir.transport.api.ConsumerEvent;
import io.weir.transport.api.ConsumerEvent.Delivery;
import io.weir.transport.api.ConsumerEvent.Ended;
import io.weir.transport.api.ConsumerEvent.NotHeld;
import io.weir.transport.api.ConsumerEvent.Subscribed;
import io.weir.transport.api.MessageContext;
import io.weir.transport.api.PublishOutcome;
import io.weir.transport.api.PublishOutcome.Accepted;
import io.weir.transport.api.PublishOutcome.Failed;
import io.weir.transport.api.PublishOutcome.Refused;
import io.weir.transport.api.PublishOutcome.UnknownTopic;
import io.weir.transport.api.PublisherIdentity;
import io.weir.transport.api.SubscriptionCommand;
import io.weir.transport.api.SubscriptionCommand.Credit;
import io.weir.transport.api.SubscriptionCommand.Finish;
import io.weir.transport.api.SubscriptionCommand.Requeue;
import io.weir.transport.api.SubscriptionCommand.Touch;
import io.weir.transport.api.SubscriptionCommand.Unsubscribe;
import io.weir.transport.gateway.GatewaySettings;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class BrokerApiTest {
    private static final ActorTestKit KIT = ActorTestKit.create(
            "api", ConfigFactory.parseString("akka.loglevel = OFF").withFallback(ConfigFactory.load()));
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final MessageContext CONTEXT =
            MessageContext.of("order-7").withDeadlineMs(1_900_000_000_000L).withHeader("trace", "abc");
    private static final ApiSettings SETTINGS = ApiSettings.of(GatewaySettings.defaults(), 256 * 1024);

    private final List<RunningBroker> brokers = new ArrayList<>();
    private final TestProbe<PublishOutcome> outcomes = KIT.createTestProbe();
    private RunningBroker broker;
    private ActorRef<BrokerCommand> api;

    @BeforeEach
    void start() throws IOException {
        broker = broker(TopicSettings.defaults()).supply("orders", 1_000_000, 1_000_000);
        api = api(broker, SETTINGS);
    }

    @AfterEach
    void stop() {
        brokers.forEach(RunningBroker::close);
    }

    @AfterAll
    static void shutDown() {
        KIT.shutdownTestKit();
    }

    private RunningBroker broker(TopicSettings topics) throws IOException {
        RunningBroker started = new RunningBroker(GatewaySettings.defaults(), topics);
        brokers.add(started);
        // A topic's first publication waits until the broker knows the topic, and says so.
        RunningBroker.await(started.path().apply(Definitions.of(new TopicName("orders"), topics)));
        return started;
    }

    private static ActorRef<BrokerCommand> api(RunningBroker of, ApiSettings settings) {
        return KIT.spawn(BrokerApi.create(of.path(), settings, address -> true, System::nanoTime), BrokerApi.props());
    }

    private PublishOutcome publish(ActorRef<BrokerCommand> to, String topic, String... bodies) {
        tell(to, topic, MessageContext.NONE, bodies);
        return outcomes.receiveMessage(Duration.ofSeconds(20));
    }

    private void tell(ActorRef<BrokerCommand> to, String topic, MessageContext context, String... bodies) {
        List<byte[]> bytes = Stream.of(bodies).map(body -> body.getBytes(UTF_8)).toList();
        to.tell(
                bytes.size() == 1
                        ? new BrokerCommand.Publish(topic, bytes.get(0), context, outcomes.ref())
                        : new BrokerCommand.PublishBatch(topic, bytes, context, outcomes.ref()));
    }

    /** A consumer as a test sees it. */
    private final class Reader {
        private final TestProbe<ConsumerEvent> events = KIT.createTestProbe();
        private ActorRef<SubscriptionCommand> subscription;

        Reader subscribe(String channel, int credit, Duration timeout) {
            return subscribe(events.ref(), channel, credit, timeout);
        }

        Reader subscribe(ActorRef<ConsumerEvent> as, String channel, int credit, Duration timeout) {
            api.tell(new BrokerCommand.Subscribe("orders", channel, credit, timeout, as));
            subscription = events.expectMessageClass(Subscribed.class, Duration.ofSeconds(20))
                    .subscription();
            return this;
        }

        Delivery next() {
            return events.expectMessageClass(Delivery.class, Duration.ofSeconds(20));
        }

        void expect(String body, int attempts) {
            Delivery delivery = next();
            assertThat(text(delivery)).isEqualTo(body);
            assertThat(delivery.attempts()).isEqualTo(attempts);
        }

        void say(SubscriptionCommand command) {
            subscription.tell(command);
        }
    }

    private static String text(Delivery delivery) {
        return new String(delivery.body(), UTF_8);
    }

    @Test
    void shouldAcceptWithoutDelayWhenTheLimitAllows() {
        assertThat(publish(api, "orders", "a")).isEqualTo(new Accepted(Duration.ZERO));
        assertThat(publish(api, "orders", "b", "c")).isEqualTo(new Accepted(Duration.ZERO));
        assertThat(broker.stats("orders").published()).isEqualTo(3);
    }

    @Test
    void shouldSayByHowMuchTheLimitDelayedWhenTheTopicShapes() throws IOException {
        RunningBroker shaping = broker(TopicSettings.defaults()).supply("orders", 20, 1);
        ActorRef<BrokerCommand> shapingApi = api(shaping, SETTINGS);
        assertThat(publish(shapingApi, "orders", "a")).isEqualTo(new Accepted(Duration.ZERO));
        PublishOutcome delayed = publish(shapingApi, "orders", "b", "c", "d");
        assertThat(delayed).isInstanceOfSatisfying(Accepted.class, accepted -> assertThat(accepted.delayedBy())
                .isPositive());
        assertThat(shaping.gate("orders").delayed()).isPositive();
    }

    @Test
    void shouldSayWhenToComeBackWhenTheTopicPolices() throws IOException {
        RunningBroker policing =
                broker(TopicSettings.defaults().with(LimitMode.POLICE)).supply("orders", 0.001, 2);
        ActorRef<BrokerCommand> policingApi = api(policing, SETTINGS);
        assertThat(publish(policingApi, "orders", "a")).isEqualTo(new Accepted(Duration.ZERO));
        assertThat(publish(policingApi, "orders", "b", "c"))
                .isInstanceOfSatisfying(Refused.class, refused -> assertThat(
                                refused.retryAfter().orElseThrow())
                        .isBetween(Duration.ofSeconds(900), Duration.ofSeconds(1_000)));
        assertThat(publish(policingApi, "orders", "b", "c", "d")).isEqualTo(new Refused(Optional.empty()));
        assertThat(policing.stats("orders").published()).isEqualTo(1);
    }

    @Test
    void shouldAcceptAndCountWhenTheTopicOnlyShadows() throws IOException {
        RunningBroker shadowing =
                broker(TopicSettings.defaults().with(LimitMode.SHADOW)).supply("orders", 0.001, 1);
        ActorRef<BrokerCommand> shadowingApi = api(shadowing, SETTINGS);
        assertThat(publish(shadowingApi, "orders", "a")).isInstanceOf(Accepted.class);
        assertThat(publish(shadowingApi, "orders", "b")).isInstanceOf(Accepted.class);
        assertThat(shadowing.gate("orders").delayed()).isEqualTo(1);
    }

    @Test
    void shouldSayThatThereIsNoSuchTopic() throws IOException {
        RunningBroker strict = new RunningBroker(
                GatewaySettings.defaults(), (path, topic) -> path.refuse(topic, "there is no such topic"));
        brokers.add(strict);
        assertThat(publish(api(strict, SETTINGS), "nowhere", "a"))
                .isEqualTo(new UnknownTopic("nowhere", "there is no such topic"));
    }

    @Test
    void shouldFailWithAReasonWhenThePublicationIsNotAllowed() {
        for (String name : new String[] {"", "no spaces", "x".repeat(65)}) {
            assertFailed(publish(api, name, "a"), "topic name");
        }
        assertFailed(publish(api, "orders", ""), "must not be empty");
        assertFailed(publish(api, "orders", "a", ""), "must not be empty");
        assertFailed(publish(api, "orders"), "a batch must not be empty");
        assertFailed(publish(api, "orders", "x".repeat(SETTINGS.maxMessageBytes() + 1)), "too large");
        String megabyte = "x".repeat(SETTINGS.maxMessageBytes());
        assertFailed(publish(api, "orders", megabyte, megabyte, megabyte, megabyte, megabyte, "x"), "too large");
        tell(api, "orders", CONTEXT, megabyte);
        assertFailed(outcomes.receiveMessage(), "too large");
        tell(api, "orders", null, "a");
        assertFailed(outcomes.receiveMessage(), "MessageContext.NONE");
        api.tell(new BrokerCommand.Publish("orders", null, CONTEXT, outcomes.ref()));
        assertFailed(outcomes.receiveMessage(), "must not be empty");
        assertThat(publish(api, "orders", megabyte)).isInstanceOf(Accepted.class);
        assertThat(broker.stats("orders").published()).isEqualTo(1);
    }

    @Test
    void shouldGoOnWhenSomebodyCannotBeAnswered() {
        api.tell(new BrokerCommand.Publish("no spaces", null, null, null));
        api.tell(new BrokerCommand.Subscribe(null, null, 0, null, null));
        assertThat(publish(api, "orders", "a")).isInstanceOf(Accepted.class);
    }

    @Test
    void shouldFailAsBusyWhenTooMuchIsOutstanding() throws IOException {
        RunningBroker dry = broker(TopicSettings.defaults());
        ActorRef<BrokerCommand> narrow =
                api(dry, new ApiSettings(1 << 20, 5 << 20, 10, 60_000, 60_000, 10, 2, 1 << 20, 1 << 20));
        tell(narrow, "orders", MessageContext.NONE, "a");
        tell(narrow, "orders", MessageContext.NONE, "b");
        assertFailed(publish(narrow, "orders", "c"), "busy");
        dry.supply("orders", 1_000, 1_000);
        outcomes.expectMessageClass(Accepted.class, Duration.ofSeconds(20));
        outcomes.expectMessageClass(Accepted.class, Duration.ofSeconds(20));
        assertThat(publish(narrow, "orders", "c")).isInstanceOf(Accepted.class);
    }

    @Test
    void shouldCountWhatIsOnItsWayAndRefuseWhatWouldBeTooMuch() {
        ApiPublication.Load load = new ApiPublication.Load(new InProcessPublisher.Bounds(1, 1, 1, 3, 100));
        assertThat(load.begin(200)).as("larger than the bound, but alone").isTrue();
        assertThat(load.begin(1)).isFalse();
        load.taken(200);
        assertThat(load.begin(60)).isTrue();
        assertThat(load.begin(41)).isFalse();
        assertThat(load.begin(40)).isTrue();
        load.taken(100);
        assertThat(load.begin(1)).as("three have no outcome").isFalse();
        load.ended();
        assertThat(load.begin(1)).isTrue();
    }

    @Test
    void shouldFailWhenTheMessagePathIsClosed() {
        broker.close();
        assertFailed(publish(api, "orders", "a"), "busy");
        TestProbe<ConsumerEvent> late = KIT.createTestProbe();
        api.tell(new BrokerCommand.Subscribe("orders", "work", 1, MINUTE, late.ref()));
        assertThat(late.expectMessageClass(Ended.class).reason()).contains("busy");
    }

    @Test
    void shouldDeliverUntilFinished() {
        Reader reader = new Reader().subscribe("work", 10, MINUTE);
        publish(api, "orders", "a");
        Delivery delivery = reader.next();
        assertThat(text(delivery)).isEqualTo("a");
        assertThat(delivery.attempts()).isEqualTo(1);
        assertThat(delivery.context()).isEqualTo(MessageContext.NONE);
        assertThat(delivery.timestampNs()).isPositive();
        reader.say(new Touch(delivery.id()));
        reader.say(new Finish(delivery.id()));
        reader.say(new Finish(delivery.id()));
        assertThat(reader.events.expectMessageClass(NotHeld.class).id()).isEqualTo(delivery.id());
        reader.say(new Requeue(delivery.id(), Duration.ZERO));
        reader.events.expectMessageClass(NotHeld.class);
        reader.say(new Touch(delivery.id()));
        reader.events.expectMessageClass(NotHeld.class);
        assertThat(broker.channel("orders", "work").finished()).isEqualTo(1);
        assertThat(broker.channel("orders", "work").inFlight()).isZero();
    }

    @Test
    void shouldDeliverAgainWhenGivenBack() {
        Reader reader = new Reader().subscribe("work", 10, MINUTE);
        publish(api, "orders", "a");
        Delivery delivery = reader.next();
        reader.say(new Requeue(delivery.id(), Duration.ZERO));
        reader.expect("a", 2);
        reader.say(new Requeue(delivery.id(), Duration.ofMillis(50)));
        reader.expect("a", 3);
        reader.say(new Requeue(delivery.id(), Duration.ofDays(-1)));
        reader.expect("a", 4);
        reader.say(new Requeue(delivery.id(), Duration.ofSeconds(Long.MAX_VALUE)));
        RunningBroker.await(
                "it is deferred", () -> broker.channel("orders", "work").deferred() == 1);
    }

    @Test
    void shouldDeliverAgainWhenHeldForTooLong() {
        Reader reader = new Reader().subscribe("work", 10, Duration.ofMillis(50));
        publish(api, "orders", "a");
        reader.expect("a", 1);
        reader.expect("a", 2);
        assertThat(broker.channel("orders", "work").timedOut()).isPositive();
    }

    @Test
    void shouldDeliverNoMoreThanThereIsCreditFor() {
        Reader reader = new Reader().subscribe("work", 0, MINUTE);
        publish(api, "orders", "a", "b", "c", "d");
        assertThat(broker.channel("orders", "work").queued()).isEqualTo(4);
        reader.say(new Credit(1));
        Delivery first = reader.next();
        assertThat(broker.channel("orders", "work").queued()).isEqualTo(3);
        reader.say(new Finish(first.id()));
        reader.expect("b", 1);
        reader.say(new Credit(3));
        reader.expect("c", 1);
        reader.expect("d", 1);
        reader.say(new Credit(-1));
        assertThat(reader.events.expectMessageClass(Ended.class).reason()).contains("credit of -1");
        RunningBroker.await(
                "it has left", () -> broker.channel("orders", "work").consumers() == 0);
    }

    @Test
    void shouldGiveToAnotherWhatADeadConsumerHeld() {
        Reader mortal = new Reader();
        ActorRef<ConsumerEvent> body = KIT.spawn(relay(mortal.events.ref()));
        mortal.subscribe(body, "work", 10, MINUTE);
        publish(api, "orders", "a", "b");
        mortal.expect("a", 1);
        mortal.expect("b", 1);
        Reader heir = new Reader().subscribe("work", 10, MINUTE);
        KIT.stop(body);
        heir.expect("a", 2);
        heir.expect("b", 2);
        assertThat(broker.channel("orders", "work").consumers()).isEqualTo(1);
    }

    private static Behavior<ConsumerEvent> relay(ActorRef<ConsumerEvent> to) {
        return Behaviors.receiveMessage(event -> {
            to.tell(event);
            return Behaviors.same();
        });
    }

    @Test
    void shouldGiveToAnotherWhatAConsumerHeldThatUnsubscribed() {
        Reader first = new Reader().subscribe("work", 1, MINUTE);
        publish(api, "orders", "a");
        first.expect("a", 1);
        first.say(new Unsubscribe());
        new Reader().subscribe("work", 1, MINUTE).expect("a", 2);
        first.events.expectNoMessage(Duration.ofMillis(50));
    }

    @Test
    void shouldGiveToAnotherWhatConsumersHeldWhenTheApiIsGone() {
        Reader first = new Reader().subscribe("work", 1, MINUTE);
        publish(api, "orders", "a");
        first.expect("a", 1);
        KIT.stop(api);
        RunningBroker.await(
                "it has left", () -> broker.channel("orders", "work").consumers() == 0);
        api = api(broker, SETTINGS);
        new Reader().subscribe("work", 1, MINUTE).expect("a", 2);
    }

    @Test
    void shouldSayWhyWhenTheChannelIsGone() {
        Reader reader = new Reader().subscribe("work", 1, MINUTE);
        RunningBroker.await(broker.path().apply(Definitions.gone(new TopicName("orders"))));
        Ended ended = reader.events.expectMessageClass(Ended.class);
        assertThat(ended).isEqualTo(new Ended("orders", "work", "the topic was deleted"));
    }

    @Test
    void shouldSayWhyWhenASubscriptionIsNotAllowed() {
        assertNotSubscribed("no spaces", "work", 1, MINUTE, "topic name");
        assertNotSubscribed("orders", "no spaces", 1, MINUTE, "channel name");
        assertNotSubscribed(null, "work", 1, MINUTE, "topic name");
        assertNotSubscribed("orders", "work", -1, MINUTE, "credit of -1");
        assertNotSubscribed("orders", "work", SETTINGS.maxCredit() + 1, MINUTE, "credit");
        assertNotSubscribed("orders", "work", 1, Duration.ZERO, "time-out");
        assertNotSubscribed("orders", "work", 1, Duration.ofSeconds(Long.MAX_VALUE), "time-out");
        assertNotSubscribed("orders", "work", 1, null, "time-out");
    }

    @Test
    void shouldTakeNoMoreConsumersThanItMay() {
        api = api(broker, new ApiSettings(1 << 20, 5 << 20, 10, 60_000, 60_000, 1, 2, 1 << 20, 1 << 20));
        new Reader().subscribe("work", 1, MINUTE);
        assertNotSubscribed("orders", "work", 1, MINUTE, "has 1 consumers already");
    }

    private void assertNotSubscribed(String topic, String channel, int credit, Duration timeout, String why) {
        TestProbe<ConsumerEvent> consumer = KIT.createTestProbe();
        api.tell(new BrokerCommand.Subscribe(topic, channel, credit, timeout, consumer.ref()));
        assertThat(consumer.expectMessageClass(Ended.class).reason()).contains(why);
    }

    @Test
    void shouldCarryTheContextFromConsumptionToPublication() {
        Reader orders = new Reader().subscribe("work", 10, MINUTE);
        broker.supply("invoices", 1_000, 1_000);
        TestProbe<ConsumerEvent> invoices = KIT.createTestProbe();
        api.tell(new BrokerCommand.Subscribe("invoices", "print", 10, MINUTE, invoices.ref()));
        invoices.expectMessageClass(Subscribed.class);
        tell(api, "orders", CONTEXT, "a");
        outcomes.expectMessageClass(Accepted.class);
        Delivery order = orders.next();
        assertThat(order.context()).isEqualTo(CONTEXT);
        tell(api, "invoices", order.context(), "b", "c");
        outcomes.expectMessageClass(Accepted.class);
        for (String body : new String[] {"b", "c"}) {
            Delivery invoice = invoices.expectMessageClass(Delivery.class);
            assertThat(text(invoice)).isEqualTo(body);
            assertThat(invoice.context()).isEqualTo(CONTEXT);
        }
    }

    @Test
    void shouldMeetNsqClientsWithBodiesAlone() throws IOException {
        Reader reader = new Reader().subscribe("work", 10, MINUTE);
        try (NsqSocket client = NsqSocket.greeted(broker.address())) {
            client.send("SUB orders audit\nRDY 10\n");
            assertThat(client.answer()).isEqualTo("OK");
            tell(api, "orders", CONTEXT, "from an actor");
            assertThat(client.frame().text()).isEqualTo("from an actor");
            assertThat(reader.next().context()).isEqualTo(CONTEXT);
        }
        try (NsqSocket client = NsqSocket.greeted(broker.address())) {
            client.sendBody("PUB orders", "from a socket");
            assertThat(client.answer()).isEqualTo("OK");
            Delivery delivery = reader.next();
            assertThat(text(delivery)).isEqualTo("from a socket");
            assertThat(delivery.context()).isEqualTo(MessageContext.NONE);
        }
    }

    @Test
    void shouldLoseNothingWhenMoreComesThanTheQueueHoldsAtOnce() {
        Reader reader = new Reader().subscribe("work", 2_500, MINUTE);
        int messages = 5_000;
        for (int i = 0; i < messages; i++) {
            tell(api, "orders", MessageContext.NONE, "m" + i);
        }
        for (int i = 0; i < messages; i++) {
            Delivery delivery = reader.next();
            assertThat(text(delivery)).isEqualTo("m" + i);
            reader.say(new Finish(delivery.id()));
        }
        RunningBroker.await(
                "all are finished", () -> broker.channel("orders", "work").finished() == messages);
        assertThat(outcomes.receiveSeveralMessages(messages)).allMatch(outcome -> outcome instanceof Accepted);
    }

    @Test
    void shouldLoseNoAcknowledgementWhenTheMessagePathTakesNoMore() {
        Reader stays = new Reader().subscribe("work", 1, MINUTE);
        publish(api, "orders", "a");
        Delivery held = stays.next();
        Reader leaves = new Reader().subscribe("work", 1, MINUTE);
        publish(api, "orders", "b");
        leaves.expect("b", 1);
        CompletableFuture<Void> busy = new CompletableFuture<>();
        CompletableFuture<Void> begun = new CompletableFuture<>();
        broker.path().offer((port, nowNs) -> {
            begun.complete(null);
            busy.join();
        });
        RunningBroker.await(begun);
        boolean more = true;
        while (more) {
            more = broker.path().offer((port, nowNs) -> {});
        }
        stays.say(new Finish(held.id()));
        leaves.say(new Unsubscribe());
        KIT.createTestProbe().expectTerminated(leaves.subscription, Duration.ofSeconds(20));
        assertFailed(publish(api, "orders", "c"), "busy");
        busy.complete(null);
        stays.expect("b", 2);
        assertThat(broker.channel("orders", "work").finished()).isEqualTo(1);
        assertThat(broker.channel("orders", "work").consumers()).isEqualTo(1);
    }

    @Test
    void shouldBeFoundThroughTheReceptionist() {
        TestProbe<Receptionist.Listing> listings = KIT.createTestProbe();
        RunningBroker.await("the receptionist lists it", () -> {
            KIT.system().receptionist().tell(Receptionist.find(BrokerCommand.KEY, listings.ref()));
            return listings.receiveMessage()
                    .getServiceInstances(BrokerCommand.KEY)
                    .contains(api);
        });
    }

    @Test
    void shouldHandleEveryCommand() {
        TestProbe<akka.actor.UnhandledMessage> unhandled = KIT.createUnhandledMessageProbe();
        samples(BrokerCommand.class).forEach(sample -> api.tell((BrokerCommand) sample));
        outcomes.receiveSeveralMessages(2);
        for (Object sample : samples(SubscriptionCommand.class)) {
            new Reader().subscribe("work", 1, MINUTE).say((SubscriptionCommand) sample);
        }
        RunningBroker.await(
                "those who did not unsubscribe are left",
                () -> broker.channel("orders", "work").consumers()
                        == SubscriptionCommand.class.getPermittedSubclasses().length - 1);
        unhandled.expectNoMessage(Duration.ofMillis(50));
    }

    @Test
    void shouldRefuseAnIdentityThatMakesNoSense() {
        assertThatThrownBy(() -> new PublisherIdentity("", "north", 0)).hasMessageContaining("needs a name");
        assertThatThrownBy(() -> new PublisherIdentity("a", "north", Double.NaN))
                .hasMessageContaining("not NaN");
        assertThatThrownBy(() -> new PublisherIdentity("a", "north", -1)).hasMessageContaining("not -1.0");
        assertThatThrownBy(() -> new PublisherIdentity("a".repeat(65), "", 0)).hasMessageContaining("65 of them");
        assertThatThrownBy(() -> new PublisherIdentity("a", null, 0)).hasMessageContaining("group");
    }

    @Test
    void shouldReadWhateverCrossesNodesAsItWasWritten() {
        Serialization serialization = SerializationExtension.get(KIT.system());
        for (Class<?> protocol :
                List.of(BrokerCommand.class, SubscriptionCommand.class, PublishOutcome.class, ConsumerEvent.class)) {
            for (Object sample : samples(protocol)) {
                Serializer serializer = serialization.findSerializerFor(sample);
                byte[] bytes = serialization.serialize(sample).get();
                Object read = serialization
                        .deserialize(bytes, serializer.identifier(), Serializers.manifestFor(serializer, sample))
                        .get();
                assertThat(read).usingRecursiveComparison().isEqualTo(sample);
                assertThat(serializer.getClass().getSimpleName()).isEqualTo("JacksonCborSerializer");
            }
        }
    }

    /** One of each kind. */
    private List<Object> samples(Class<?> protocol) {
        TestProbe<ConsumerEvent> consumer = KIT.createTestProbe();
        ActorRef<SubscriptionCommand> subscription =
                KIT.<SubscriptionCommand>createTestProbe().ref();
        byte[] body = {0, 1, -1};
        List<Object> all = List.of(
                new BrokerCommand.Publish("orders", body, CONTEXT, outcomes.ref()),
                new BrokerCommand.Publish(
                        "orders", body, CONTEXT, new PublisherIdentity("sensor-7", "north", 12.5), outcomes.ref()),
                new BrokerCommand.PublishBatch("orders", List.of(body, body), MessageContext.NONE, outcomes.ref()),
                new BrokerCommand.Subscribe("orders", "other", 5, MINUTE, consumer.ref()),
                new Finish(Long.MIN_VALUE),
                new Requeue(7, Duration.ofMillis(1_500)),
                new Touch(8),
                new Credit(9),
                new Unsubscribe(),
                new Accepted(Duration.ofNanos(123_456_789)),
                new Refused(Optional.of(Duration.ofMillis(3))),
                new Refused(Optional.empty()),
                new UnknownTopic("orders", "why"),
                new Failed("why"),
                new Failed("why", true),
                new Subscribed("orders", "work", subscription),
                new Delivery(1, 2, 3, body, CONTEXT, subscription),
                new NotHeld(4),
                new Ended("orders", "work", "why"));
        List<Object> ofProtocol = all.stream().filter(protocol::isInstance).toList();
        assertThat(Arrays.asList(protocol.getPermittedSubclasses()))
                .as("a sample of each kind of " + protocol.getSimpleName())
                .allMatch(kind -> ofProtocol.stream().anyMatch(kind::isInstance));
        return ofProtocol;
    }

    private static void assertFailed(PublishOutcome outcome, String why) {
        assertThat(outcome).isInstanceOfSatisfying(Failed.class, failed -> assertThat(failed.reason())
                .contains(why));
    }
}

package io.weir.topics.federation;

import static io.weir.topics.federation.LinkedBrokers.TOPIC;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.TopicName;
import io.weir.topics.definition.Definitions;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicSettings;
import io.weir.topics.path.Delivered;
import io.weir.topics.path.NsqSocket;
import io.weir.topics.path.NsqSocket.Frame;
import io.weir.topics.path.RunningBroker;
import io.weir.topics.path.TopicStats;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Consumers get messages of every broker: two or three of them in one JVM, over a real media driver. */
@Timeout(120)
class FederationTest {
    @RegisterExtension
    final LinkedBrokers brokers = new LinkedBrokers();

    private LinkedBroker a;
    private LinkedBroker b;

    @Test
    void shouldDeliverEveryMessageOnceToConsumersOfAnyBroker() throws Exception {
        a = brokers.broker("a");
        b = brokers.broker("b");
        LinkedBroker c = brokers.broker("c");
        LinkedBroker.join(a, b, c);
        // Nobody consumes at c, so all of its messages travel.
        FinishingReader atA = reader(a, "work", 200);
        FinishingReader atB = reader(b, "work", 200);
        awaitConsumers("work", 2, a, b, c);

        int each = 4_000;
        for (LinkedBroker from : List.of(a, b, c)) {
            publish(from, TOPIC, from.id() + "-", each);
        }
        await("everything is delivered", () -> atA.count() + atB.count() >= 3 * each);
        await("everything is finished", () -> inFlight(a) + inFlight(b) + inFlight(c) == 0);

        List<String> all = new ArrayList<>(atA.bodies());
        all.addAll(atB.bodies());
        assertThat(all).hasSize(3 * each).doesNotHaveDuplicates();
        assertThat(atA.bodies()).anyMatch(body -> body.startsWith("b-")).anyMatch(body -> body.startsWith("c-"));
        assertThat(atB.bodies()).anyMatch(body -> body.startsWith("a-")).anyMatch(body -> body.startsWith("c-"));
        assertThat(c.stats().deliveredToPeers()).isGreaterThanOrEqualTo(each);
        assertThat(c.stats().receivedFromPeers()).isZero();
        assertThat(a.stats().malformed() + b.stats().malformed() + c.stats().malformed())
                .isZero();
        assertThat(c.broker.channel(TOPIC, "work").finished()).isEqualTo(each);
    }

    @Test
    void shouldCountTheWayOverTheLinkForTheBrokerThatLetTheMessagePass() throws Exception {
        linkTwo();
        a.broker.path().measure(null).toCompletableFuture().join();
        b.broker
                .path()
                .measure(Set.of(new TopicName(TOPIC)))
                .toCompletableFuture()
                .join();
        FinishingReader atB = reader(b, "work", 200);
        awaitConsumers("work", 1, a, b);
        publish(a, TOPIC, "m", 100);
        await("everything is delivered", () -> atB.count() == 100);
        List<Delivered> atConsumers =
                b.broker.path().takeDeliveries().toCompletableFuture().join();
        long came = atConsumers.stream()
                .filter(each -> a.id().equals(each.home()))
                .mapToLong(each -> each.delays().messages())
                .sum();
        List<Delivered> atHome =
                a.broker.path().takeDeliveries().toCompletableFuture().join();
        long held = atHome.stream().mapToLong(each -> each.delays().messages()).sum();
        assertThat(came).as("most find credit there at once").isPositive();
        assertThat(came + held).as("each is counted once, there or here").isEqualTo(100);
        assertThat(atConsumers)
                .noneMatch(each -> each.home() == null && each.delays().messages() > 0);
        assertThat(atHome.stream().mapToLong(each -> each.late().messages()).sum())
                .as("those that found no credit, counted apart when they went")
                .isGreaterThanOrEqualTo(held);
    }

    @Test
    void shouldGiveBackWhatADeadConsumerHeld() throws Exception {
        linkTwo();
        NsqSocket victim = consumer(b, "work", 50);
        awaitConsumers("work", 1, a, b);
        publish(a, TOPIC, "m", 200);
        Set<String> finished = new HashSet<>();
        for (int i = 0; i < 20; i++) {
            Frame frame = victim.frame();
            victim.send("FIN " + frame.id() + "\n");
            finished.add(frame.text());
        }
        await(
                "20 are finished at their broker",
                () -> a.broker.channel(TOPIC, "work").finished() == 20);
        victim.close();
        await("the subscription ends", () -> a.hasConsumers(TOPIC, "work", 0));
        FinishingReader heir = reader(a, "work", 200);
        await("the rest is delivered", () -> heir.count() == 180);

        assertThat(heir.bodies()).doesNotHaveDuplicates().doesNotContainAnyElementsOf(finished);
        assertThat(heir.attempts()).contains(1, 2);
        assertThat(b.stats().givenBack()).isPositive();
        assertThat(b.broker.channel(TOPIC, "work").inFlight()).isZero();
    }

    @Test
    void shouldDeliverAgainWhatABrokerHeldWhoseLinkIsLost() throws Exception {
        linkTwo();
        NsqSocket atB = consumer(b, "work", 40);
        awaitConsumers("work", 1, a, b);
        publish(a, TOPIC, "m", 100);
        await("b's consumer holds all it can", () -> inFlight(b) == 40);
        b.cut();
        FinishingReader atA = reader(a, "work", 100);
        await("all come again", () -> atA.count() == 100);

        assertThat(atA.bodies()).doesNotHaveDuplicates();
        assertThat(atA.attempts().stream().filter(attempts -> attempts == 2).count())
                .isBetween(40L, 41L);
    }

    @Test
    void shouldTakeAcknowledgementsOfWhatWasLostWithTheLinkAndGoOnWhenItIsBack() throws Exception {
        linkTwo();
        NsqSocket atB = consumer(b, "work", 40);
        awaitConsumers("work", 1, a, b);
        publish(a, TOPIC, "m", 30);
        List<Frame> held = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            held.add(atB.frame());
        }
        a.links().disconnect(b.id());
        await("b has noticed", () -> b.stats().peers() == 0);
        await("a has all back", () -> a.broker.channel(TOPIC, "work").queued() == 30);
        // The consumer knows nothing of all this: what it says is taken, and changes nothing at a.
        atB.send("FIN " + held.get(0).id() + "\n");
        await("it is taken", () -> inFlight(b) == 29);
        atB.send("REQ " + held.get(1).id() + " 0\n");
        await("what is given back is dropped", () -> inFlight(b) == 28);
        assertThat(b.stats().droppedWithLink()).isEqualTo(1);
        assertThat(a.broker.channel(TOPIC, "work").queued()).isEqualTo(30);

        // They come again, also those that the consumer still holds: each after its first delivery is acknowledged.
        LinkedBroker.join(a, b);
        for (Frame frame : held.subList(2, 30)) {
            atB.send("FIN " + frame.id() + "\n");
        }
        Set<String> again = new HashSet<>();
        while (again.size() < 30) {
            Frame frame = atB.frame();
            assertThat(frame.type()).isEqualTo(2);
            assertThat(frame.attempts()).isEqualTo(2);
            assertThat(again.add(frame.text())).isTrue();
            atB.send("FIN " + frame.id() + "\n");
        }
        await("all are finished", () -> a.broker.channel(TOPIC, "work").finished() == 30);
    }

    @Test
    void shouldKeepWhatAnEphemeralChannelHasWhenTheLinkToItsConsumerBreaks() throws Exception {
        linkTwo();
        NsqSocket atB = brokers.open(b.consumer(TOPIC, "tail#ephemeral"));
        awaitConsumers("tail#ephemeral", 1, a, b);
        publish(a, TOPIC, "m", 20);
        a.links().disconnect(b.id());
        await("both have noticed", () -> a.stats().peers() + b.stats().peers() == 0);

        LinkedBroker.join(a, b);
        atB.send("RDY 100\n");
        FinishingReader reader = new FinishingReader(atB);
        reader.start();
        await("all come", () -> reader.count() == 20);
        assertThat(reader.bodies()).doesNotHaveDuplicates();
    }

    @Test
    void shouldHoldBackOnlyTheChannelOfASlowConsumer() throws Exception {
        linkTwo();
        NsqSocket slow = consumer(b, "slow", 1);
        FinishingReader quick = reader(b, "quick", 100);
        awaitConsumers("slow", 1, a, b);
        awaitConsumers("quick", 1, a, b);
        publish(a, TOPIC, "m", 3_000);
        await("the quick channel has all", () -> quick.count() == 3_000);
        assertThat(slow.frame().attempts()).isEqualTo(1);
        TopicStats.ChannelStats held = a.broker.channel(TOPIC, "slow");
        assertThat(held.inFlight()).isBetween(1, 2);
        assertThat(held.queued()).isGreaterThanOrEqualTo(2_998);
    }

    @Test
    void shouldNotKeepWhatItsConsumersHaveNoCreditFor() throws Exception {
        linkTwo();
        NsqSocket busy = consumer(b, "work", 1);
        awaitConsumers("work", 1, a, b);
        publish(a, TOPIC, "m", 2);
        Frame held = busy.frame();
        FinishingReader idle = reader(a, "work", 10);
        await("the other one comes where there is credit", () -> idle.count() == 1);
        assertThat(idle.attempts()).containsExactly(1);
        assertThat(idle.bodies()).doesNotContain(held.text());
        // Without credit nothing more may travel.
        busy.send("RDY 0\n");
        busy.send("FIN " + held.id() + "\n");
        await("it is finished", () -> a.broker.channel(TOPIC, "work").finished() == 2);
        publish(a, TOPIC, "n", 50);
        await("all go to the consumer with credit", () -> idle.count() == 51);
    }

    @Test
    void shouldServeOtherBrokersMessagesBesideALongQueueOfItsOwn() throws Exception {
        linkTwo();
        NsqSocket only = brokers.open(b.consumer(TOPIC, "work"));
        awaitConsumers("work", 1, a, b);
        publish(b, TOPIC, "own-", 1_000);
        publish(a, TOPIC, "other-", 20);
        only.send("RDY 1\n");
        int others = 0;
        int seen = 0;
        while (others < 20) {
            Frame frame = only.frame();
            only.send("FIN " + frame.id() + "\n");
            others += frame.text().startsWith("other-") ? 1 : 0;
            seen++;
        }
        assertThat(seen).isLessThan(1_000);
    }

    @Test
    void shouldDelayAndTimeOutAtTheConsumersBroker() throws Exception {
        linkTwo();
        NsqSocket atB = brokers.open(NsqSocket.greeted(b.broker.address()));
        atB.sendBody("IDENTIFY", "{\"msg_timeout\":1000}");
        assertThat(atB.answer()).isEqualTo("OK");
        atB.send("SUB " + TOPIC + " work\nRDY 1\n");
        assertThat(atB.answer()).isEqualTo("OK");
        awaitConsumers("work", 1, a, b);
        publish(a, TOPIC, "m", 1);

        Frame first = atB.frame();
        assertThat(first.attempts()).isEqualTo(1);
        atB.send("REQ " + first.id() + " 100\n");
        await("it is deferred here", () -> b.broker.channel(TOPIC, "work").deferred() == 1);
        Frame second = atB.frame();
        assertThat(second.attempts()).isEqualTo(2);
        assertThat(second.id()).isEqualTo(first.id());
        // Not acknowledged: it times out here, not at the broker it came from.
        Frame third = atB.frame();
        assertThat(third.attempts()).isEqualTo(3);
        assertThat(b.broker.channel(TOPIC, "work").timedOut()).isEqualTo(1);
        assertThat(a.broker.channel(TOPIC, "work").timedOut()).isZero();
        // A delay outlives the consumer: attempts and the rest of the delay go back.
        atB.send("REQ " + third.id() + " 2000\n");
        await("it is deferred here", () -> b.broker.channel(TOPIC, "work").deferred() == 1);
        atB.close();
        await("it is deferred there", () -> a.broker.channel(TOPIC, "work").deferred() == 1);
        FinishingReader atA = reader(a, "work", 1);
        await("it comes there", () -> atA.count() == 1);
        assertThat(atA.attempts()).containsExactly(4);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldCarryAMessagesContextAlong(boolean forwarded) throws Exception {
        linkTwo();
        OneTaker taker = new OneTaker();
        b.broker.path().offer((port, nowNs) -> port.subscribe(taker, TOPIC, "work", TimeUnit.MINUTES.toNanos(1), nowNs)
                .ready(1, nowNs));
        awaitConsumers("work", 1, a, b);

        CompletableFuture<String> outcome = new CompletableFuture<>();
        ByteBuffer in = ByteBuffer.wrap((TOPIC + "ctxbody").getBytes(StandardCharsets.US_ASCII));
        int topic = TOPIC.length();
        Publisher publisher = new Publisher() {
            @Override
            public void accepted(long ticket) {
                outcome.complete("accepted");
            }

            @Override
            public void throttled(long ticket, long retryAfterNs) {
                outcome.complete("throttled");
            }

            @Override
            public void failed(long ticket, String reason) {
                outcome.complete(reason);
            }
        };
        a.home = forwarded ? b.id() : null;
        a.broker
                .path()
                .offer((port, nowNs) -> port.publish(
                        new PublishRequest()
                                .begin(publisher, 1, in, nowNs)
                                .topic(0, topic)
                                .context(topic, 3)
                                .body(topic + 3, 4),
                        nowNs));

        assertThat(outcome.get(20, TimeUnit.SECONDS)).isEqualTo("accepted");
        assertThat(taker.taken.get(20, TimeUnit.SECONDS)).isEqualTo("ctx/body");
        assertThat(a.stats().forwarded()).isEqualTo(forwarded ? 1 : 0);
    }

    @Test
    void shouldCarryAMessageOfAMegabyte() throws Exception {
        linkTwo();
        FinishingReader atB = reader(b, "work", 10);
        awaitConsumers("work", 1, a, b);
        String large = "0123456789abcdef".repeat(1 << 16);
        NsqSocket publisher = brokers.open(a.publisher());
        a.home = b.id();
        publisher.sendBody("PUB " + TOPIC, large);
        assertThat(publisher.answer()).isEqualTo("OK");
        a.home = null;
        for (int i = 0; i < 20; i++) {
            publisher.sendBody("PUB " + TOPIC, large);
            assertThat(publisher.answer()).isEqualTo("OK");
        }
        await("all are there", () -> atB.count() == 21);
        assertThat(atB.bodies()).allMatch(large::equals);
        assertThat(a.stats().forwarded()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"ipc", "udp"})
    void shouldLoseNothingWhenALinkIsFull(String media) throws Exception {
        a = brokers.smallBroker("a", "driver");
        b = brokers.smallBroker("b", media.equals("udp") ? "second" : "driver");
        if (media.equals("udp")) {
            brokers.startDriver("second");
        }
        LinkedBroker.join(a, b);
        FinishingReader other = reader(b, "other", 2_500);
        NsqSocket patient = brokers.open(b.consumer(TOPIC, "work"));
        awaitConsumers("work", 1, a, b);
        awaitConsumers("other", 1, a, b);
        String filling = "x".repeat(6_000);
        publish(a, TOPIC, filling, 1_500);
        patient.send("RDY 2500\n");
        FinishingReader all = new FinishingReader(patient);
        all.start();
        await("both channels have all", () -> all.count() == 1_500 && other.count() == 1_500);
        await("all are finished", () -> inFlight(a) == 0 && inFlight(b) == 0);
        assertThat(all.bodies()).doesNotHaveDuplicates();
        assertThat(other.bodies()).doesNotHaveDuplicates();
        assertThat(a.links().stats().get(0).refusedBackPressure()).isPositive();
    }

    @Test
    void shouldReturnAllWhenTheConsumersChannelIsDeleted() throws Exception {
        linkTwo();
        NsqSocket atB = consumer(b, "work", 10);
        awaitConsumers("work", 1, a, b);
        publish(a, TOPIC, "m", 20);
        await("it holds some", () -> inFlight(b) == 10);
        deleteChannel(b, "work");
        await(
                "the broker they came from has them again",
                () -> a.broker.channel(TOPIC, "work").queued() == 20);
        assertThat(a.hasConsumers(TOPIC, "work", 0)).isTrue();
        assertThat(b.broker.stats(TOPIC).channels()).isEmpty();
    }

    @Test
    void shouldCountAMessageThatIsInFlightOnceWhenItsConsumerIsAtAnotherBroker() throws Exception {
        linkTwo();
        NsqSocket atB = consumer(b, "work", 10);
        awaitConsumers("work", 1, a, b);
        publish(a, TOPIC, "m", 3);
        await("b's consumer holds them", () -> inFlight(b) == 3);
        TopicStats.ChannelStats atA = a.broker.channel(TOPIC, "work");
        TopicStats.ChannelStats here = b.broker.channel(TOPIC, "work");
        assertThat(atA.ownInFlight()).isEqualTo(3);
        assertThat(here.ownInFlight()).isZero();
        assertThat(here.inFlightOfOthers()).isEqualTo(3);
        String id = atB.frame().id();
        atB.send("REQ " + id + " 60000\n");
        await("one is deferred", () -> b.broker.channel(TOPIC, "work").deferred() == 1);
        here = b.broker.channel(TOPIC, "work");
        assertThat(here.ownDeferred()).isZero();
        assertThat(here.ownInFlight()).isZero();
        assertThat(a.broker.channel(TOPIC, "work").ownInFlight()).isEqualTo(3);
        assertThat(a.broker.channel(TOPIC, "work").ownDeferred()).isZero();
    }

    @Test
    void shouldGiveBackAMessageThatIsTooLargeForTheConsumersBroker() throws Exception {
        a = brokers.broker("a");
        b = brokers.smallBroker("b", "driver");
        LinkedBroker.join(a, b);
        FinishingReader atB = reader(b, "work", 10);
        awaitConsumers("work", 1, a, b);
        publish(a, TOPIC, "x".repeat(10_000), 1);
        await("it comes back", () -> b.stats().givenBack() >= 1);
        FinishingReader atA = reader(a, "work", 10);
        await("a consumer that can have it gets it", () -> atA.count() == 1);
        assertThat(atB.count()).isZero();
        await("nobody holds it any more", () -> inFlight(a) == 0);
    }

    @Test
    void shouldEndAndResumeWhenAChannelIsDeletedElsewhere() throws Exception {
        linkTwo();
        FinishingReader atB = reader(b, "work", 10);
        awaitConsumers("work", 1, a, b);
        deleteChannel(a, "work");
        awaitConsumers("work", 1, a);
        publish(a, TOPIC, "m", 10);
        await("they come", () -> atB.count() == 10);
    }

    /** Whatever it was about would be in flight for ever. */
    @Test
    void shouldHaveItsMessagesBackWhenAPeerSendsWhatCannotBeRead() throws Exception {
        linkTwo();
        publish(a, TOPIC, "m", 1);
        try (Stranger stranger = new Stranger(a, brokers.driver())) {
            stranger.subscribe(TOPIC, "work");
            await("the stranger has the message", () -> stranger.received() > 0);
            stranger.sendNoise();
            FinishingReader atB = reader(b, "work", 10);
            await("somebody else gets it, and not by a time-out", () -> atB.count() == 1);
            assertThat(a.stats().malformed()).isEqualTo(1);
        }
    }

    private void linkTwo() throws IOException {
        a = brokers.broker("a");
        b = brokers.broker("b");
        LinkedBroker.join(a, b);
    }

    private static void deleteChannel(LinkedBroker at, String channel) {
        TopicDefinition with = Definitions.of(new TopicName(TOPIC), TopicSettings.defaults(), channel);
        RunningBroker.await(at.broker.path().apply(with));
        RunningBroker.await(at.broker.path().apply(with.withoutChannel(channel)));
    }

    private FinishingReader reader(LinkedBroker at, String channel, int ready) throws IOException {
        FinishingReader reader = new FinishingReader(consumer(at, channel, ready));
        reader.start();
        return reader;
    }

    private NsqSocket consumer(LinkedBroker at, String channel, int ready) throws IOException {
        NsqSocket socket = brokers.open(at.consumer(TOPIC, channel));
        socket.send("RDY " + ready + "\n");
        return socket;
    }

    /** Consumers of the channel, here and elsewhere, as each broker sees them. */
    private static void awaitConsumers(String channel, int count, LinkedBroker... brokers) {
        for (LinkedBroker broker : brokers) {
            await(
                    broker.id() + " has " + count + " consumers of " + channel,
                    () -> broker.hasConsumers(TOPIC, channel, count));
        }
    }

    private static int inFlight(LinkedBroker broker) {
        return broker.broker.channel(TOPIC, "work").inFlight();
    }

    private static void publish(LinkedBroker at, String topic, String prefix, int count) throws IOException {
        try (NsqSocket publisher = at.publisher()) {
            for (int i = 0; i < count; i += 100) {
                int last = Math.min(count, i + 100);
                for (int m = i; m < last; m++) {
                    publisher.sendBody("PUB " + topic, prefix + m);
                }
                for (int m = i; m < last; m++) {
                    assertThat(publisher.answer()).isEqualTo("OK");
                }
            }
        }
    }

    private static void await(String what, BooleanSupplier condition) {
        RunningBroker.await(what, condition);
    }
}

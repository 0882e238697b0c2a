package io.weir.topics.federation;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.topics.api.InProcessPublisher;
import io.weir.topics.definition.Definitions;
import io.weir.topics.definition.LimitMode;
import io.weir.topics.definition.Overflow;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicSettings;
import io.weir.topics.path.NsqSocket;
import io.weir.topics.path.NsqSocket.Frame;
import io.weir.topics.path.RunningBroker;
import io.weir.topics.path.TopicStats;
import io.weir.transport.MediaDriverProcess;
import io.weir.transport.api.MessageContext;
import io.weir.transport.api.PublishOutcome;
import io.weir.transport.gateway.GatewaySettings;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import io.weir.transport.gateway.Subscriber;
import io.weir.transport.link.LinkEvents;
import io.weir.transport.link.LinkSettings;
import io.weir.transport.link.Links;
import io.weir.transport.link.Peer;
import io.weir.transport.link.PeerAddress;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.agrona.DirectBuffer;
import org.agrona.IoUtil;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two or three brokers in one JVM, over a real media driver. */
@Timeout(120)
class FederationTest {
    private static final String TOPIC = "orders";

    private final Deque<AutoCloseable> toClose = new ArrayDeque<>();
    private Path root;

    @BeforeEach
    void startDriver() throws IOException {
        Path memory = Path.of("/dev/shm");
        root = Files.isWritable(memory)
                ? Files.createTempDirectory(memory, "weir-federation-")
                : Files.createTempDirectory("weir-federation-");
        toClose.push(MediaDriverProcess.start(root.resolve("driver")));
    }

    @AfterEach
    void closeAll() throws Exception {
        while (!toClose.isEmpty()) {
            toClose.pop().close();
        }
        IoUtil.delete(root.toFile(), true);
    }

    @Test
    void shouldDeliverEveryMessageOnceToConsumersOfAnyBroker() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker c = broker("c");
        LinkedBroker.join(a, b, c);
        // Nobody consumes at c, so all of its messages travel.
        Reader atA = reader(a, "work", 200);
        Reader atB = reader(b, "work", 200);
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
    void shouldGiveBackWhatADeadConsumerHeld() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        NsqSocket victim = open(b.consumer(TOPIC, "work"));
        victim.send("RDY 50\n");
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
        Reader heir = reader(a, "work", 200);
        await("the rest is delivered", () -> heir.count() == 180);

        assertThat(heir.bodies()).doesNotHaveDuplicates().doesNotContainAnyElementsOf(finished);
        assertThat(heir.attempts()).contains(1, 2);
        assertThat(b.stats().givenBack()).isPositive();
        assertThat(b.broker.channel(TOPIC, "work").inFlight()).isZero();
    }

    @Test
    void shouldDeliverAgainWhatABrokerHeldWhoseLinkIsLost() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        NsqSocket atB = open(b.consumer(TOPIC, "work"));
        atB.send("RDY 40\n");
        awaitConsumers("work", 1, a, b);
        publish(a, TOPIC, "m", 100);
        await("b's consumer holds all it can", () -> inFlight(b) == 40);
        b.cut();
        Reader atA = reader(a, "work", 100);
        await("all come again", () -> atA.count() == 100);

        assertThat(atA.bodies()).doesNotHaveDuplicates();
        assertThat(atA.attempts().stream().filter(attempts -> attempts == 2).count())
                .isBetween(40L, 41L);
    }

    @Test
    void shouldTakeAcknowledgementsOfWhatWasLostWithTheLinkAndGoOnWhenItIsBack() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        NsqSocket atB = open(b.consumer(TOPIC, "work"));
        atB.send("RDY 40\n");
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
    void shouldHoldBackOnlyTheChannelOfASlowConsumer() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        NsqSocket slow = open(b.consumer(TOPIC, "slow"));
        slow.send("RDY 1\n");
        Reader quick = reader(b, "quick", 100);
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
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        NsqSocket busy = open(b.consumer(TOPIC, "work"));
        busy.send("RDY 1\n");
        awaitConsumers("work", 1, a, b);
        publish(a, TOPIC, "m", 2);
        Frame held = busy.frame();
        Reader idle = reader(a, "work", 10);
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
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        NsqSocket only = open(b.consumer(TOPIC, "work"));
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
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        NsqSocket atB = open(NsqSocket.greeted(b.broker.address()));
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
        Reader atA = reader(a, "work", 1);
        await("it comes there", () -> atA.count() == 1);
        assertThat(atA.attempts()).containsExactly(4);
    }

    /** Takes one message, and keeps its context and body. */
    private static final class OneTaker implements Subscriber {
        private final CompletableFuture<String> taken = new CompletableFuture<>();

        @Override
        public boolean deliver(long timestampNs, int attempts, long id, ByteBuffer body, int bodyAt, int bodyLength) {
            return deliver(timestampNs, attempts, id, body, bodyAt, 0, bodyAt, bodyLength);
        }

        @Override
        public boolean deliver(
                long timestampNs,
                int attempts,
                long id,
                ByteBuffer in,
                int contextAt,
                int contextLength,
                int bodyAt,
                int bodyLength) {
            taken.complete(text(in, contextAt, contextLength) + "/" + text(in, bodyAt, bodyLength));
            return true;
        }

        private static String text(ByteBuffer in, int at, int length) {
            byte[] bytes = new byte[length];
            in.get(at, bytes);
            return new String(bytes, StandardCharsets.US_ASCII);
        }

        @Override
        public void gone(String reason) {
            taken.completeExceptionally(new IllegalStateException(reason));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldCarryAMessagesContextAlong(boolean forwarded) throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
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
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        Reader atB = reader(b, "work", 10);
        awaitConsumers("work", 1, a, b);
        String large = "0123456789abcdef".repeat(1 << 16);
        NsqSocket publisher = open(a.publisher());
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
        LinkedBroker a = smallBroker("a", "driver");
        LinkedBroker b = smallBroker("b", media.equals("udp") ? "second" : "driver");
        if (media.equals("udp")) {
            toClose.push(MediaDriverProcess.start(root.resolve("second")));
        }
        LinkedBroker.join(a, b);
        Reader other = reader(b, "other", 2_500);
        NsqSocket patient = open(b.consumer(TOPIC, "work"));
        awaitConsumers("work", 1, a, b);
        awaitConsumers("other", 1, a, b);
        String filling = "x".repeat(6_000);
        publish(a, TOPIC, filling, 1_500);
        patient.send("RDY 2500\n");
        Reader all = new Reader(patient);
        all.start();
        await("both channels have all", () -> all.count() == 1_500 && other.count() == 1_500);
        await("all are finished", () -> inFlight(a) == 0 && inFlight(b) == 0);
        assertThat(all.bodies()).doesNotHaveDuplicates();
        assertThat(other.bodies()).doesNotHaveDuplicates();
        assertThat(a.links().stats().get(0).refusedBackPressure()).isPositive();
    }

    @Test
    void shouldReturnAllWhenTheConsumersChannelIsDeleted() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        NsqSocket atB = open(b.consumer(TOPIC, "work"));
        atB.send("RDY 10\n");
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
    void shouldTellAPublisherWhatItsHomeSays() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        b.topics = topic -> switch (topic.value()) {
            case "none" -> throw new IllegalArgumentException("nobody may make that topic");
            case "unknown" -> null;
            case "policed" -> TopicSettings.defaults().with(LimitMode.POLICE);
            default -> TopicSettings.defaults();
        };
        b.broker.supply("policed", 0.001, 2);
        LinkedBroker.join(a, b);
        a.home = b.id();
        NsqSocket publisher = open(a.publisher());

        publisher.sendBody("PUB " + TOPIC, "m");
        assertThat(publisher.answer()).isEqualTo("OK");
        publisher.sendBatch(TOPIC, "m1", "m2", "m3");
        assertThat(publisher.answer()).isEqualTo("OK");
        assertThat(b.broker.stats(TOPIC).published()).isEqualTo(4);

        publisher.sendBatch("policed", "m1", "m2");
        assertThat(publisher.answer()).isEqualTo("OK");
        publisher.sendBody("PUB policed", "m3");
        assertThat(publisher.answer()).startsWith("E_PUB_FAILED").contains("retry after");

        NsqSocket unlucky = open(a.publisher());
        unlucky.sendBody("PUB none", "m");
        assertThat(unlucky.answer()).startsWith("E_PUB_FAILED").contains("nobody may make that topic", "home b");

        publisher.sendBody("PUB unknown", "m");
        await("it waits at its home", () -> b.isWaiting("unknown", 1));
        b.cut();
        assertThat(publisher.answer()).startsWith("E_PUB_FAILED").contains("link", "not known");
        assertThat(a.stats().forwardsLost()).isEqualTo(1);
        assertThat(a.stats().forwarded()).isEqualTo(6);

        // Without its home a publisher is served where it is.
        NsqSocket orphan = open(a.publisher());
        orphan.sendBody("PUB " + TOPIC, "m");
        assertThat(orphan.answer()).isEqualTo("OK");
        assertThat(a.broker.stats(TOPIC).published()).isEqualTo(1);
    }

    /** Through an intake, which hears what kind of outcome it is; over the clients' protocol all failures look alike. */
    @Test
    void shouldKeepTheKindOfAnOutcomeOnItsWayFromTheHome() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        b.topics = topic -> switch (topic.value()) {
            case "none" -> throw new IllegalArgumentException("nobody may make that topic");
            case "slow" -> new TopicSettings(LimitMode.SHAPE, 1_000_000, 10, 10, Overflow.HOLD_BACK);
            default -> TopicSettings.defaults();
        };
        LinkedBroker.join(a, b);
        a.home = b.id();
        InProcessPublisher intake = new InProcessPublisher(
                a.broker.path(), new InProcessPublisher.Bounds(1_000, 1_000, 1_000, 10, 10_000), System::nanoTime);

        assertThat(publish(intake, "none")).isInstanceOfSatisfying(PublishOutcome.UnknownTopic.class, unknown -> {
            assertThat(unknown.topic()).isEqualTo("none");
            assertThat(unknown.reason()).contains("nobody may make that topic", "home b");
        });
        assertThat(publish(intake, "slow")).isInstanceOfSatisfying(PublishOutcome.Failed.class, late -> {
            assertThat(late.overLimit()).isTrue();
            assertThat(late.reason()).contains("waited longer", "home b");
        });
        assertThat(publish(intake, TOPIC)).isInstanceOf(PublishOutcome.Accepted.class);
        assertThat(a.stats().forwarded()).isEqualTo(3);
    }

    private static PublishOutcome publish(InProcessPublisher intake, String topic) throws Exception {
        CompletableFuture<PublishOutcome> outcome = new CompletableFuture<>();
        intake.publish(topic, MessageContext.NONE, null, new byte[] {1}, 0, outcome::complete);
        return outcome.get(20, TimeUnit.SECONDS);
    }

    @Test
    void shouldAnswerAPublicationThatIsTooLargeForItsHome() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = smallBroker("b", "driver");
        LinkedBroker.join(a, b);
        a.home = b.id();
        String large = "x".repeat(10_000);
        NsqSocket one = open(a.publisher());
        one.sendBody("PUB " + TOPIC, large);
        assertThat(one.answer()).startsWith("E_PUB_FAILED").contains("8192", "home b");
        NsqSocket batch = open(a.publisher());
        batch.sendBatch(TOPIC, "small", large);
        assertThat(batch.answer()).startsWith("E_MPUB_FAILED").contains("home b");
        NsqSocket small = open(a.publisher());
        small.sendBody("PUB " + TOPIC, "small");
        assertThat(small.answer()).isEqualTo("OK");
        assertThat(b.broker.stats(TOPIC).published())
                .as("nothing of the others")
                .isEqualTo(1);
        assertThat(b.stats().malformed()).isEqualTo(2);
    }

    @Test
    void shouldGiveBackAMessageThatIsTooLargeForTheConsumersBroker() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = smallBroker("b", "driver");
        LinkedBroker.join(a, b);
        Reader atB = reader(b, "work", 10);
        awaitConsumers("work", 1, a, b);
        publish(a, TOPIC, "x".repeat(10_000), 1);
        await("it comes back", () -> b.stats().givenBack() >= 1);
        Reader atA = reader(a, "work", 10);
        await("a consumer that can have it gets it", () -> atA.count() == 1);
        assertThat(atB.count()).isZero();
        await("nobody holds it any more", () -> inFlight(a) == 0);
    }

    @Test
    void shouldSendOnToAHomeWhileOutcomesAreOutstandingAndAnswerInOrder() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        a.home = b.id();
        NsqSocket publisher = open(a.publisher());
        int count = 100;
        for (int i = 0; i < count; i++) {
            // Every tenth goes past the others, to a topic with supply: its answer must not.
            publisher.sendBody("PUB " + (i % 10 == 9 ? TOPIC : "dry"), "m" + i);
        }
        await("as many wait at the home as may be open", () -> b.isWaiting("dry", 58));
        await(
                "those of the other topic have passed",
                () -> b.broker.stats(TOPIC).published() == 6);
        assertThat(a.stats().forwarded()).isEqualTo(64);

        b.broker.supply("dry", 1_000_000, 1_000_000);
        for (int i = 0; i < count; i++) {
            assertThat(publisher.answer()).isEqualTo("OK");
        }
        assertThat(b.broker.stats("dry").published()).isEqualTo(90);
        assertThat(a.stats().forwarded()).isEqualTo(count);
    }

    @Test
    void shouldNotLetAPublicationOvertakeThoseOnTheirWayToAHome() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        a.broker.supply("dry", 1_000_000, 1_000_000);
        a.home = b.id();
        NsqSocket publisher = open(a.publisher());
        publisher.sendBody("PUB dry", "first");
        await("it waits at its home", () -> b.isWaiting("dry", 1));

        a.home = null;
        publisher.sendBody("PUB dry", "second");
        NsqSocket other = open(a.publisher());
        other.sendBody("PUB dry", "of another");
        assertThat(other.answer()).isEqualTo("OK");
        publisher.send("NOP\n");
        assertThat(a.broker.stats("dry").published()).isEqualTo(1);

        b.broker.supply("dry", 1_000_000, 1_000_000);
        assertThat(publisher.answer()).isEqualTo("OK");
        assertThat(publisher.answer()).isEqualTo("OK");
        assertThat(a.broker.stats("dry").published()).isEqualTo(2);
    }

    @Test
    void shouldEndAndResumeWhenAChannelIsDeletedElsewhere() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        Reader atB = reader(b, "work", 10);
        awaitConsumers("work", 1, a, b);
        deleteChannel(a, "work");
        awaitConsumers("work", 1, a);
        publish(a, TOPIC, "m", 10);
        await("they come", () -> atB.count() == 10);
    }

    @Test
    void shouldSurviveFramesThatNobodyShouldSend() throws Exception {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        Reader atB = reader(b, "work", 10);
        awaitConsumers("work", 1, a, b);
        try (Stranger stranger = new Stranger(a)) {
            Random random = new Random(7);
            int sent = 0;
            for (int i = 0; i < 20_000; i++) {
                sent += stranger.send(random) ? 1 : 0;
            }
            // The last one is well formed, and behind all others.
            stranger.subscribe("last", "seen");
            await("all are read", () -> a.hasConsumers("last", "seen", 1));
            assertThat(a.stats().malformed()).isBetween(1_000L, (long) sent);
        }
        publish(a, TOPIC, "m", 100);
        await("all come", () -> atB.count() == 100);
        await("the stranger's subscriptions end", () -> a.hasConsumers("last", "seen", 0));
    }

    @Test
    void shouldTellAPublisherThatAskedWhereItBelongsAndAgainWhenThatChanges() throws IOException {
        LinkedBroker a = broker("a");
        LinkedBroker b = broker("b");
        LinkedBroker.join(a, b);
        NsqSocket asked = open(a.publisher());
        NsqSocket never = open(a.publisher());
        asked.sendBody("IDENTIFY", "{\"feature_negotiation\":true,\"weir_homes\":true}");
        assertThat(asked.answer()).contains("\"broker_id\":\"a\",\"weir_homes\":true");

        assertThat(outcome(asked)).isEqualTo("0 OK");
        a.home = b.id();
        assertThat(outcome(asked))
                .isEqualTo("3 {\"topic\":\"" + TOPIC + "\",\"broker\":\"b\",\"tcp\":\"b.example:4150\"} 0 OK");
        assertThat(outcome(asked)).isEqualTo("0 OK");
        assertThat(outcome(never)).isEqualTo("0 OK");
        a.home = null;
        assertThat(outcome(asked))
                .isEqualTo("3 {\"topic\":\"" + TOPIC + "\",\"broker\":\"a\",\"tcp\":\"a.example:4150\"} 0 OK");
        assertThat(outcome(never)).isEqualTo("0 OK");
    }

    /** The frames up to the answer of one publication. */
    private static String outcome(NsqSocket publisher) throws IOException {
        publisher.sendBody("PUB " + TOPIC, "m");
        NsqSocket.Frame frame = publisher.frame();
        return frame.type() == 3 ? "3 " + frame.text() + " " + outcomeOnly(publisher.frame()) : outcomeOnly(frame);
    }

    private static String outcomeOnly(NsqSocket.Frame frame) {
        return frame.type() + " " + frame.text();
    }

    private static void deleteChannel(LinkedBroker at, String channel) {
        TopicDefinition with = Definitions.of(new TopicName(TOPIC), TopicSettings.defaults(), channel);
        RunningBroker.await(at.broker.path().apply(with));
        RunningBroker.await(at.broker.path().apply(with.withoutChannel(channel)));
    }

    private LinkedBroker broker(String id) throws IOException {
        LinkedBroker broker = new LinkedBroker(id, root.resolve("driver"));
        toClose.push(broker);
        return broker.supply(TOPIC);
    }

    /** Its links hold back after some sixty kilobytes. */
    private LinkedBroker smallBroker(String id, String driver) throws IOException {
        GatewaySettings usual = GatewaySettings.defaults();
        GatewaySettings gateway = new GatewaySettings(
                100,
                8 * 1024,
                64 * 1024,
                2_500,
                usual.bufferBytes(),
                usual.maxBufferBytes(),
                usual.heartbeatNs(),
                usual.maxHeartbeatNs(),
                usual.messageTimeoutNs(),
                usual.maxMessageTimeoutNs(),
                usual.maxDelayNs(),
                usual.stallNs(),
                usual.handshakeNs());
        LinkSettings links = new LinkSettings(
                16 * 1024 - 16, 4, Duration.ofMillis(100), Duration.ofSeconds(3), Duration.ofMillis(50));
        LinkedBroker broker = new LinkedBroker(id, root.resolve(driver), gateway, links);
        toClose.push(broker);
        return broker.supply(TOPIC);
    }

    private <T extends AutoCloseable> T open(T closeable) {
        toClose.push(closeable);
        return closeable;
    }

    private Reader reader(LinkedBroker at, String channel, int ready) throws IOException {
        NsqSocket socket = open(at.consumer(TOPIC, channel));
        socket.send("RDY " + ready + "\n");
        Reader reader = new Reader(socket);
        reader.start();
        return reader;
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

    /** Finishes whatever it gets. */
    private static final class Reader extends Thread {
        private final NsqSocket socket;
        private final List<Frame> got = Collections.synchronizedList(new ArrayList<>());

        Reader(NsqSocket socket) {
            this.socket = socket;
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                while (true) {
                    Frame frame = socket.frame();
                    if (frame.type() == 2) {
                        socket.send("FIN " + frame.id() + "\n");
                    } else {
                        socket.send("NOP\n");
                    }
                    got.add(frame);
                }
            } catch (IOException e) {
                interrupt(); // the test is over, or misses something
            }
        }

        int count() {
            return got.size();
        }

        List<String> bodies() {
            synchronized (got) {
                return got.stream().map(Frame::text).toList();
            }
        }

        List<Integer> attempts() {
            synchronized (got) {
                return got.stream().map(Frame::attempts).toList();
            }
        }
    }

    /** Speaks over a link of its own, whatever it likes. */
    private final class Stranger implements LinkEvents, AutoCloseable {
        private final LinkedBroker victim;
        private final Links links;
        private final UnsafeBuffer frame = new UnsafeBuffer(new byte[4096]);
        private final AtomicBoolean up = new AtomicBoolean();

        Stranger(LinkedBroker victim) throws IOException {
            this.victim = victim;
            PeerAddress address = LinkedBroker.address("x", root.resolve("driver"));
            links = Links.start(address, LinkSettings.defaults(), () -> {});
            links.connect(victim.address);
            victim.links().connect(address);
            await("the stranger is linked", () -> {
                links.poll(this, 10, System.nanoTime());
                return up.get();
            });
        }

        /** Random bytes, half of them behind a head that is right, and names that are. */
        boolean send(Random random) {
            int length = random.nextInt(200);
            for (int i = 0; i < 200; i++) {
                frame.putByte(i, (byte) random.nextInt());
            }
            if (random.nextBoolean()) {
                frame.putByte(0, FederationFrames.VERSION);
                frame.putByte(1, (byte) (1 + random.nextInt(9)));
            }
            if (random.nextInt(4) == 0) {
                length = FederationFrames.subscribe(
                        frame, random.nextInt(50), random.nextInt(100) - 10, "t" + random.nextInt(5), "c");
                if (random.nextBoolean()) {
                    length = FederationFrames.giveBack(
                            frame, random.nextInt(50), random.nextLong(), 1, random.nextLong());
                }
            }
            return offer(length);
        }

        void subscribe(String topic, String channel) {
            int length = FederationFrames.subscribe(frame, 12_345_678, 1, topic, channel);
            assertThat(offer(length)).isTrue();
        }

        private boolean offer(int length) {
            await("room", () -> {
                links.poll(this, 100, System.nanoTime());
                boolean taken = links.offer(victim.id(), frame, 0, length, 0, 0);
                links.knock();
                return taken;
            });
            return true;
        }

        @Override
        public void onPeerConnected(Peer peer) {
            up.set(true);
        }

        @Override
        public void onPeerLost(Peer peer) {
            up.set(false);
        }

        @Override
        public void onFrame(Peer peer, DirectBuffer buffer, int offset, int length, long arrivalNs) {
            // Whatever it is told, it does not listen.
        }

        @Override
        public void close() {
            victim.links().disconnect(new BrokerId("x"));
            links.close();
        }
    }
}

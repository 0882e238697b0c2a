package io.weir.transport.client;

import static io.weir.transport.Awaiting.await;
import static io.weir.transport.client.Publishing.allAccepted;
import static io.weir.transport.client.Publishing.bytes;
import static io.weir.transport.client.Publishing.clientOf;
import static io.weir.transport.client.Publishing.firstTimes;
import static io.weir.transport.client.Publishing.names;
import static io.weir.transport.client.Publishing.publish;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.transport.algorithm.BatchTuner.Bounds;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class AutoTunedPublisherTest {
    private static final PublisherSettings DEFAULTS = PublisherSettings.defaults();

    @Test
    void shouldPublishInOrderAndSayWhatItIs() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker).belongingTo("shop", "checkout", 50));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(publish(publisher, names(0, 5_000)));

            assertThat(broker.published()).isEqualTo(names(0, 5_000));
            assertThat(broker.identities())
                    .singleElement()
                    .asString()
                    .contains("\"weir_group\":\"shop\"", "\"weir_workflow\":\"checkout\"", "\"weir_rate\":50.0")
                    .contains("\"weir_homes\":true");
            PublisherStats stats = publisher.stats();
            assertThat(stats.accepted()).isEqualTo(5_000);
            assertThat(stats.stored()).isZero();
            assertThat(stats.batches()).isEqualTo(broker.batches().size());
            assertThat(stats.latency().max())
                    .isGreaterThanOrEqualTo(stats.latency().p99());
            assertThat(stats.topics()).singleElement().satisfies(topic -> {
                assertThat(topic.batch()).isPositive();
                assertThat(topic.broker()).isEqualTo(broker.endpoint().toString());
            });
        }
    }

    @Test
    void shouldSendTogetherWhatGatheredWhileAllWorkersWereOut() throws Exception {
        CountDownLatch answer = new CountDownLatch(1);
        try (ScriptedBroker broker = new ScriptedBroker().answeringAfter(answer, bodies -> ScriptedBroker.OK);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withWorkers(1))) {
            CompletableFuture<Outcome> first = publisher.publish("orders", bytes("first"));
            await("the first is on its way", () -> publisher.stats().batches() == 1);
            List<CompletableFuture<Outcome>> rest = publish(publisher, names(0, 300));
            await("all wait", () -> publisher.stats().topics().get(0).waiting() == 300);
            answer.countDown();
            allAccepted(List.of(first));
            allAccepted(rest);

            assertThat(broker.batches()).containsExactly(1, 300);
        }
    }

    @Test
    void shouldSendBatchesOfAFixedSizeWhenTold() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withBatching(
                        Bounds.fixed(7, 20_000, TimeUnit.MINUTES.toNanos(10)).goingAtOnce()))) {
            allAccepted(publish(publisher, names(0, 70)));

            assertThat(broker.batches()).hasSize(10).containsOnly(7);
        }
    }

    @Test
    void shouldFailAtOnceWhenTheStoreIsFullAndItMayNotWait() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> ScriptedBroker.SILENCE);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(
                        DEFAULTS.withStore(10, 1 << 20, Duration.ZERO).withCloseWithin(Duration.ZERO))) {
            List<CompletableFuture<Outcome>> stored = publish(publisher, names(0, 10));

            assertThat(publisher.publish("orders", bytes("too many")).getNow(null))
                    .isInstanceOfSatisfying(Outcome.Failed.class, outcome -> assertThat(outcome.reason())
                            .contains("store is full"));
            assertThat(stored).noneMatch(CompletableFuture::isDone);
            assertThat(publisher.stats().stored()).isEqualTo(10);
        }
    }

    @Test
    void shouldWaitForRoomWhenTheStoreIsFull() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher =
                        client.publisher(DEFAULTS.withStore(10, 1 << 20, Duration.ofSeconds(30)))) {
            allAccepted(publish(publisher, names(0, 500)));

            assertThat(broker.published()).isEqualTo(names(0, 500));
        }
    }

    @Test
    void shouldBoundTheStoreByBytesToo() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> ScriptedBroker.SILENCE);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(
                        DEFAULTS.withStore(1_000, 250, Duration.ZERO).withCloseWithin(Duration.ZERO))) {
            publisher.publish("orders", new byte[200]);

            assertThat(publisher.publish("orders", new byte[51]).getNow(null)).isInstanceOf(Outcome.Failed.class);
            assertThat(publisher.publish("orders", new byte[50])).isNotDone();
        }
    }

    @Test
    void shouldRefuseWhatNoBrokerWouldTake() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher()) {
            assertThat(publisher.publish("no/topic", bytes("x")).getNow(null)).isInstanceOf(Outcome.Failed.class);
            assertThat(publisher.publish("orders", new byte[0]).getNow(null)).isInstanceOf(Outcome.Failed.class);
            assertThat(publisher.publish("orders", new byte[(1 << 20) + 1]).getNow(null))
                    .isInstanceOf(Outcome.Failed.class);
            assertThat(publisher.stats().failed()).isEqualTo(3);
        }
    }

    @Test
    void shouldTakeNewTopicsWhenOthersHaveBecomeIdle() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(IntStream.range(0, 10_000)
                    .mapToObj(i -> publisher.publish("topic" + i, bytes("x")))
                    .toList());

            await(
                    "room for another topic",
                    () -> publisher.publish("another", bytes("x")).join().accepted());
            allAccepted(List.of(publisher.publish("topic0", bytes("x")), publisher.publish("topic9999", bytes("x"))));
        }
    }

    @Test
    void shouldSendAgainInOrderWhenConnectionsBreak() throws IOException {
        AtomicInteger publications = new AtomicInteger();
        try (ScriptedBroker broker = new ScriptedBroker()
                        .answering(bodies ->
                                publications.incrementAndGet() % 40 == 7 ? ScriptedBroker.HANG_UP : ScriptedBroker.OK);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withBatching(
                        Bounds.fixed(10, 20_000, 1_000_000).goingAtOnce()))) {
            allAccepted(publish(publisher, names(0, 3_000)));

            PublisherStats stats = publisher.stats();
            assertThat(stats.connectionsLost()).isPositive();
            assertThat(stats.retries()).isPositive();
            assertThat(firstTimes(broker.published())).isEqualTo(names(0, 3_000));
        }
    }

    @Test
    void shouldSayThatItDoesNotKnowWhenItMayNotSendAgain() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker()
                        .answering(bodies -> bodies.contains("bad") ? ScriptedBroker.HANG_UP : ScriptedBroker.OK);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withRetry(false))) {
            assertThat(publisher.publish("orders", bytes("bad")).join()).isInstanceOf(Outcome.Unknown.class);
            assertThat(publisher.publish("orders", bytes("good")).join()).isEqualTo(new Outcome.Accepted());
            assertThat(publisher.stats().unknown()).isEqualTo(1);
            assertThat(publisher.stats().retries()).isZero();
        }
    }

    @Test
    void shouldTurnToAnotherBrokerWhenOneIsGone() throws IOException {
        try (ScriptedBroker first = new ScriptedBroker();
                ScriptedBroker second = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first, second));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(publish(publisher, names(0, 10)));
            first.close();
            allAccepted(publish(publisher, names(10, 20)));

            assertThat(first.published()).isEqualTo(names(0, 10));
            assertThat(second.published()).isEqualTo(names(10, 20));
        }
    }

    @Test
    void shouldCompleteEveryFutureWhenNoBrokerAnswers() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> ScriptedBroker.SILENCE);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withAnswerWithin(Duration.ofMillis(300))
                        .withWorkers(1)
                        .withBatching(Bounds.fixed(2, 20_000, TimeUnit.MINUTES.toNanos(10))
                                .goingAtOnce())
                        .withCloseWithin(Duration.ZERO))) {
            List<CompletableFuture<Outcome>> futures = publish(publisher, names(0, 3));

            assertThat(futures.get(0).join()).isInstanceOf(Outcome.Unknown.class);
            assertThat(futures.get(1).join()).isInstanceOf(Outcome.Unknown.class);
            assertThat(futures.get(2).join())
                    .as("never sent: there is one worker")
                    .isInstanceOf(Outcome.Failed.class);
        }
    }

    @Test
    void shouldSayWhyNoBrokerWasReached() throws IOException {
        ScriptedBroker gone = new ScriptedBroker();
        gone.close();
        try (WeirClient client = WeirClient.create(clientOf(gone));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withAnswerWithin(Duration.ofMillis(200)))) {
            assertThat(publisher.publish("orders", bytes("x")).join())
                    .isInstanceOfSatisfying(Outcome.Failed.class, outcome -> assertThat(outcome.reason())
                            .contains(gone.endpoint().toString()));
        }
    }

    @Test
    void shouldCompleteWhatIsLeftWhenItIsClosed() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> ScriptedBroker.SILENCE);
                WeirClient client = WeirClient.create(clientOf(broker))) {
            AutoTunedPublisher publisher =
                    client.publisher(DEFAULTS.withWorkers(1).withCloseWithin(Duration.ofMillis(50)));
            CompletableFuture<Outcome> sent = publisher.publish("orders", bytes("sent"));
            await("it is on its way", () -> publisher.stats().batches() == 1);
            CompletableFuture<Outcome> waiting = publisher.publish("orders", bytes("waiting"));
            publisher.close();

            assertThat(sent.getNow(null)).isInstanceOf(Outcome.Unknown.class);
            assertThat(waiting.getNow(null)).isInstanceOf(Outcome.Failed.class);
            assertThat(publisher.publish("orders", bytes("later")).getNow(null))
                    .isEqualTo(new Outcome.Failed("the publisher is closed"));
            assertThat(publisher.stats().stored()).isZero();
        }
    }

    @Test
    void shouldAnswerHeartbeats() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(publish(publisher, names(0, 1)));
            broker.send(0, "_heartbeat_");

            await("the answer", () -> broker.lines().contains("NOP"));
            allAccepted(publish(publisher, names(1, 2)));
        }
    }

    @Test
    void shouldReconnectWhenTheOtherEndDoesNotSpeakNsq() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(publish(publisher, names(0, 1)));
            broker.send(9, "what is this");
            await("the connection is given up", () -> publisher.stats().connectionsLost() == 1);
            allAccepted(publish(publisher, names(1, 2)));

            assertThat(broker.connections()).isEqualTo(2);
        }
    }

    @Test
    void shouldHandItsFiguresToWhateverGathersGauges() throws IOException {
        Map<String, DoubleSupplier> gauges = new HashMap<>();
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher()) {
            publisher.gauges(gauges::put);
            allAccepted(publish(publisher, names(0, 20)));

            assertThat(gauges.get("weir.publisher.accepted").getAsDouble()).isEqualTo(20);
            assertThat(gauges.get("weir.publisher.batch").getAsDouble()).isPositive();
            assertThat(gauges.get("weir.publisher.poll.seconds").getAsDouble()).isPositive();
            assertThat(gauges.get("weir.publisher.waiting").getAsDouble()).isZero();
        }
    }

    @Test
    void shouldNotWaitForRoomOnItsOwnThread() throws IOException {
        // Not before the rest is chained: it would run on this thread, which may wait.
        CountDownLatch isChained = new CountDownLatch(1);
        try (ScriptedBroker broker = new ScriptedBroker().answeringAfter(isChained, bodies -> ScriptedBroker.OK);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher =
                        client.publisher(DEFAULTS.withStore(1, 1 << 20, Duration.ofSeconds(30)))) {
            CompletableFuture<Outcome> chained = publisher
                    .publish("orders", bytes("a"))
                    .thenCompose(outcome -> publisher
                            .publish("orders", bytes("b"))
                            .thenCombine(publisher.publish("orders", bytes("c")), (b, c) -> c));
            isChained.countDown();

            assertThat(chained.join()).isInstanceOf(Outcome.Failed.class);
        }
    }
}

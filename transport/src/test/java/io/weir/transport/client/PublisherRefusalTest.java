package io.weir.transport.client;

import static io.weir.transport.Awaiting.await;
import static io.weir.transport.client.Publishing.allAccepted;
import static io.weir.transport.client.Publishing.bytes;
import static io.weir.transport.client.Publishing.clientOf;
import static io.weir.transport.client.Publishing.firstTimes;
import static io.weir.transport.client.Publishing.gather;
import static io.weir.transport.client.Publishing.names;
import static io.weir.transport.client.Publishing.publish;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.transport.algorithm.BatchTuner.Bounds;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a publisher makes of refusals and errors: it sends again, sends less, or says what it knows. */
@Timeout(60)
class PublisherRefusalTest {
    private static final PublisherSettings DEFAULTS = PublisherSettings.defaults();
    private static final String TOO_MUCH =
            "E_MPUB_FAILED MPUB refused: topic is over its limit, more at once than its burst";

    @Test
    void shouldSayWhenToTryAgainAfterARefusal() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker()
                        .answering(bodies -> bodies.contains("m1")
                                ? "E_PUB_FAILED PUB refused: topic is over its limit, retry after 12 ms"
                                : ScriptedBroker.OK);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher()) {
            assertThat(publisher.publish("orders", bytes("m1")).join())
                    .isEqualTo(new Outcome.Refused(Optional.of(Duration.ofMillis(12))));
            assertThat(publisher.publish("orders", bytes("m2")).join()).isEqualTo(new Outcome.Accepted());
            assertThat(publisher.stats().refused()).isEqualTo(1);
            assertThat(publisher.stats().connectionsLost()).isZero();
        }
    }

    @Test
    void shouldTryFewerAtOnceWhenABatchIsMoreThanTheTopicsBurst() throws Exception {
        CountDownLatch gathered = new CountDownLatch(1);
        try (ScriptedBroker broker = new ScriptedBroker()
                        .answeringAfter(gathered, bodies -> bodies.size() > 10 ? TOO_MUCH : ScriptedBroker.OK);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withWorkers(1))) {
            publisher.publish("orders", bytes("first"));
            await("the first is on its way", () -> publisher.stats().batches() == 1);
            List<CompletableFuture<Outcome>> futures = publish(publisher, names(0, 200));
            gathered.countDown();
            allAccepted(futures);

            assertThat(broker.batches()).allMatch(batch -> batch <= 10);
            assertThat(broker.published()).containsAll(names(0, 200)).hasSize(201);
            assertThat(publisher.stats().retries()).isPositive();
        }
    }

    @Test
    void shouldSendNoMoreAtOnceThanASlowTopicLetsPassInTime() throws Exception {
        CountDownLatch gathered = new CountDownLatch(1);
        try (ScriptedBroker broker = new ScriptedBroker()
                        .answeringAfter(
                                gathered,
                                bodies -> bodies.size() > 310
                                        ? "E_MPUB_FAILED MPUB refused: the topic's limit lets at most 310 messages pass within its 30000 ms:"
                                                + " publish fewer than " + bodies.size() + " at once"
                                        : ScriptedBroker.OK);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher()) {
            List<CompletableFuture<Outcome>> futures = gather(publisher, 2_000, 2);
            gathered.countDown();
            allAccepted(futures);

            assertThat(broker.batches()).contains(310).allMatch(batch -> batch <= 310);
            assertThat(broker.published()).isEqualTo(names(0, 2_000));
            assertThat(publisher.stats().connectionsLost()).isZero();
        }
    }

    @Test
    void shouldKeepTheOrderWhenAllThatIsOnItsWayIsRefused() throws IOException {
        CountDownLatch gathered = new CountDownLatch(1);
        try (ScriptedBroker broker = new ScriptedBroker()
                        .answeringAfter(gathered, bodies -> bodies.size() > 10 ? TOO_MUCH : ScriptedBroker.OK);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withWorkers(3)
                        .withBatching(Bounds.fixed(50, 20_000, TimeUnit.MILLISECONDS.toNanos(200))
                                .goingAtOnce()))) {
            List<CompletableFuture<Outcome>> futures = gather(publisher, 150, 3);
            gathered.countDown();
            allAccepted(futures);

            assertThat(broker.published()).isEqualTo(names(0, 150));
        }
    }

    @Test
    void shouldPauseLongerWithEveryRefusal() throws IOException {
        CountDownLatch gathered = new CountDownLatch(1);
        List<Long> refusedNs = new CopyOnWriteArrayList<>();
        try (ScriptedBroker broker = new ScriptedBroker().answeringAfter(gathered, bodies -> {
                    if (bodies.size() == 1) {
                        return ScriptedBroker.OK;
                    }
                    refusedNs.add(System.nanoTime());
                    return "E_MPUB_FAILED MPUB refused: more than 100000 messages wait for the topic's limit";
                });
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withWorkers(1))) {
            publisher.publish("orders", bytes("first"));
            await("the first is on its way", () -> publisher.stats().batches() == 1);
            List<CompletableFuture<Outcome>> futures = publish(publisher, names(0, 64));
            await("all wait", () -> publisher.stats().topics().get(0).waiting() == 64);
            gathered.countDown();
            allAccepted(futures.subList(0, 1));

            // 64, 32, 16, 8, 4 and 2 were refused: with 1, 2, 4, 8 and 16 ms between them at the least.
            assertThat(refusedNs.get(5) - refusedNs.get(0)).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(31));
            allAccepted(futures);
            assertThat(firstTimes(broker.published())).containsSubsequence(names(0, 64));
        }
    }

    @Test
    void shouldSayThatNothingWasPublishedWhenItGivesUpAfterRefusals() throws IOException {
        CountDownLatch gathered = new CountDownLatch(1);
        try (ScriptedBroker broker = new ScriptedBroker()
                        .answeringAfter(gathered, bodies -> bodies.size() > 1 ? TOO_MUCH : ScriptedBroker.SILENCE);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withAnswerWithin(Duration.ofMillis(500))
                        .withWorkers(1)
                        .withBatching(Bounds.fixed(8, 20_000, TimeUnit.MINUTES.toNanos(10))
                                .goingAtOnce())
                        .withCloseWithin(Duration.ZERO))) {
            List<CompletableFuture<Outcome>> futures = gather(publisher, 8, 1);
            gathered.countDown();

            assertThat(futures.get(0).join()).as("not answered").isInstanceOf(Outcome.Unknown.class);
            for (CompletableFuture<Outcome> refused : futures.subList(1, 8)) {
                assertThat(refused.join()).isInstanceOf(Outcome.Failed.class);
            }
        }
    }

    @Test
    void shouldRefuseALoneMessageThatASlowTopicDoesNotLetPass() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker()
                        .answering(bodies -> "E_PUB_FAILED PUB refused: it waited longer than the topic's 30000 ms");
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher()) {
            assertThat(publisher.publish("orders", bytes("x")).join()).isEqualTo(new Outcome.Refused(Optional.empty()));
            assertThat(publisher.stats().connectionsLost()).isZero();
        }
    }

    @Test
    void shouldSendAgainInOrderWhenABrokerDoesNotKnow() throws IOException {
        CountDownLatch gathered = new CountDownLatch(1);
        AtomicInteger publications = new AtomicInteger();
        try (ScriptedBroker broker = new ScriptedBroker()
                        .answeringAfter(
                                gathered,
                                bodies -> publications.incrementAndGet() == 1
                                        ? "E_MPUB_FAILED MPUB unknown: the link to b2 broke"
                                        : ScriptedBroker.OK);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withBatching(
                        Bounds.fixed(5, 20_000, TimeUnit.MINUTES.toNanos(10)).goingAtOnce()))) {
            List<CompletableFuture<Outcome>> futures = gather(publisher, 20, 2);
            gathered.countDown();
            allAccepted(futures);

            // What was sent behind it may be there twice.
            assertThat(broker.published()
                            .subList(
                                    broker.published().lastIndexOf("m0"),
                                    broker.published().size()))
                    .isEqualTo(names(0, 20));
            assertThat(publisher.stats().connectionsLost()).isEqualTo(1);
        }
    }

    @Test
    void shouldSayThatItDoesNotKnowWhenTheBrokerDoesNotEither() throws IOException {
        try (ScriptedBroker broker =
                        new ScriptedBroker().answering(bodies -> "E_PUB_FAILED PUB unknown: the link to b2 broke");
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withRetry(false))) {
            assertThat(publisher.publish("orders", bytes("x")).join())
                    .isInstanceOfSatisfying(Outcome.Unknown.class, outcome -> assertThat(outcome.reason())
                            .contains("link to b2"));
        }
    }

    @Test
    void shouldNotSayThatItWasNotPublishedWhenAnEarlierAttemptIsInDoubt() throws IOException {
        AtomicInteger publications = new AtomicInteger();
        try (ScriptedBroker broker = new ScriptedBroker()
                        .answering(bodies -> publications.incrementAndGet() % 2 == 1
                                ? ScriptedBroker.HANG_UP
                                : publications.get() == 2
                                        ? "E_PUB_FAILED PUB refused: it waited longer than the topic's 30000 ms"
                                        : "E_BAD_TOPIC PUB topic is not valid");
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher()) {
            assertThat(publisher.publish("orders", bytes("x")).join()).isInstanceOf(Outcome.Unknown.class);
            assertThat(publisher.publish("orders", bytes("y")).join()).isInstanceOf(Outcome.Unknown.class);
        }
    }

    @Test
    void shouldFailOnlyTheOldestWhenTheBrokerEndsTheConnection() throws IOException {
        CountDownLatch gathered = new CountDownLatch(1);
        try (ScriptedBroker broker = new ScriptedBroker()
                        .answeringAfter(
                                gathered,
                                bodies -> bodies.contains("m0")
                                        ? "E_UNAUTHORIZED AUTH failed for MPUB"
                                        : ScriptedBroker.OK);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withBatching(
                        Bounds.fixed(5, 20_000, TimeUnit.MINUTES.toNanos(10)).goingAtOnce()))) {
            List<CompletableFuture<Outcome>> futures = gather(publisher, 20, 2);
            gathered.countDown();

            for (CompletableFuture<Outcome> oldest : futures.subList(0, 5)) {
                assertThat(oldest.join()).isEqualTo(new Outcome.Failed("E_UNAUTHORIZED AUTH failed for MPUB"));
            }
            allAccepted(futures.subList(5, 20));
            assertThat(publisher.stats().connectionsLost()).isEqualTo(1);
            assertThat(firstTimes(broker.published())).isEqualTo(names(5, 20));
        }
    }

    @Test
    void shouldNotTakeAnythingButOkForAnAcceptance() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> "CLOSE_WAIT");
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(DEFAULTS.withRetry(false))) {
            assertThat(publisher.publish("orders", bytes("x")).join()).isInstanceOf(Outcome.Unknown.class);
        }
    }

    @Test
    void shouldFailAMessageThatTheBrokerFailed() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> "E_PUB_FAILED PUB failed: full");
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher()) {
            assertThat(publisher.publish("orders", bytes("x")).join())
                    .isEqualTo(new Outcome.Failed("E_PUB_FAILED PUB failed: full"));
        }
    }
}

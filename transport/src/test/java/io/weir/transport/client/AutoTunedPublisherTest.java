package io.weir.transport.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.transport.algorithm.BatchTuner.Bounds;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.DoubleSupplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class AutoTunedPublisherTest {
    private static final PublisherSettings DEFAULTS = PublisherSettings.defaults();
    private static final String TOO_MUCH =
            "E_MPUB_FAILED MPUB refused: topic is over its limit, more at once than its burst";

    static ClientSettings clientOf(ScriptedBroker... brokers) {
        return ClientSettings.of(
                        List.of(brokers).stream().map(ScriptedBroker::endpoint).toList())
                .withBackoff(Duration.ofMillis(5), Duration.ofMillis(50));
    }

    static void await(String what, BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadlineNs).as(what).isNegative();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static List<String> names(int from, int to) {
        return IntStream.range(from, to).mapToObj(i -> "m" + i).toList();
    }

    private static List<CompletableFuture<Outcome>> publish(AutoTunedPublisher publisher, List<String> bodies) {
        return bodies.stream()
                .map(body -> publisher.publish("orders", bytes(body)))
                .toList();
    }

    private static void allAccepted(List<CompletableFuture<Outcome>> futures) {
        for (CompletableFuture<Outcome> future : futures) {
            assertThat(future.join()).isEqualTo(new Outcome.Accepted());
        }
    }

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
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> {
                    awaitLatch(answer);
                    return ScriptedBroker.OK;
                });
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

    private static void awaitLatch(CountDownLatch latch) {
        try {
            assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
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
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> {
                    awaitLatch(gathered);
                    return bodies.size() > 10 ? TOO_MUCH : ScriptedBroker.OK;
                });
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
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> {
                    awaitLatch(gathered);
                    return bodies.size() > 310
                            ? "E_MPUB_FAILED MPUB refused: the topic's limit lets at most 310 messages pass within its 30000 ms:"
                                    + " publish fewer than " + bodies.size() + " at once"
                            : ScriptedBroker.OK;
                });
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
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> {
                    awaitLatch(gathered);
                    return bodies.size() > 10 ? TOO_MUCH : ScriptedBroker.OK;
                });
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

    /** Publishes until {@code workers} transfers are on their way and the rest waits, of a broker that does not answer yet. */
    private static List<CompletableFuture<Outcome>> gather(AutoTunedPublisher publisher, int count, int workers) {
        List<CompletableFuture<Outcome>> futures = new ArrayList<>(publish(publisher, names(0, count)));
        await("transfers are under way", () -> publisher.stats().batches() == workers);
        await("all are there", () -> {
            PublisherStats.Topic topic = publisher.stats().topics().get(0);
            return topic.waiting() + topic.inFlight() == count;
        });
        return futures;
    }

    @Test
    void shouldPauseLongerWithEveryRefusal() throws IOException {
        CountDownLatch gathered = new CountDownLatch(1);
        List<Long> refusedNs = new CopyOnWriteArrayList<>();
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> {
                    awaitLatch(gathered);
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
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> {
                    awaitLatch(gathered);
                    return bodies.size() > 1 ? TOO_MUCH : ScriptedBroker.SILENCE;
                });
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
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> {
                    awaitLatch(gathered);
                    return publications.incrementAndGet() == 1
                            ? "E_MPUB_FAILED MPUB unknown: the link to b2 broke"
                            : ScriptedBroker.OK;
                });
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
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> {
                    awaitLatch(gathered);
                    return bodies.contains("m0") ? "E_UNAUTHORIZED AUTH failed for MPUB" : ScriptedBroker.OK;
                });
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

    /** Duplicates apart, which a message sent again may be. */
    private static List<String> firstTimes(List<String> bodies) {
        return new ArrayList<>(new LinkedHashSet<>(bodies));
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
    void shouldMoveATopicToItsHomeInOrderAndWithoutLoss() throws Exception {
        try (ScriptedBroker first = new ScriptedBroker();
                ScriptedBroker home = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(publish(publisher, names(0, 10)));
            CompletableFuture<Outcome> other = publisher.publish("others", bytes("stays"));
            List<CompletableFuture<Outcome>> futures = new ArrayList<>();
            first.send(3, "{\"topic\":\"orders\",\"broker\":\"b2\",\"tcp\":\"" + home.endpoint() + "\"}");
            int next = 10;
            while (home.published().isEmpty()) {
                futures.addAll(publish(publisher, names(next, next + 5)));
                next += 5;
                LockSupport.parkNanos(100_000);
            }
            futures.addAll(publish(publisher, names(next, next + 5)));
            allAccepted(futures);
            allAccepted(List.of(other, publisher.publish("others", bytes("stays too"))));

            List<String> all = new ArrayList<>(first.published());
            all.removeAll(List.of("stays", "stays too"));
            assertThat(first.published()).contains("stays", "stays too");
            all.addAll(home.published());
            assertThat(all).isEqualTo(names(0, next + 5));
        }
    }

    @Test
    void shouldNotMoveBeforeTheOldBrokerHasAnsweredEverything() throws Exception {
        CountDownLatch answer = new CountDownLatch(1);
        try (ScriptedBroker first = new ScriptedBroker().answering(bodies -> {
                    awaitLatch(answer);
                    return ScriptedBroker.OK;
                });
                ScriptedBroker home = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first));
                AutoTunedPublisher publisher = client.publisher()) {
            CompletableFuture<Outcome> held = publisher.publish("orders", bytes("held"));
            await("it is on its way", () -> publisher.stats().batches() == 1);
            first.send(3, "{\"topic\":\"orders\",\"broker\":\"b2\",\"tcp\":\"" + home.endpoint() + "\"}");
            await("the home is reached", () -> home.identities().size() == 1);
            CompletableFuture<Outcome> next = publisher.publish("orders", bytes("next"));
            await("it waits", () -> publisher.stats().topics().get(0).waiting() == 1);
            assertThat(home.published()).isEmpty();
            answer.countDown();

            allAccepted(List.of(held, next));
            assertThat(first.published()).containsExactly("held");
            assertThat(home.published()).containsExactly("next");
        }
    }

    @Test
    void shouldGoOnThroughAnyBrokerWhenTheHomeIsNotThere() throws IOException {
        ScriptedBroker gone = new ScriptedBroker();
        gone.close();
        try (ScriptedBroker first = new ScriptedBroker();
                ScriptedBroker home = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(publish(publisher, names(0, 1)));
            first.send(3, "{\"topic\":\"orders\",\"tcp\":\"" + gone.endpoint() + "\"}");
            first.send(3, "not JSON");
            first.send(3, "{\"topic\":\"orders\",\"tcp\":\"nowhere\"}");
            allAccepted(publish(publisher, names(1, 2)));
            first.send(3, "{\"topic\":\"orders\",\"tcp\":\"" + home.endpoint() + "\"}");
            await("the home is reached", () -> home.identities().size() == 1);
            await("messages go there", () -> {
                allAccepted(publish(publisher, List.of("probe")));
                return !home.published().isEmpty();
            });
            home.close();
            allAccepted(publish(publisher, names(2, 10)));

            assertThat(firstTimes(first.published())).containsSubsequence(names(0, 10));
        }
    }

    @Test
    void shouldGoBackToAHomeThatWasLostForAMoment() throws IOException {
        try (ScriptedBroker first = new ScriptedBroker();
                ScriptedBroker home = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(publish(publisher, names(0, 1)));
            first.send(3, "{\"topic\":\"orders\",\"tcp\":\"" + home.endpoint() + "\"}");
            await("messages go there", () -> {
                allAccepted(publish(publisher, List.of("probe")));
                return !home.published().isEmpty();
            });
            home.hangUp();
            await("the loss", () -> publisher.stats().connectionsLost() == 1);
            int before = home.published().size();

            // Nobody tells again where the home is.
            await("messages go there again", () -> {
                allAccepted(publish(publisher, List.of("probe")));
                return home.published().size() > before;
            });
        }
    }

    @Test
    void shouldLeaveAHomeThatNoTopicHasAnyMore() throws IOException {
        try (ScriptedBroker first = new ScriptedBroker();
                ScriptedBroker home = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(publish(publisher, names(0, 1)));
            first.send(3, "{\"topic\":\"orders\",\"tcp\":\"" + home.endpoint() + "\"}");
            await("the home is reached", () -> home.identities().size() == 1);
            first.send(3, "{\"topic\":\"orders\",\"tcp\":\"" + first.endpoint() + "\"}");

            await("it is left", () -> home.lines().contains("gone"));
            allAccepted(publish(publisher, names(1, 2)));
            assertThat(first.published()).contains("m1");
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
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher =
                        client.publisher(DEFAULTS.withStore(1, 1 << 20, Duration.ofSeconds(30)))) {
            CompletableFuture<Outcome> chained = publisher
                    .publish("orders", bytes("a"))
                    .thenCompose(outcome -> publisher
                            .publish("orders", bytes("b"))
                            .thenCombine(publisher.publish("orders", bytes("c")), (b, c) -> c));

            assertThat(chained.join()).isInstanceOf(Outcome.Failed.class);
        }
    }
}

package io.weir.transport.client;

import static io.weir.transport.Awaiting.await;
import static io.weir.transport.client.Publishing.clientOf;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How a client ends. */
@Timeout(60)
class ClientLoopTest {
    private static final byte[] BODY = "x".getBytes(StandardCharsets.UTF_8);

    /** Does nothing but what a test says, once. */
    private record Once(Runnable turn, CountDownLatch ended) implements ClientLoop.Worker {
        @Override
        public boolean receive(long nowNs) {
            return false;
        }

        @Override
        public long work(long nowNs) {
            turn.run();
            return ClientLoop.NEVER_NS;
        }

        @Override
        public void keepHouse(long nowNs) {}

        @Override
        public boolean hasMore() {
            return false;
        }

        @Override
        public void end(long nowNs) {
            ended.countDown();
        }
    }

    @Test
    void shouldEndAPublisherThatCameWhenItWasAboutToEnd() throws Exception {
        ClientLoop loop = new ClientLoop("ends");
        CountDownLatch published = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        loop.execute(() -> loop.add(new Once(
                () -> {
                    awaitLatch(published);
                    loop.close();
                },
                ended)));
        loop.start();
        try (HostLookup hosts = new HostLookup(InetAddress::getAllByName, () -> {}, Thread::new)) {
            AutoTunedPublisher publisher =
                    new AutoTunedPublisher(loop, ClientSettings.of("127.0.0.1:1"), PublisherSettings.defaults(), hosts);
            CompletableFuture<Outcome> future = publisher.publish("orders", BODY);
            published.countDown();

            assertThat(future.get(30, TimeUnit.SECONDS)).isEqualTo(new Outcome.Failed("the publisher is closed"));
            awaitLatch(ended);
            assertThat(loop.execute(() -> {})).isFalse();
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
    void shouldEndTheOthersWhenOneFailsToEnd() throws IOException {
        ClientLoop loop = new ClientLoop("fails");
        CountDownLatch ended = new CountDownLatch(1);
        loop.execute(() -> {
            // Its end throws, because there is no latch.
            loop.add(new Once(() -> {}, null));
            loop.add(new Once(loop::close, ended));
        });
        loop.start();

        awaitLatch(ended);
    }

    @Test
    void shouldCompleteEveryFutureWhenThreadsPublishWhileItIsClosed() throws Exception {
        for (int round = 0; round < 50; round++) {
            List<CompletableFuture<Outcome>> futures = new ArrayList<>();
            try (ScriptedBroker broker = new ScriptedBroker()) {
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher(PublisherSettings.defaults()
                        .withCloseWithin(Duration.ZERO)
                        .withRetry(round % 2 == 0));
                CompletableFuture<Void> closing = new CompletableFuture<>();
                Thread publishing = new Thread(() -> {
                    int afterwards = 0;
                    while (afterwards < 100) {
                        futures.add(publisher.publish("orders", BODY));
                        afterwards += closing.isDone() ? 1 : 0;
                    }
                });
                publishing.start();
                await("some are accepted", () -> publisher.stats().accepted() > 0);
                client.close();
                closing.complete(null);
                publishing.join();

                for (CompletableFuture<Outcome> future : futures) {
                    outcome(future, round);
                }
                assertThat(publisher.stats().stored()).isZero();
            }
        }
    }

    private static Outcome outcome(CompletableFuture<Outcome> future, int round) throws Exception {
        try {
            return future.get(10, TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException e) {
            throw new AssertionError("no outcome in round " + round, e);
        }
    }

    @Test
    void shouldEndWhenItIsClosedByWhatIsChainedToAFuture() throws IOException {
        CountDownLatch chained = new CountDownLatch(1);
        try (ScriptedBroker broker = new ScriptedBroker().answering(bodies -> {
            if (!bodies.contains("x")) {
                return ScriptedBroker.SILENCE;
            }
            awaitLatch(chained);
            return ScriptedBroker.OK;
        })) {
            WeirClient client = WeirClient.create(clientOf(broker));
            AutoTunedPublisher publisher = client.publisher();
            AutoTunedPublisher another = client.publisher();
            CompletableFuture<Outcome> left = another.publish("orders", new byte[] {1});
            await("it is on its way", () -> another.stats().batches() == 1);
            CompletableFuture<Void> closed = publisher.publish("orders", BODY).thenRun(client::close);
            chained.countDown();

            closed.join();
            assertThat(left.join()).isInstanceOf(Outcome.Unknown.class);
            assertThat(another.publish("orders", BODY).join()).isEqualTo(new Outcome.Failed("the publisher is closed"));
            await(
                    "the broker is left",
                    () -> broker.lines().stream().filter("gone"::equals).count() == 2);
        }
    }
}

package io.weir.transport.client;

import static io.weir.transport.Awaiting.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/** What the tests of publishers do again and again. Bodies are called m0, m1 and so on. */
final class Publishing {
    private Publishing() {}

    static ClientSettings clientOf(ScriptedBroker... brokers) {
        return ClientSettings.of(
                        List.of(brokers).stream().map(ScriptedBroker::endpoint).toList())
                .withBackoff(Duration.ofMillis(5), Duration.ofMillis(50));
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static List<String> names(int from, int to) {
        return IntStream.range(from, to).mapToObj(i -> "m" + i).toList();
    }

    static List<CompletableFuture<Outcome>> publish(AutoTunedPublisher publisher, List<String> bodies) {
        return bodies.stream()
                .map(body -> publisher.publish("orders", bytes(body)))
                .toList();
    }

    static void allAccepted(List<CompletableFuture<Outcome>> futures) {
        for (CompletableFuture<Outcome> future : futures) {
            assertThat(future.join()).isEqualTo(new Outcome.Accepted());
        }
    }

    /**
     * Publishes until {@code workers} transfers are on their way and the rest waits, of a broker that does not answer
     * yet.
     */
    static List<CompletableFuture<Outcome>> gather(AutoTunedPublisher publisher, int count, int workers) {
        List<CompletableFuture<Outcome>> futures = new ArrayList<>(publish(publisher, names(0, count)));
        await("transfers are under way", () -> publisher.stats().batches() == workers);
        await("all are there", () -> {
            PublisherStats.Topic topic = publisher.stats().topics().get(0);
            return topic.waiting() + topic.inFlight() == count;
        });
        return futures;
    }

    /** Duplicates apart, which a message sent again may be. */
    static List<String> firstTimes(List<String> bodies) {
        return new ArrayList<>(new LinkedHashSet<>(bodies));
    }
}

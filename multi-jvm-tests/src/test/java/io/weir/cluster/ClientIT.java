package io.weir.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.cluster.example.OrderDesk;
import io.weir.supervisor.node.TopicRequest;
import io.weir.transport.client.AutoTunedPublisher;
import io.weir.transport.client.ClientSettings;
import io.weir.transport.client.MessageConsumer;
import io.weir.transport.client.Outcome;
import io.weir.transport.client.PublisherSettings;
import io.weir.transport.client.WeirClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The Java client with two broker JVMs, one of which is killed. */
@SideBySide
@Timeout(180)
class ClientIT {
    private static final Duration SOON = Duration.ofSeconds(60);

    private final Set<String> consumed = ConcurrentHashMap.newKeySet();

    @Test
    void shouldCompleteEveryFutureAndLoseNothingThatTheSurvivorTookWhenABrokerIsKilled() {
        try (BrokerCluster cluster = BrokerCluster.of(2)
                .from(BuiltDistribution.installation())
                .in(BuiltDistribution.directory("client"))
                .start()) {
            cluster.awaitAllUp(SOON);
            String doomed = cluster.line("b1").tcp();
            String survivor = cluster.line("b2").tcp();
            publishAndConsume(cluster, doomed, survivor);
            publishMoreAtOnceThanPassesInTime(cluster, survivor);
            surviveAKill(cluster, doomed, survivor);
        }
    }

    /** The example of CLIENTS.md; {@link OrderDeskTest} checks that it is the same code. */
    private void publishAndConsume(BrokerCluster cluster, String... brokers) {
        Set<String> audited = ConcurrentHashMap.newKeySet();
        Set<String> rejected = ConcurrentHashMap.newKeySet();
        OrderDesk.run(audited, rejected, List.of("two chairs", "a table"), brokers);

        assertThat(rejected).isEmpty();
        try (WeirClient client = WeirClient.create(ClientSettings.of(brokers));
                MessageConsumer rest = client.consume(
                        "orders", "audit", delivery -> audited.add(new String(delivery.body(), UTF_8)))) {
            // The example ends with its last publication; what it had not consumed by then comes to the next consumer.
            cluster.await("both orders", SOON, () -> audited.containsAll(List.of("two chairs", "a table")));
            cluster.await("this consumer is there", SOON, () -> rest.stats().connected() == 1);
            assertThat(rest.stats().handlerFailures() + rest.stats().tooLate()).isZero();
        }
    }

    /** Sixty pass within the longest delay, if all of the limit is at one broker. */
    private static void publishMoreAtOnceThanPassesInTime(BrokerCluster cluster, String broker) {
        TopicClient topics = new TopicClient(cluster.http("b2"), Optional.empty());
        topics.create("slow", new TopicRequest(50.0, 10.0, null, null, "shape", 1_000L, null, null, null, null));
        cluster.await("the limit is there", SOON, () -> topics.describe("slow")
                .filter(found -> found.done() && found.sumRate() == 50)
                .isPresent());
        try (WeirClient client = WeirClient.create(ClientSettings.of(broker));
                AutoTunedPublisher publisher =
                        client.publisher(PublisherSettings.defaults().withAnswerWithin(SOON))) {
            List<CompletableFuture<Outcome>> futures = publish(publisher, "slow", "parcel", 300);

            futures.forEach(future -> assertThat(future.join()).isEqualTo(new Outcome.Accepted()));
            assertThat(publisher.stats().connectionsLost()).isZero();
            assertThat(publisher.stats().retries())
                    .as("more were sent at once than pass")
                    .isPositive();
        }
    }

    private void surviveAKill(BrokerCluster cluster, String doomed, String survivor) {
        try (WeirClient consuming = WeirClient.create(ClientSettings.of(survivor));
                WeirClient publishing = WeirClient.create(ClientSettings.of(doomed, survivor));
                MessageConsumer consumer = consuming.consume(
                        "parcels", "audit", delivery -> consumed.add(new String(delivery.body(), UTF_8)));
                AutoTunedPublisher publisher =
                        publishing.publisher(PublisherSettings.defaults().withAnswerWithin(SOON))) {
            cluster.await("the consumer is there", SOON, () -> consumer.stats().connected() == 1);
            publish(publisher, "parcels", "before", 500)
                    .forEach(future -> assertThat(future.join()).isEqualTo(new Outcome.Accepted()));
            assertThat(publisher.stats().topics().get(0).broker()).isEqualTo(doomed);

            List<CompletableFuture<Outcome>> during = publish(publisher, "parcels", "during", 5_000);
            cluster.kill("b1");
            // Anything accepted from here on is the survivor's: the other is dead.
            List<CompletableFuture<Outcome>> after = publish(publisher, "parcels", "after", 2_000);

            during.forEach(future -> assertThat(future.join()).isEqualTo(new Outcome.Accepted()));
            after.forEach(future -> assertThat(future.join()).isEqualTo(new Outcome.Accepted()));
            assertThat(publisher.stats().connectionsLost()).isEqualTo(1);
            assertThat(publisher.stats().topics().get(0).broker()).isEqualTo(survivor);
            cluster.await(
                    "what the survivor took",
                    SOON,
                    () -> consumed.stream()
                                    .filter(body -> body.startsWith("after"))
                                    .count()
                            == 2_000);
        }
    }

    private static List<CompletableFuture<Outcome>> publish(
            AutoTunedPublisher publisher, String topic, String name, int count) {
        List<CompletableFuture<Outcome>> futures = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            futures.add(publisher.publish(topic, (name + i).getBytes(UTF_8)));
        }
        return futures;
    }
}

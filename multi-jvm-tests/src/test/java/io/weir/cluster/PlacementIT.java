package io.weir.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.TopicRequest;
import io.weir.supervisor.placement.PlacementView;
import io.weir.transport.client.AutoTunedPublisher;
import io.weir.transport.client.ClientSettings;
import io.weir.transport.client.MessageConsumer;
import io.weir.transport.client.Outcome;
import io.weir.transport.client.PublisherSettings;
import io.weir.transport.client.WeirClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Three broker JVMs with placement; the one where it runs is killed while it measures. */
@Tag("side-by-side")
@Timeout(180)
class PlacementIT {
    private static final Duration SOON = Duration.ofSeconds(60);
    private static final String TOPIC = "orders";

    /** Publishes some twenty messages a second until it is stopped. */
    private static final class Sender extends Thread implements AutoCloseable {
        private final WeirClient client;
        private final AutoTunedPublisher publisher;
        private final String name;
        private final AtomicBoolean stopped = new AtomicBoolean();
        private final Set<String> accepted = ConcurrentHashMap.newKeySet();
        private final AtomicInteger open = new AtomicInteger();
        private volatile String phase = "first";

        private Sender(String name, String... brokers) {
            super(name);
            this.name = name;
            client = WeirClient.create(ClientSettings.of(brokers));
            publisher = client.publisher(PublisherSettings.defaults().withAnswerWithin(SOON));
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            for (int i = 0; !stopped.get(); i++) {
                String body = phase + " " + name + " " + i;
                open.incrementAndGet();
                publisher.publish(TOPIC, body.getBytes(UTF_8)).thenAccept(outcome -> {
                    if (outcome instanceof Outcome.Accepted) {
                        accepted.add(body);
                    }
                    open.decrementAndGet();
                });
                LockSupport.parkNanos(50_000_000L);
            }
        }

        private Optional<String> broker() {
            return publisher.stats().topics().stream().findFirst().map(topic -> topic.broker());
        }

        @Override
        public void close() {
            stopped.set(true);
            client.close();
        }
    }

    @Test
    void shouldPlacePublishersAndGoOnWhenTheBrokerThatDecidesIsKilledWhileItMeasures() throws Exception {
        try (BrokerCluster cluster = BrokerCluster.of(3)
                .from(BuiltDistribution.installation())
                .in(BuiltDistribution.directory("placement"))
                .withEnvironment(Map.of(
                        "WEIR_PLACEMENT_ENABLED",
                        "on",
                        // A machine that runs all this at once is slow now and then, which is not what is tested.
                        "WEIR_PLACEMENT_OBJECTIVE",
                        "500ms",
                        "WEIR_PLACEMENT_ROUND",
                        "10s"))
                .start()) {
            cluster.awaitAllUp(SOON);
            new TopicClient(cluster.http("b1"), Optional.empty())
                    .create(TOPIC, TopicRequest.limit(1_000.0, 100.0, null, null));
            List<String> tcp = List.of("b1", "b2", "b3").stream()
                    .map(id -> cluster.tcp(id).toString())
                    .toList();
            Set<String> consumed = ConcurrentHashMap.newKeySet();
            String decider = cluster.status("b1").singletonHost();
            String survivor = decider.equals("b1") ? "b2" : "b1";
            List<Sender> senders = new ArrayList<>();
            try (WeirClient consuming = WeirClient.create(
                            ClientSettings.of(cluster.tcp(survivor).toString()));
                    MessageConsumer consumer = consuming.consume(
                            TOPIC, "check", delivery -> consumed.add(new String(delivery.body(), UTF_8)))) {
                cluster.await(
                        "the consumer is there", SOON, () -> consumer.stats().connected() == 1);
                for (int i = 0; i < 9; i++) {
                    // Three begin at each broker, and any will do when that dies.
                    senders.add(new Sender("s" + i, tcp.get(i % 3), tcp.get((i + 1) % 3), tcp.get((i + 2) % 3)));
                }
                cluster.await("it is measured", SOON, () -> placed(cluster, survivor)
                        .filter(topic -> topic.state().equals("MEASURING"))
                        .isPresent());
                cluster.kill(decider);
                cluster.await("another finishes it", SOON, () -> placed(cluster, survivor)
                        .filter(topic -> topic.state().equals("FITTED")
                                && !topic.decidedBy().startsWith(decider + "#"))
                        .filter(topic -> topic.publishers() >= 9)
                        .isPresent());
                PlacementView.OfTopic topic = placed(cluster, survivor).orElseThrow();
                assertThat(topic.brokers()).as("few messages need one broker").hasSize(1);
                String home = topic.brokers().get(0).broker();
                assertThat(home).isNotEqualTo(decider);
                assertThat(topic.reasons()).anyMatch(reason -> reason.contains("1 brokers are the fewest"));
                cluster.await("clients follow to " + home, SOON, () -> senders.stream()
                        .allMatch(sender -> sender.broker()
                                .filter(cluster.tcp(home).toString()::equals)
                                .isPresent()));
                senders.forEach(sender -> sender.phase = "last");
                cluster.await("all publish on", SOON, () -> senders.stream()
                        .allMatch(sender -> sender.accepted.stream()
                                        .filter(body -> body.startsWith("last"))
                                        .count()
                                >= 20));
                senders.forEach(sender -> sender.stopped.set(true));
                cluster.await("all have their answers", SOON, () -> senders.stream()
                        .allMatch(sender -> sender.open.get() == 0));
                cluster.await("nothing is lost that was published at the new home", SOON, () -> senders.stream()
                        .flatMap(sender -> sender.accepted.stream())
                        .filter(body -> body.startsWith("last"))
                        .allMatch(consumed::contains));
            } finally {
                senders.forEach(Sender::close);
            }
        }
    }

    private static Optional<PlacementView.OfTopic> placed(BrokerCluster cluster, String at) {
        return new BrokerClient(cluster.http(at))
                .ask("GET", "/v1/placement/topics/" + TOPIC, Optional.empty(), Optional.empty())
                .join()
                .filter(BrokerClient.Answer::ok)
                .map(answer -> answer.as(PlacementView.OfTopic.class));
    }
}

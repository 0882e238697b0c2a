package io.weir.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.TopicRequest;
import io.weir.supervisor.placement.PlacementView;
import io.weir.transport.client.AutoTunedPublisher;
import io.weir.transport.client.ClientSettings;
import io.weir.transport.client.MessageConsumer;
import io.weir.transport.client.Outcome;
import io.weir.transport.client.PublisherSettings;
import io.weir.transport.client.WeirClient;
import java.io.IOException;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Three broker JVMs with placement: its measuring, its moves, its end on one of them, and who says over HTTP who it is.
 */
@SideBySide
@Timeout(180)
class PlacementIT {
    private static final Duration SOON = Duration.ofSeconds(60);
    private static final String TOPIC = "orders";

    /** Publishes every so often until it is stopped. */
    private static final class Sender extends Thread implements AutoCloseable {
        private final WeirClient client;
        private final AutoTunedPublisher publisher;
        private final String name;
        private final AtomicBoolean stopped = new AtomicBoolean();
        private final Set<String> accepted = ConcurrentHashMap.newKeySet();
        private final AtomicInteger open = new AtomicInteger();
        private final long gapNs;
        private volatile String phase = "first";

        private Sender(String name, Duration gap, String... brokers) {
            super(name);
            this.name = name;
            gapNs = gap.toNanos();
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
                LockSupport.parkNanos(gapNs);
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
                        "7s"))
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
                    senders.add(new Sender(
                            "s" + i,
                            Duration.ofMillis(50),
                            tcp.get(i % 3),
                            tcp.get((i + 1) % 3),
                            tcp.get((i + 2) % 3)));
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

    /**
     * By rate, one broker carries everybody; but the parts of a static topic's limit stay where they are, so its third
     * of the limit is too little, and only measuring shows it.
     */
    @Test
    void shouldShedPublishersOfABrokerThatBreaksTheObjectiveUntilAllFit() throws Exception {
        try (BrokerCluster cluster = BrokerCluster.of(3)
                .from(BuiltDistribution.installation())
                .in(BuiltDistribution.directory("placement-fitting"))
                .withEnvironment(Map.of(
                        "WEIR_PLACEMENT_ENABLED", "on",
                        "WEIR_PLACEMENT_OBJECTIVE", "200ms",
                        "WEIR_PLACEMENT_ROUND", "5s"))
                .start()) {
            cluster.awaitAllUp(SOON);
            // What waited for half a second has failed: nothing of one round is left in the next.
            new TopicClient(cluster.http("b1"), Optional.empty())
                    .create(TOPIC, new TopicRequest(300.0, 60.0, "static", null, null, 500L, null, null, null, null));
            List<Sender> senders = new ArrayList<>();
            try {
                for (int i = 0; i < 16; i++) {
                    senders.add(new Sender(
                            "s" + i,
                            Duration.ofMillis(100),
                            cluster.tcp("b" + (i % 3 + 1)).toString()));
                }
                cluster.await("one broker is tried", SOON, () -> placed(cluster, "b1")
                        .filter(topic -> topic.state().equals("MEASURING")
                                && topic.brokers().size() == 1)
                        .isPresent());
                cluster.await("they fit", Duration.ofSeconds(120), () -> placed(cluster, "b1")
                        .filter(topic -> topic.state().equals("FITTED") && topic.publishers() >= 16)
                        .isPresent());
                PlacementView.OfTopic topic = placed(cluster, "b1").orElseThrow();
                assertThat(topic.rounds()).isGreaterThan(1);
                assertThat(topic.brokers().size()).isBetween(2, 3);
                assertThat(topic.unplaced()).isZero();
                assertThat(topic.reasons())
                        .anyMatch(reason -> reason.contains("breaks the objective"))
                        .anyMatch(reason -> reason.contains("tries 8 publishers of at most 16"))
                        .anyMatch(reason -> reason.contains("is full with"))
                        .anyMatch(reason -> reason.contains("every publisher is placed and every broker meets"));
                cluster.await("every broker is measured to meet it", SOON, () -> placed(cluster, "b1")
                        .filter(now -> now.brokers().stream()
                                .allMatch(part -> part.measuredP99Ms() != null && part.measuredP99Ms() <= 200))
                        .isPresent());
                assertThat(placed(cluster, "b1").orElseThrow().revision())
                        .as("and nobody is moved any more")
                        .isEqualTo(topic.revision());
            } finally {
                senders.forEach(Sender::close);
            }
        }
    }

    /** As it is by default: on for topics that somebody registers for. */
    @Test
    void shouldPlaceWhoeverSaysOverHttpWhoItIsAndKeepThemWhenABrokerDies() throws Exception {
        try (BrokerCluster cluster = BrokerCluster.of(3)
                .from(BuiltDistribution.installation())
                .in(BuiltDistribution.directory("placement-registration"))
                .withEnvironment(Map.of(
                        "WEIR_PLACEMENT_CAPACITY", "100",
                        "WEIR_PLACEMENT_ROUND", "2s"))
                .start()) {
            cluster.awaitAllUp(SOON);
            new TopicClient(cluster.http("b1"), Optional.empty())
                    .create(TOPIC, TopicRequest.limit(1_000.0, 100.0, null, null));
            cluster.await("the placement knows b1", SOON, () -> register(cluster, "b1", "p0", "north", 20)
                    .ok());
            for (int i = 1; i < 8; i++) {
                assertThat(register(cluster, "b" + (i % 3 + 1), "p" + i, i % 2 == 0 ? "north" : "south", 20)
                                .status())
                        .isEqualTo(200);
            }
            BrokerClient.Answer contradiction = register(cluster, "b2", "p0", "south", 20);
            assertThat(contradiction.status()).isEqualTo(409);
            assertThat(contradiction.error()).contains("'p0'", "'south'", "'north'");
            assertThat(register(cluster, "b1", "p9", "north", -5).status()).isEqualTo(400);
            assertThat(new BrokerClient(cluster.http("b1"))
                            .ask(
                                    "PUT",
                                    "/v1/placement/topics/nothing/publishers/p0",
                                    Optional.of(Map.of("rate", 1)),
                                    Optional.empty())
                            .join()
                            .orElseThrow()
                            .status())
                    .isEqualTo(404);
            // 160 messages a second, 100 a broker: two of them, though nobody has published yet.
            cluster.await("all are placed", SOON, () -> placed(cluster, "b3")
                    .filter(topic -> topic.state().equals("FITTED")
                            && topic.publishers() == 8
                            && topic.brokers().size() == 2)
                    .isPresent());
            PlacementView.OfTopic topic = placed(cluster, "b3").orElseThrow();
            assertThat(topic.brokers()).allMatch(part -> part.publishers() == 4 && part.groups() == 2);
            assertThat(topic.rate()).isEqualTo(160);
            assertThat(topic.refusals()).anyMatch(refusal -> refusal.contains("'south'"));
            for (int i = 0; i < 8; i++) {
                assertThat(publish(cluster, "b" + (i % 3 + 1), "p" + i)).isEqualTo(200);
            }
            for (PlacementView.OfPart part : topic.brokers()) {
                assertThat(passed(cluster, part.broker()))
                        .as("all passed the limit at their homes, at " + part.broker())
                        .isEqualTo(4);
            }
            String dead = topic.brokers().get(0).broker();
            String alive = dead.equals("b1") ? "b2" : "b1";
            cluster.kill(dead);
            cluster.await("all are placed on the others", SOON, () -> placed(cluster, alive)
                    .filter(now -> now.state().equals("FITTED")
                            && now.publishers() == 8
                            && now.brokers().stream()
                                    .noneMatch(part -> part.broker().equals(dead)))
                    .isPresent());
        }
    }

    private static BrokerClient.Answer register(
            BrokerCluster cluster, String at, String publisher, String group, double rate) {
        return new BrokerClient(cluster.http(at))
                .ask(
                        "PUT",
                        "/v1/placement/topics/" + TOPIC + "/publishers/" + publisher,
                        Optional.of(Map.of("rate", rate, "group", group)),
                        Optional.empty())
                .join()
                .orElseThrow();
    }

    private static int passed(BrokerCluster cluster, String at) throws IOException {
        byte[] stats = new BrokerClient(cluster.http(at))
                .ask("GET", "/stats?format=json&topic=" + TOPIC, Optional.empty(), Optional.empty())
                .join()
                .orElseThrow()
                .body();
        return new ObjectMapper().readTree(stats).at("/topics/0/message_count").asInt();
    }

    private static int publish(BrokerCluster cluster, String at, String publisher) {
        return new BrokerClient(cluster.http(at))
                .ask(
                        "POST",
                        "/pub?topic=" + TOPIC + "&publisher=" + publisher,
                        Optional.of("message"),
                        Optional.empty())
                .join()
                .orElseThrow()
                .status();
    }

    private static Optional<PlacementView.OfTopic> placed(BrokerCluster cluster, String at) {
        return new BrokerClient(cluster.http(at))
                .ask("GET", "/v1/placement/topics/" + TOPIC, Optional.empty(), Optional.empty())
                .join()
                .filter(BrokerClient.Answer::ok)
                .map(answer -> answer.as(PlacementView.OfTopic.class));
    }
}

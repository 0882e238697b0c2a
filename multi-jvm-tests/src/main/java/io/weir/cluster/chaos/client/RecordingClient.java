package io.weir.cluster.chaos.client;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.cluster.chaos.client.ClientPlan.Consuming;
import io.weir.cluster.chaos.client.ClientPlan.Orders;
import io.weir.cluster.chaos.client.ClientPlan.Publishing;
import io.weir.config.Endpoint;
import io.weir.transport.client.ClientSettings;
import io.weir.transport.client.ConsumerSettings;
import io.weir.transport.client.Delivery;
import io.weir.transport.client.WeirClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * A client process of a chaos run: publishes, consumes and records both. It lives in the network of the broker that it
 * is beside, so that a broker that is cut off goes on being pressed, and takes its orders from a file, since no network
 * reaches it for sure.
 */
final class RecordingClient {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long LOOK_MS = 200;
    private static final double[] TIDES = {0.1, 0.5, 1, 2.5};
    private static final double FLOOD = 3;
    private static final long SHORTEST_TIDE_NS = TimeUnit.SECONDS.toNanos(4);
    private static final long LONGEST_TIDE_NS = TimeUnit.SECONDS.toNanos(10);
    /** For the answers to the last messages. */
    private static final long HUSH_NS = TimeUnit.SECONDS.toNanos(8);

    private final ClientPlan plan;
    private final ClientRecord record;
    private final List<RecordingPublisher> publishers = new ArrayList<>();
    private final List<WeirClient> consumers = new ArrayList<>();
    private final Random random;
    private final Map<String, Long> turnsNs = new TreeMap<>();
    private Orders orders = Orders.TIDE;
    private long hushedNs;

    private RecordingClient(ClientPlan plan, ClientRecord record) {
        this.plan = plan;
        this.record = record;
        random = new Random(plan.seed());
    }

    /** Runs until the order to quit, or until the file of orders is gone. */
    static void run(ClientPlan plan) throws IOException, InterruptedException {
        try (ClientRecord record = new ClientRecord(plan.name(), Path.of(plan.history()))) {
            new RecordingClient(plan, record).obey();
        }
    }

    private void obey() throws IOException, InterruptedException {
        for (Publishing each : plan.publishing()) {
            for (int i = 0; i < each.connections(); i++) {
                RecordingPublisher publisher = new RecordingPublisher(each, record);
                publishers.add(publisher);
                publisher.start();
            }
        }
        plan.consuming().forEach(this::consume);
        try {
            while (orders != Orders.QUIT) {
                listen();
                turn(System.nanoTime());
                writeStatus();
                Thread.sleep(LOOK_MS);
            }
        } finally {
            publishers.forEach(RecordingPublisher::end);
            consumers.forEach(WeirClient::close);
        }
        for (RecordingPublisher publisher : publishers) {
            publisher.join(TimeUnit.SECONDS.toMillis(2));
        }
        writeStatus();
    }

    private void consume(Consuming each) {
        List<Endpoint> endpoints =
                each.endpoints().stream().map(Endpoint::parse).toList();
        WeirClient client = WeirClient.create(ClientSettings.of(endpoints)
                .withConnectWithin(Duration.ofSeconds(2))
                .withBackoff(Duration.ofMillis(200), Duration.ofSeconds(1))
                .withHandlerThreads(1));
        consumers.add(client);
        client.consume(
                each.topic(),
                each.channel(),
                ConsumerSettings.defaults().withMaxInFlight(100),
                delivery -> delivered(each, delivery));
    }

    private void delivered(Consuming each, Delivery delivery) {
        record.deliver(
                each.topic(),
                each.channel(),
                new String(delivery.body(), StandardCharsets.US_ASCII),
                delivery.attempts());
    }

    private void listen() throws IOException {
        Path file = Path.of(plan.orders());
        Orders now = Files.exists(file) ? Orders.valueOf(Files.readString(file).strip()) : Orders.QUIT;
        if (now != orders) {
            orders = now;
            turnsNs.clear();
            hushedNs = System.nanoTime();
            record.flush();
        }
    }

    /** The load of each topic, by what is wanted and by chance. */
    private void turn(long nowNs) {
        for (RecordingPublisher publisher : publishers) {
            if (orders == Orders.HUSH) {
                publisher.press(0);
                if (nowNs - hushedNs > HUSH_NS) {
                    publisher.end();
                }
            } else if (orders == Orders.SATURATE) {
                publisher.press(FLOOD);
            }
        }
        if (orders == Orders.TIDE) {
            plan.publishing().stream().map(Publishing::topic).distinct().forEach(topic -> turn(topic, nowNs));
        }
    }

    private void turn(String topic, long nowNs) {
        Long turnNs = turnsNs.get(topic);
        if (turnNs == null || nowNs - turnNs >= 0) {
            double tide = TIDES[random.nextInt(TIDES.length)];
            publishers.stream()
                    .filter(publisher -> publisher.topic().equals(topic))
                    .forEach(publisher -> publisher.press(tide));
            turnsNs.put(
                    topic,
                    nowNs + SHORTEST_TIDE_NS + (long) (random.nextDouble() * (LONGEST_TIDE_NS - SHORTEST_TIDE_NS)));
        }
    }

    private void writeStatus() throws IOException {
        Path file = Path.of(plan.status());
        Path next = file.resolveSibling(file.getFileName() + ".next");
        Files.write(next, JSON.writeValueAsBytes(record.status()));
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
    }
}

package io.weir.cluster.chaos;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.cluster.chaos.client.ClientPlan;
import io.weir.cluster.chaos.client.ClientPlan.Consuming;
import io.weir.cluster.chaos.client.ClientPlan.Orders;
import io.weir.cluster.chaos.client.ClientPlan.Publishing;
import io.weir.cluster.chaos.client.ClientPlan.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The client processes of a run, one beside each broker. Each publishes to its own broker, so that an isolated one goes
 * on being pressed, and to another one; it consumes from yet another one, so that what a broker admits has a way to go.
 */
final class Clients {
    static final String CHANNEL = "audit";
    private static final Logger LOG = LoggerFactory.getLogger(Clients.class);
    private static final ObjectMapper JSON = new ObjectMapper();
    /**
     * All clients together offer so many times a limit at a middling tide; in pairs of connections, so that one always
     * waits.
     */
    private static final double BESIDE = 1.2;

    private static final int BESIDE_CONNECTIONS = 2;
    private static final double ELSEWHERE = 0.3;
    private static final long QUIT_WITHIN_NS = TimeUnit.SECONDS.toNanos(15);
    private static final long LOOK_MS = 100;
    private static final long QUIET_NS = TimeUnit.SECONDS.toNanos(3);

    private final Ground ground;
    private final Scene scene;
    private final ChaosPlan plan;
    private final Path directory;
    private final List<ClientPlan> clients = new ArrayList<>();
    private long quietSinceNs = System.nanoTime();
    private long deliveredThen = -1;

    Clients(Ground ground, Scene scene, ChaosPlan plan) {
        this.ground = ground;
        this.scene = scene;
        this.plan = plan;
        this.directory = plan.directory().resolve("clients");
    }

    void start() throws IOException {
        Files.createDirectories(directory);
        for (int i = 0; i < scene.brokers().size(); i++) {
            ClientPlan client = client(i);
            Path file = directory.resolve(client.name() + ".json");
            client.write(file);
            Files.writeString(Path.of(client.orders()), (plan.flooded() ? Orders.SATURATE : Orders.TIDE).name());
            clients.add(client);
            ground.startClient(client.name(), scene.brokers().get(i), List.of("chaos", "client", file.toString()));
        }
    }

    private ClientPlan client(int number) {
        List<String> brokers = scene.brokers();
        int count = brokers.size();
        String beside = brokers.get(number);
        // One of them presses the broker that may join, while that is there.
        String elsewhere = number == 0 && scene.means().contains(Means.NETWORK)
                ? scene.spare()
                : brokers.get((number + 1) % count);
        List<String> consumeFrom = new ArrayList<>();
        for (int i = 2; i <= count; i++) {
            consumeFrom.add(ground.tcp(brokers.get((number + i) % count)));
        }
        consumeFrom.add(ground.tcp(brokers.get((number + 1) % count)));
        List<Publishing> publishing = new ArrayList<>();
        List<Consuming> consuming = new ArrayList<>();
        for (ChaosTopic topic : ChaosTopic.ALL) {
            publishing.add(new Publishing(
                    beside, ground.tcp(beside), topic.name(), BESIDE * topic.pressure() / count, BESIDE_CONNECTIONS));
            publishing.add(new Publishing(
                    elsewhere, ground.tcp(elsewhere), topic.name(), ELSEWHERE * topic.pressure() / count, 1));
            consuming.add(new Consuming(topic.name(), CHANNEL, consumeFrom));
        }
        String name = "c" + (number + 1);
        return new ClientPlan(
                name,
                plan.seed() * 31 + number,
                directory.resolve(name + ".jsonl").toString(),
                directory.resolve(name + ".orders").toString(),
                directory.resolve(name + ".status").toString(),
                publishing,
                consuming);
    }

    void order(Orders orders) throws IOException {
        for (ClientPlan client : clients) {
            Path file = Path.of(client.orders());
            Path next = file.resolveSibling(file.getFileName() + ".next");
            Files.writeString(next, orders.name());
            Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
        }
    }

    Stream<Status> each() {
        return clients.stream().map(Clients::status);
    }

    Status status() {
        return each().reduce(Status.NONE, Status::plus);
    }

    private static Status status(ClientPlan client) {
        Path file = Path.of(client.status());
        try {
            return Files.exists(file) ? JSON.readValue(file.toFile(), Status.class) : Status.NONE;
        } catch (IOException e) {
            return Status.NONE;
        }
    }

    /** Whether all that was acknowledged may have come: as many deliveries at least, and none for a while. */
    boolean drained() {
        Status now = status();
        if (now.delivered() != deliveredThen) {
            deliveredThen = now.delivered();
            quietSinceNs = System.nanoTime();
        }
        return System.nanoTime() - quietSinceNs > QUIET_NS && now.delivered() >= now.ok();
    }

    /** Lets them write what they have and end. */
    void quit() throws IOException, InterruptedException {
        order(Orders.QUIT);
        long deadlineNs = System.nanoTime() + QUIT_WITHIN_NS;
        try {
            while (clients.stream().anyMatch(client -> ground.clientAlive(client.name()))
                    && System.nanoTime() - deadlineNs < 0) {
                TimeUnit.MILLISECONDS.sleep(LOOK_MS);
            }
        } catch (IllegalStateException e) {
            // The stage is gone, and they with it; what they have written is there.
            LOG.debug("Clients: {}", e.getMessage());
        }
    }

    List<Path> histories() {
        return clients.stream()
                .map(client -> Path.of(client.history()))
                .filter(Files::exists)
                .toList();
    }
}

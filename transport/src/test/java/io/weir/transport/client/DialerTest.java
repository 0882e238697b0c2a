package io.weir.transport.client;

import static io.weir.transport.Awaiting.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.Endpoint;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How brokers are found and dialled. */
@Timeout(60)
class DialerTest {
    private static final byte[] BODY = {1};

    private final CountDownLatch end = new CountDownLatch(1);
    private final AtomicInteger hanging = new AtomicInteger();

    private static ClientSettings settings(Endpoint... brokers) {
        return ClientSettings.of(List.of(brokers)).withBackoff(Duration.ofMillis(5), Duration.ofMillis(50));
    }

    private static ScriptedBroker broker() throws IOException {
        return new ScriptedBroker();
    }

    private static Endpoint at(String host, ScriptedBroker broker) {
        return new Endpoint(host, broker.endpoint().port());
    }

    /** Names that begin with "hangs" are not answered before the test ends. */
    private InetAddress[] lookUp(String host) throws UnknownHostException {
        if (host.startsWith("hangs")) {
            hanging.incrementAndGet();
            try {
                end.await();
            } catch (InterruptedException e) {
                hanging.decrementAndGet();
            }
            throw new UnknownHostException(host);
        }
        return switch (host) {
            case "fails.example" -> throw new IllegalStateException("on purpose");
            case "nowhere.example" -> throw new UnknownHostException("nowhere.example: not known");
            // The broker listens at the second alone.
            case "two.example" ->
                new InetAddress[] {InetAddress.getByName("127.0.0.2"), InetAddress.getByName("127.0.0.1")};
            default -> InetAddress.getAllByName(host);
        };
    }

    private void publishes(ClientSettings settings) {
        try (WeirClient client = WeirClient.create(settings, this::lookUp);
                AutoTunedPublisher publisher = client.publisher()) {
            assertThat(publisher.publish("orders", BODY).join()).isEqualTo(new Outcome.Accepted());
        }
    }

    @Test
    void shouldTurnToTheNextBrokerWhenANameIsNotAnswered() throws IOException {
        try (ScriptedBroker broker = broker()) {
            publishes(
                    settings(at("hangs.example", broker), broker.endpoint()).withConnectWithin(Duration.ofMillis(100)));
        }
    }

    @Test
    void shouldDialOtherBrokersWhileANameIsNotAnswered() throws IOException {
        List<MessageConsumer> consumers = new ArrayList<>();
        try (ScriptedBroker broker = broker();
                WeirClient client =
                        WeirClient.create(settings(at("hangs.example", broker), broker.endpoint()), this::lookUp)) {
            for (int i = 0; i < 3; i++) {
                consumers.add(client.consume(
                        "orders", "audit", ConsumerSettings.defaults().withConnections(2), delivery -> {}));
            }
            await("each one's other connection", () -> consumers.stream()
                    .allMatch(consumer -> consumer.stats().connected() == 1));
            await("a lookup that hangs", () -> hanging.get() > 0);

            assertThat(hanging).as("one thread a name, however many ask").hasValue(1);
        }
    }

    @Test
    void shouldTryAllAddressesOfAHostBeforeItPauses() throws IOException {
        try (ScriptedBroker broker = broker()) {
            publishes(settings(at("two.example", broker)).withBackoff(Duration.ofMinutes(5), Duration.ofMinutes(5)));
        }
    }

    @Test
    void shouldTurnToTheNextBrokerWhenALookupThrows() throws IOException {
        try (ScriptedBroker broker = broker()) {
            publishes(settings(at("fails.example", broker), broker.endpoint()));
        }
    }

    @Test
    void shouldTurnToTheNextBrokerWhenAPortDoesNotExist() throws IOException {
        try (ScriptedBroker broker = broker()) {
            publishes(settings(new Endpoint("127.0.0.1", 70_000), broker.endpoint()));
        }
    }

    @Test
    void shouldSayThatThereIsNoSuchHost() {
        try (WeirClient client = WeirClient.create(settings(new Endpoint("nowhere.example", 4150)), this::lookUp);
                AutoTunedPublisher publisher =
                        client.publisher(PublisherSettings.defaults().withAnswerWithin(Duration.ofMillis(200)))) {
            assertThat(publisher.publish("orders", BODY).join())
                    .isInstanceOfSatisfying(Outcome.Failed.class, outcome -> assertThat(outcome.reason())
                            .contains("there is no host nowhere.example"));
        }
    }

    @Test
    void shouldFailALookupWhenTooManyHang() throws Exception {
        try (HostLookup hosts = new HostLookup(this::lookUp, () -> {}, Thread::new)) {
            IntStream.range(0, 32).forEach(i -> hosts.addresses("hangs" + i));
            await("all hang", () -> hanging.get() == 32);

            assertThat(hosts.addresses("127.0.0.1")).isCompletedExceptionally();
            end.countDown();
            await("room again", () -> !hosts.addresses("127.0.0.1").isCompletedExceptionally());
        }
    }
}

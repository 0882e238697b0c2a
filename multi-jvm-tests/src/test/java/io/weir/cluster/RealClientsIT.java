package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.sproutsocial.nsq.Client;
import com.sproutsocial.nsq.Publisher;
import io.weir.cluster.RealClient.Answer;
import io.weir.cluster.RealClient.Manner;
import io.weir.cluster.RealClient.Sender;
import io.weir.cluster.RealClient.Wire;
import io.weir.config.Endpoint;
import io.weir.supervisor.node.TopicRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Clients that others wrote, unchanged, against three broker JVMs. */
@SideBySide
@Timeout(120)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class RealClientsIT {
    private static final Logger LOG = LoggerFactory.getLogger(RealClientsIT.class);
    private static final Duration SOON = Duration.ofSeconds(60);
    /** A killed broker takes its time to come back. */
    private static final int LAST = Integer.MAX_VALUE;

    private static final String OVER = "PUB refused: topic is over its limit";

    private static final List<String> BROKERS = List.of("b1", "b2", "b3");

    /** The clients, and what of them a test has to know. */
    enum Library {
        NSQ_J(NsqJ::new, 0),
        BRAINLAG(Brainlag::new, 1_000),
        NSQJS(NsqJs::new, 1_000);

        private final Supplier<RealClient> opens;
        /** Shorter than a publication waits, where the client answers heartbeats meanwhile. */
        private final int shortHeartbeatMs;

        Library(Supplier<RealClient> opens, int shortHeartbeatMs) {
            this.opens = opens;
            this.shortHeartbeatMs = shortHeartbeatMs;
        }

        String topic(String of) {
            return of + "-" + name().toLowerCase(Locale.ROOT);
        }
    }

    private static Certificate certificate;
    private static BrokerCluster cluster;

    private final List<RealClient> opened = new ArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Inbox inbox = new Inbox();

    @BeforeAll
    static void start() throws Exception {
        certificate = Certificate.create(BuiltDistribution.emptyDirectory("certificate"));
        cluster = BrokerCluster.of(3)
                .from(BuiltDistribution.installation())
                .in(BuiltDistribution.directory("real-clients"))
                .withEnvironment(Map.of(
                        "WEIR_TCP_TLS_CERTIFICATE", certificate.certificate().toString(),
                        "WEIR_TCP_TLS_KEY", certificate.key().toString()))
                .start();
    }

    @BeforeEach
    void allUp() {
        cluster.restartTheDead();
        cluster.awaitAllUp(SOON);
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        opened.forEach(RealClient::close);
    }

    @AfterAll
    static void stop() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldCarryEveryMessageFromOneBrokersPublisherToAnothersConsumer(Library library) throws IOException {
        String topic = create(library.topic("carried"), 10_000, 1_000, "shape");
        RealClient client = open(library);
        client.receive(Manner.USUAL, at("b2"), topic, "work", inbox);
        Sender sender = client.sender(Manner.USUAL, at("b1"));
        for (String body : bodies(0, 50)) {
            sender.publish(topic, List.of(body));
        }
        sender.publish(topic, bodies(50, 100));

        inbox.await(bodies(0, 100), SOON);
        assertThat(inbox.bodies()).hasSize(100);
        assertThat(inbox.duplicates()).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void shouldCarryEveryMessageCompressedAndEncrypted(Library library) throws IOException {
        List<Manner> manners = manners(library);
        for (Manner manner : manners) {
            String name = manner.wire() + (manner.tls().isPresent() ? "-tls" : "");
            String topic = create(library.topic(name.toLowerCase(Locale.ROOT)), 10_000, 1_000, "shape");
            RealClient client = open(library);
            client.receive(manner, at("b2"), topic, "work", inbox);
            Sender sender = client.sender(manner, at("b1"));
            List<String> small = bodies(0, 50).stream().map(body -> name + body).toList();
            // Larger than a block of snappy's, and not all alike.
            List<String> large = bodies(0, 3).stream()
                    .map(body -> name + body.repeat(30_000))
                    .toList();
            sender.publish(topic, small);
            for (String body : large) {
                sender.publish(topic, List.of(body));
            }
            inbox.await(small, SOON);
            inbox.await(large, SOON);
        }
        assertThat(inbox.bodies()).hasSize(manners.size() * 53);
        assertThat(inbox.duplicates()).isZero();
    }

    /** Brainlag's compressions do not work: its class says why. */
    private static List<Manner> manners(Library library) {
        Manner encrypted = Manner.USUAL.with(certificate);
        return library == Library.BRAINLAG
                ? List.of(encrypted)
                : List.of(
                        encrypted,
                        Manner.USUAL.with(Wire.SNAPPY),
                        Manner.USUAL.with(Wire.DEFLATE),
                        encrypted.with(Wire.SNAPPY),
                        encrypted.with(Wire.DEFLATE));
    }

    @Test
    void shouldDeliverWhatNsqJDefers() {
        String topic = create("deferred", 10_000, 1_000, "shape");
        open(Library.NSQ_J).receive(Manner.USUAL, at("b2"), topic, "work", inbox);
        Client client = new Client();
        try {
            new Publisher(client, at("b1").get(0).toString(), null)
                    .publishDeferred(topic, "later".getBytes(StandardCharsets.UTF_8), 50, TimeUnit.MILLISECONDS);
            inbox.await(List.of("later"), SOON);
        } finally {
            client.stop();
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldDeliverAgainWhatWasRequeuedAndWhatTimedOut(Library library) throws IOException {
        String topic = create(library.topic("again"), 10_000, 1_000, "shape");
        RealClient client = open(library);
        client.receive(Manner.USUAL.withMessageTimeout(1_000), at("b2", "b3"), topic, "work", (body, attempt) -> {
            inbox.handle(body, attempt);
            return attempt > 1 || body.equals("m2") ? Answer.FINISH : body.equals("m0") ? Answer.REQUEUE : Answer.NONE;
        });
        client.sender(Manner.USUAL, at("b1")).publish(topic, bodies(0, 3));

        SupplyWatch.await(
                "m0 and m1 come twice",
                SOON,
                () -> inbox.attempts().equals(Map.of("m0", List.of(1, 2), "m1", List.of(1, 2), "m2", List.of(1))),
                inbox::attempts);
    }

    /**
     * All clients at once. Each one's batch waits for longer than a client that hears no heartbeats, or answers none,
     * stays connected.
     */
    @Test
    void shouldDelayThrottledPublishersThroughHeartbeatsAndLoseNothing() throws Exception {
        double delayed = metric("weir_messages_delayed_total");
        double refused = metric("weir_messages_refused_total");

        List<Future<?>> all = new ArrayList<>();
        for (Library library : Library.values()) {
            String topic = create(library.topic("shaped"), 12, 12, "shape");
            RealClient client = open(library);
            client.receive(
                    Manner.USUAL, at("b3"), topic, "work", (body, attempt) -> inbox.handle(library + body, attempt));
            Sender sender = client.sender(Manner.USUAL.withHeartbeat(library.shortHeartbeatMs), at("b1"));
            all.add(threads.submit(() -> {
                sender.publish(topic, bodies(0, 50));
                for (String body : bodies(50, 55)) {
                    sender.publish(topic, List.of(body));
                }
                return topic;
            }));
        }
        for (Future<?> each : all) {
            each.get(SOON.toSeconds(), TimeUnit.SECONDS);
        }

        for (Library library : Library.values()) {
            inbox.await(bodies(0, 55).stream().map(body -> library + body).toList(), SOON);
        }
        assertThat(inbox.bodies()).hasSize(3 * 55);
        assertThat(inbox.duplicates()).isZero();
        assertThat(metric("weir_messages_delayed_total")).isGreaterThanOrEqualTo(delayed + 3 * 50);
        assertThat(metric("weir_messages_refused_total")).isEqualTo(refused);
    }

    @ParameterizedTest
    @EnumSource
    void shouldTellTheApplicationWhatAPolicingTopicRefused(Library library) throws IOException {
        String topic = create(library.topic("policed"), 3, 9, "police");
        RealClient client = open(library);
        client.receive(Manner.USUAL, at("b3"), topic, "work", inbox);
        Sender sender = client.sender(Manner.USUAL, at("b1", "b2"));
        double admitted = metric("weir_messages_admitted_total");

        List<String> accepted = new ArrayList<>();
        List<String> refusals = new ArrayList<>();
        for (String body : bodies(0, 40)) {
            boolean decided = refusals.stream().anyMatch(each -> each.contains(OVER)) && !accepted.isEmpty();
            while (!decided) {
                try {
                    sender.publish(topic, List.of(body));
                    accepted.add(body);
                    decided = true;
                } catch (IOException e) {
                    // Between two connections it has not even been tried.
                    decided = !e.getMessage().contains("not connected");
                    if (decided) {
                        refusals.add(e.getMessage());
                    }
                    // It closes its connection for an error, on another thread. nsq-j hears nothing of what it
                    // publishes on it
                    // meanwhile, and waits for half a minute.
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
                }
            }
        }

        inbox.await(accepted, SOON);
        assertThat(accepted).isNotEmpty();
        assertThat(refusals).anyMatch(each -> each.contains(OVER));
        // A client that closes its connection for one refusal may not hear that the next message was accepted.
        SupplyWatch.await(
                "what was admitted comes",
                SOON,
                () -> inbox.bodies().size() == metric("weir_messages_admitted_total") - admitted,
                inbox::attempts);
        LOG.info("{}: {} accepted, {} refused: {}", client, accepted.size(), refusals.size(), refusals.get(0));
    }

    /**
     * What a shaping topic holds up for too long is lost to nobody either: the application is told, and nothing of it
     * comes. nsq-j with one broker does not tell it, but waits for ten seconds and publishes again.
     */
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NSQ_J")
    void shouldTellTheApplicationWhatWaitedTooLong(Library library) throws IOException {
        String topic = library.topic("impatient");
        topics("b1").create(topic, new TopicRequest(3.0, 3.0, null, null, "shape", 250L, null, null, null, null));
        awaitLimited(topic, 3);
        RealClient client = open(library);
        client.receive(Manner.USUAL, at("b3"), topic, "work", inbox);
        Sender sender = client.sender(Manner.USUAL, at("b1"));
        List<String> accepted = new ArrayList<>();
        List<String> refusals = new ArrayList<>();
        for (String body : bodies(0, 40)) {
            try {
                if (refusals.isEmpty()) {
                    sender.publish(topic, List.of(body));
                    accepted.add(body);
                }
            } catch (IOException e) {
                refusals.add(e.getMessage());
            }
        }
        assertThat(refusals).singleElement().asString().contains("PUB refused: it waited longer");
        inbox.await(accepted, SOON);
        assertThat(inbox.bodies()).hasSameElementsAs(accepted);
    }

    /**
     * One after the other, as a reader would, with other ports only: what they publish comes, and what they consume
     * they show.
     */
    @Test
    void shouldRunTheDocumentsSnippets() throws Exception {
        Path output = BuiltDistribution.emptyDirectory("snippets").resolve("output");
        Process curl = snippet("CLIENTS.md", "HTTP", "sh").run(output.getParent(), output);
        assertThat(curl.waitFor(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(curl.exitValue()).as(read(output)).isZero();
        assertThat(topics("b2").describe("orders"))
                .hasValueSatisfying(
                        found -> assertThat(found.rate() + ", " + found.burst()).isEqualTo("1000.0, 100.0"));

        open(Library.NSQ_J).receive(Manner.USUAL, at("b3"), "orders", "check", inbox);
        inbox.await(List.of("from curl"), SOON);
        awaitShown(snippet("README.md", "A client", "js").run(NsqJs.installed(), output), output, "from nsqjs");
        awaitShown(snippet("CLIENTS.md", "nsq-j", "java").run(output.getParent(), output), output, "from nsq-j");
        inbox.await(List.of("from nsqjs", "from nsq-j"), SOON);
    }

    private static Snippet snippet(String document, String heading, String language) throws IOException {
        return Snippet.of(document, heading, language)
                .with(4150, at("b1").get(0).port())
                .with(4151, cluster.http("b1").port())
                .with(4160, at("b2").get(0).port());
    }

    private static void awaitShown(Process running, Path output, String text) {
        try {
            SupplyWatch.await(text, SOON, () -> read(output).contains(text), () -> read(output));
        } finally {
            running.destroyForcibly();
        }
    }

    /** All clients at once, under load: b1 dies, of which each has a publisher and a consumer. */
    @Test
    @Order(LAST)
    void shouldGoOnAtOtherBrokersWhenOneIsKilled() throws Exception {
        List<Failover> all = new ArrayList<>();
        for (Library library : Library.values()) {
            all.add(new Failover(library));
        }
        List<Future<?>> running = new ArrayList<>();
        all.forEach(each -> {
            running.add(threads.submit(() -> each.publish(each.moving, "moving-")));
            running.add(threads.submit(() -> each.publish(each.staying, "staying-")));
        });
        awaitAll(all, "publish and consume", each -> each.inbox.bodies().size() >= 200);
        cluster.kill("b1");
        all.forEach(each -> each.killed.set(true));
        awaitAll(
                all,
                "publish again with all they have",
                each -> each.promised("after-moving-") >= 100 && each.promised("after-staying-") >= 100);
        all.forEach(each -> each.ended.set(true));
        for (Future<?> each : running) {
            each.get(SOON.toSeconds(), TimeUnit.SECONDS);
        }
        all.forEach(each -> each.inbox.await(each.acknowledged, SOON));
        all.forEach(each -> LOG.info(
                "{}: {} acknowledged by survivors, all came; {} errors; {} duplicates",
                each.client,
                each.acknowledged.size(),
                each.errors.size(),
                each.inbox.duplicates()));
    }

    /** One client with a publisher that has b1 first, one that never had it, and a consumer at b1 and b2. */
    private final class Failover {
        private final RealClient client;
        private final String topic;
        private final Inbox inbox = new Inbox();
        private final Sender moving;
        private final Sender staying;
        private final AtomicBoolean killed = new AtomicBoolean();
        private final AtomicBoolean ended = new AtomicBoolean();
        /** By a broker that lives on. */
        private final Set<String> acknowledged = ConcurrentHashMap.newKeySet();

        private final List<String> errors = new CopyOnWriteArrayList<>();

        Failover(Library library) {
            topic = create(library.topic("failover"), 10_000, 1_000, "shape");
            client = open(library);
            client.receive(Manner.USUAL, at("b1", "b2"), topic, "work", inbox);
            moving = client.sender(Manner.USUAL, at("b1", "b2"));
            staying = client.sender(Manner.USUAL, at("b3"));
        }

        void publish(Sender sender, String name) {
            for (int i = 0; !ended.get(); i++) {
                boolean after = killed.get();
                String body = (after ? "after-" : "before-") + name + i;
                try {
                    sender.publish(topic, List.of(body));
                    if (after || sender == staying) {
                        acknowledged.add(body);
                    }
                } catch (IOException e) {
                    errors.add(e.getMessage());
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
            }
        }

        long promised(String name) {
            return acknowledged.stream().filter(each -> each.startsWith(name)).count();
        }
    }

    private void awaitAll(List<Failover> all, String what, Predicate<Failover> condition) {
        for (Failover each : all) {
            SupplyWatch.await(
                    each.client + ": " + what,
                    SOON,
                    () -> condition.test(each),
                    () -> each.inbox.bodies().size() + " came, " + each.acknowledged.size() + " acknowledged, "
                            + each.errors);
        }
    }

    private RealClient open(Library library) {
        RealClient client = library.opens.get();
        opened.add(client);
        return client;
    }

    private static String create(String topic, double rate, double burst, String mode) {
        topics("b1").create(topic, new TopicRequest(rate, burst, null, null, mode, null, null, null, null, null));
        awaitLimited(topic, rate);
        return topic;
    }

    private static void awaitLimited(String topic, double rate) {
        SupplyWatch.await(
                topic + " is limited",
                SOON,
                () -> topics("b1")
                        .describe(topic)
                        .filter(found -> found.done() && found.sumRate() == rate)
                        .isPresent(),
                () -> topics("b1").describe(topic));
    }

    private static List<String> bodies(int from, int to) {
        return IntStream.range(from, to).mapToObj(i -> "m" + i).toList();
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Endpoint> at(String... brokers) {
        return List.of(brokers).stream()
                .map(broker -> Endpoint.parse(cluster.line(broker).tcp()))
                .toList();
    }

    private static TopicClient topics(String broker) {
        return new TopicClient(cluster.http(broker), Optional.empty());
    }

    /** Over all brokers and topics. */
    private static double metric(String name) {
        return BROKERS.stream()
                .mapToDouble(broker -> topics(broker).metric(name).orElseThrow())
                .sum();
    }
}

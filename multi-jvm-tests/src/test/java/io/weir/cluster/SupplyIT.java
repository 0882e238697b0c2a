package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.Endpoint;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.simulation.ArrivalTrace;
import io.weir.limiter.simulation.TraceCsv;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.supervisor.cli.Weir;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits in a cluster of three broker JVMs on PostgreSQL: they follow demand, change, and outlive brokers. What is
 * asserted comes from what the gates recorded and the store holds, over the whole life of the cluster.
 */
@Measuring
@Timeout(180)
class SupplyIT {
    private static final Logger LOG = LoggerFactory.getLogger(SupplyIT.class);
    private static final Duration SOON = Duration.ofSeconds(60);
    /** For a machine that has other things to do; what is measured is reported. */
    private static final Duration SLACK = Duration.ofSeconds(6);

    /** W: after so long a watcher may fence. */
    private static final Duration WATCH = Duration.ofMillis(6_000 * 1_001 / 999 + 500);

    /**
     * What the best buddy of a broker with all of the demand keeps of a limit: f / (1 + f) at
     * {@code weir.supply.reserve} = 0.2.
     */
    private static final double RESERVED = 0.2 / 1.2;

    private static WatchedCluster watched;
    private static BrokerCluster cluster;
    private static SupplyWatch watch;

    private final Publishers load =
            new Publishers(broker -> Endpoint.parse(cluster.line(broker).tcp()));

    @BeforeAll
    static void start() throws IOException, SQLException {
        watched = WatchedCluster.start("supply", Map.of(), BrokerCluster.Builder::withKeeper);
        cluster = watched.brokers();
        watch = watched.watch();
    }

    @BeforeEach
    void allUp() {
        cluster.restartTheDead();
        cluster.awaitAllUp(SOON);
    }

    /** Whatever a test did, the whole history up to its end was allowed. */
    @AfterEach
    void nothingViolated() throws IOException, SQLException {
        load.close();
        watched.assertNothingViolated();
    }

    @AfterAll
    static void stop() throws SQLException {
        if (watched != null) {
            watched.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"gossip", "adaptor"})
    void shouldBringTheLimitToWhereTheDemandIs(String adapt) throws IOException {
        String topic = "skew-" + adapt;
        double there = adapt.equals("gossip") ? 1_000 - RESERVED * 1_000 : 1_000;
        create(topic, 1_000, 500, adapt);
        load.press("b1", topic, 2_000);
        Duration first =
                awaitShare(topic, "b1", 0.95 * there, Duration.ofSeconds(10).plus(SLACK));

        load.press("b1", topic, 0);
        load.press("b3", topic, 2_000);
        Duration moved =
                awaitShare(topic, "b3", 0.95 * there, Duration.ofSeconds(10).plus(SLACK));
        if (adapt.equals("gossip")) {
            awaitShare(
                    topic, "b1", 0.95 * RESERVED * 1_000, Duration.ofSeconds(10).plus(SLACK));
        }

        assertUsed(topic, 0.95 * 1_000, Duration.ofSeconds(3));
        LOG.info("{}: 95% of {}/s at b1 after {}, at b3 {} after demand moved", adapt, there, first, moved);
    }

    @Test
    void shouldAdmitTheLimitAndNoMoreAndDeliverAllOfItWhenFourClientsPushFourTimesAsMuch() throws Exception {
        try (FourClients clients = new FourClients(cluster, watch)) {
            clients.pushAndCheck();
        }
    }

    @Test
    void shouldRaiseAndLowerALimitUnderLoad() throws IOException {
        String topic = "changing";
        create(topic, 1_000, 500, "gossip");
        pressEverywhere(topic, 2_500);
        awaitSum(topic, 1_000, SLACK);

        long askedNs = System.nanoTime();
        watch.change(topics("b1"), topic, 2_000, 1_000, Duration.ofSeconds(5).plus(SLACK));
        Duration raised = Duration.ofNanos(System.nanoTime() - askedNs);
        awaitSum(topic, 2_000, SLACK);
        assertUsed(topic, 2_000, Duration.ofSeconds(2));

        askedNs = System.nanoTime();
        watch.change(topics("b2"), topic, 500, 250, Duration.ofSeconds(10).plus(SLACK));
        Duration lowered = Duration.ofNanos(System.nanoTime() - askedNs);
        awaitSum(topic, 500, SLACK);
        SupplyWatch.letPass(Duration.ofSeconds(2));
        List<Long> raises = new ArrayList<>(List.of(raised.toMillis()));
        List<Long> lowerings = new ArrayList<>(List.of(lowered.toMillis()));
        for (String asked : WatchedCluster.BROKERS) {
            for (double rate : List.of(2_000.0, 500.0)) {
                askedNs = System.nanoTime();
                watch.change(
                        topics(asked),
                        topic,
                        rate,
                        rate / 2,
                        Duration.ofSeconds(10).plus(SLACK));
                (rate > 1_000 ? raises : lowerings)
                        .add(Duration.ofNanos(System.nanoTime() - askedNs).toMillis());
            }
        }
        LOG.info("Limit: raised after {} ms, lowered after {} ms", raises, lowerings);
    }

    /** What the command records at three brokers is what their gates saw, and can be replayed. */
    @Test
    void shouldFindTheLimitThatALiveTopicNeedsFromWhatAllBrokersRecord(@TempDir Path dir) throws IOException {
        String topic = "profiled";
        create(topic, 3_000, 1_500, "gossip");
        pressEverywhere(topic, 300);
        awaitSum(topic, 3_000, SLACK);
        String file = dir.resolve("profiled.csv").toString();

        JsonNode found = weir("profile", "--live", topic, "--for", "5s", "--recording", file);
        ArrivalTrace trace = TraceCsv.readTrace(Path.of(file));
        assertThat(trace.brokers()).containsExactlyInAnyOrderElementsOf(WatchedCluster.BROKERS);
        assertThat(found.get("messages").asInt()).isEqualTo(trace.messages());
        for (String broker : WatchedCluster.BROKERS) {
            assertThat(found.at("/messagesAt/" + broker).asInt()).as(broker).isGreaterThan(100);
        }
        assertThat(found.at("/splits")).hasSize(3);
        assertThat(found.at("/splits/0/splitSeconds").asDouble())
                .as("b is such that 99% do not wait at one broker")
                .isZero();

        JsonNode tried = weir("what-if", topic, "--rate", "2000", "--burst", "300", "--recording", file);
        assertThat(tried.get("asRecorded").asBoolean()).isTrue();
        assertThat(tried.at("/rows")).hasSize(3);
        assertThat(tried.at("/rows/2/delayedFraction").asDouble())
                .as("twice the rate that came")
                .isLessThan(0.01);
        LOG.info("Profiled: {}", found);
    }

    private static JsonNode weir(String... args) throws IOException {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        List<String> line = new ArrayList<>(List.of("topic"));
        line.addAll(List.of(args));
        line.addAll(List.of("--http", cluster.http("b1").toString(), "-o", "json"));
        int code = Weir.commandLine()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(line.toArray(String[]::new));
        assertThat(code).as(err.toString()).isZero();
        return new ObjectMapper().readTree(out.toString());
    }

    @Test
    void shouldInheritFromAKilledBrokerAndLetItEarnItsShareAgain() throws IOException, SQLException {
        String topic = "inherited";
        create(topic, 900, 450, "gossip");
        pressEverywhere(topic, 1_500);
        awaitSum(topic, 900, SLACK);
        awaitShare(topic, "b2", 250, SLACK);

        Holder killed = watch.holder("b2");
        cluster.kill("b2");
        Duration whole = SupplyWatch.awaitInherited(
                topics("b1"), topic, "b2", 900, WATCH.plusSeconds(3).plus(SLACK));
        assertThat(watch.stored().leases())
                .as("whoever kept it saw it die; nobody waited for its lease, and nobody has started it again")
                .anyMatch(row -> row.holder().equals(killed) && row.state() == LeaseRow.State.STOPPED);
        assertThat(cluster.isAlive("b2")).isFalse();
        assertUsed(topic, 900, Duration.ofSeconds(4));

        cluster.restart("b2");
        load.press("b1", topic, 0);
        load.press("b3", topic, 0);
        load.press("b2", topic, 1_500);
        Duration earned = awaitShare(
                topic,
                "b2",
                0.95 * (900 - RESERVED * 900),
                Duration.ofSeconds(10).plus(SLACK));
        LOG.info(
                "kill -9 of a broker that is kept: whole on the others after {}; back, it had 95% of what it can get after {}",
                whole, earned);
    }

    /** C8 for so long from now on. */
    private static void assertUsed(String topic, double rate, Duration time) throws IOException {
        long fromNs = System.nanoTime();
        SupplyWatch.letPass(time);
        long toNs = System.nanoTime();
        assertThat(watch.admissions().used(new TopicName(topic), Limit.of(rate, 1), fromNs, toNs))
                .isEmpty();
    }

    /**
     * Bursts are half a second's worth where C8 is asserted: a gate's thread that gets no core for a tenth of one must
     * not look like a limit that is not used.
     */
    private void create(String topic, double rate, double burst, String adapt) {
        watch.create(topics("b1"), topic, rate, burst, adapt, 0);
    }

    private void pressEverywhere(String topic, double perSecond) {
        WatchedCluster.BROKERS.forEach(broker -> load.press(broker, topic, perSecond));
    }

    private static TopicClient topics(String broker) {
        return watched.topics(broker);
    }

    private static Duration awaitShare(String topic, String broker, double rate, Duration within) {
        return SupplyWatch.awaitShare(topics(broker), topic, broker, rate, within);
    }

    private static void awaitSum(String topic, double rate, Duration within) {
        SupplyWatch.await(
                "all of " + topic + " is " + rate + "/s",
                within,
                () -> topics("b1")
                        .describe(topic)
                        .filter(found -> found.sumRate() == rate)
                        .isPresent(),
                () -> topics("b1").describe(topic));
    }
}

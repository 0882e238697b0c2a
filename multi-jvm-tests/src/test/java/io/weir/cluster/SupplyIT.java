package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.cluster.history.AdmissionCheck;
import io.weir.config.Endpoint;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.AdmissionHistory.Admission;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.LeaseRow;
import io.weir.supervisor.node.TopicDescription;
import io.weir.supervisor.node.TopicDescription.BrokerShare;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits in a cluster of three broker JVMs on PostgreSQL: they follow demand, change, and outlive brokers. What is asserted comes from
 * what the gates recorded and the store holds, over the whole life of the cluster.
 */
@Timeout(180)
class SupplyIT {
    private static final Logger LOG = LoggerFactory.getLogger(SupplyIT.class);
    private static final Duration SOON = Duration.ofSeconds(60);
    /** For a machine that has other things to do; what is measured is reported. */
    private static final Duration SLACK = Duration.ofSeconds(6);

    private static final Duration LEASE = Duration.ofSeconds(6);
    /** W: after so long a watcher may fence. */
    private static final Duration WATCH = Duration.ofMillis(6_000 * 1_001 / 999 + 500);

    private static final List<String> BROKERS = List.of("b1", "b2", "b3");

    private static EmbeddedPostgres postgres;
    private static BrokerCluster cluster;
    private static SupplyWatch watch;

    private final Publishers load =
            new Publishers(broker -> Endpoint.parse(cluster.line(broker).tcp()));
    private final List<String> pressed = new ArrayList<>();

    @BeforeAll
    static void start() throws IOException, SQLException {
        Path directory = BuiltDistribution.directory("supply");
        Path history = directory.resolve("history");
        postgres = EmbeddedPostgres.builder().start();
        String store = postgres.getJdbcUrl("postgres", "postgres");
        cluster = BrokerCluster.of(3)
                .from(BuiltDistribution.installation())
                .in(directory)
                .withStore(store)
                .withEnvironment(Map.of("WEIR_SUPPLY_HISTORY", history.toString()))
                .start();
        watch = new SupplyWatch(history, store);
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
        watch.assertNothingViolated();
        for (String broker : BROKERS) {
            assertThat(topics(broker).metric("weir_supply_violations_total").orElse(0.0))
                    .isZero();
        }
    }

    @AfterAll
    static void stop() throws IOException, SQLException {
        try (EmbeddedPostgres last = postgres;
                BrokerCluster second = cluster;
                SupplyWatch first = watch) {
            assertThat(first).isNotNull();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"gossip", "adaptor"})
    void shouldBringTheLimitToWhereTheDemandIs(String adapt) throws IOException {
        String topic = "skew-" + adapt;
        create(topic, 1_000, 500, adapt);
        load.press("b1", topic, 2_000);
        Duration there = awaitShare(topic, "b1", 950, Duration.ofSeconds(10).plus(SLACK));

        load.press("b1", topic, 0);
        load.press("b3", topic, 2_000);
        Duration moved = awaitShare(topic, "b3", 950, Duration.ofSeconds(10).plus(SLACK));

        assertUsed(topic, 0.95 * 1_000, Duration.ofSeconds(3));
        LOG.info("{}: 95% of r at b1 after {}, at b3 {} after demand moved", adapt, there, moved);
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
        LOG.info("Limit: raised after {}, lowered after {}", raised, lowered);
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
        Duration whole = SupplyWatch.await(
                "the others have all of " + topic,
                WATCH.plusSeconds(3).plus(SLACK),
                () -> topics("b1")
                        .describe(topic)
                        .filter(found -> shareOf(found, "b2").isEmpty() && found.sumRate() == 900)
                        .isPresent(),
                () -> topics("b1").describe(topic));
        assertUsed(topic, 900, Duration.ofSeconds(4));

        cluster.restart("b2");
        assertThat(watch.stored().leases())
                .as("the lock of its directory proves that the killed process is over")
                .anyMatch(row -> row.holder().equals(killed) && row.state() == LeaseRow.State.STOPPED);
        load.press("b1", topic, 0);
        load.press("b3", topic, 0);
        load.press("b2", topic, 1_500);
        Duration earned = awaitShare(topic, "b2", 855, Duration.ofSeconds(10).plus(SLACK));
        LOG.info("kill -9: whole on the others after {}; back, it had 95% of r after {}", whole, earned);
    }

    @Test
    void shouldAdmitNothingPastTheLeaseWhenABrokerWasStoppedForThirtySeconds() throws IOException, SQLException {
        String topic = "paused";
        create(topic, 900, 90, "gossip");
        pressEverywhere(topic, 1_500);
        awaitShare(topic, "b3", 250, SLACK);
        Holder before = watch.holder("b3");

        cluster.pause("b3");
        long pausedNs = System.nanoTime();
        Map<TopicName, Long> passed = countOf(before);
        Duration whole;
        try {
            whole = SupplyWatch.await(
                    "the others have all of " + topic,
                    WATCH.plusSeconds(3).plus(SLACK),
                    () -> topics("b1")
                            .describe(topic)
                            .filter(found -> shareOf(found, "b3").isEmpty() && found.sumRate() == 900)
                            .isPresent(),
                    () -> topics("b1").describe(topic));
            SupplyWatch.letPass(Duration.ofSeconds(30).minusNanos(System.nanoTime() - pausedNs));
        } finally {
            cluster.resume("b3");
        }

        Duration back = SupplyWatch.await(
                "b3 holds supply in a new life",
                SOON,
                () -> topics("b1")
                        .describe(topic)
                        .filter(found -> shareOf(found, "b3")
                                        .filter(share -> share.rate() > 200)
                                        .isPresent()
                                && found.sumRate() == 900)
                        .isPresent(),
                () -> topics("b1").describe(topic));
        assertThat(watch.holder("b3").incarnation()).isGreaterThan(before.incarnation());
        countOf(before).forEach((name, count) -> assertThat(count - passed.getOrDefault(name, 0L))
                .as("messages of %s that passed the gate after the pause", name)
                .isLessThanOrEqualTo(1));
        assertThat(admissionsOf(before))
                .allSatisfy(each -> assertThat(each.stampNs()).isLessThan(pausedNs + LEASE.toNanos()));
        LOG.info("SIGSTOP: whole on the others after {}; 200/s in its new life {} after SIGCONT", whole, back);
    }

    /** C8 for so long from now on. */
    private static void assertUsed(String topic, double rate, Duration time) throws IOException {
        long fromNs = System.nanoTime();
        SupplyWatch.letPass(time);
        long toNs = System.nanoTime();
        assertThat(watch.admissions().used(new TopicName(topic), Limit.of(rate, 1), fromNs, toNs))
                .isEmpty();
    }

    private List<Admission> admissionsOf(Holder holder) throws IOException {
        AdmissionCheck all = watch.admissions();
        return pressed.stream()
                .flatMap(topic -> all.of(new TopicName(topic)).stream())
                .filter(each -> each.broker().equals(holder.broker()) && each.incarnation() == holder.incarnation())
                .toList();
    }

    private Map<TopicName, Long> countOf(Holder holder) throws IOException {
        return admissionsOf(holder).stream().collect(Collectors.groupingBy(Admission::topic, Collectors.counting()));
    }

    /**
     * Bursts are half a second's worth where C8 is asserted: a gate's thread that gets no core for a tenth of one must not look
     * like a limit that is not used.
     */
    private void create(String topic, double rate, double burst, String adapt) {
        watch.create(topics("b1"), topic, rate, burst, adapt, 0);
        pressed.add(topic);
    }

    private void pressEverywhere(String topic, double perSecond) {
        BROKERS.forEach(broker -> load.press(broker, topic, perSecond));
    }

    private static TopicClient topics(String broker) {
        return new TopicClient(cluster.http(broker), Optional.empty());
    }

    private static Optional<BrokerShare> shareOf(TopicDescription topic, String broker) {
        return topic.shares().stream()
                .filter(share -> share.broker().equals(broker))
                .findFirst();
    }

    private static Duration awaitShare(String topic, String broker, double rate, Duration within) {
        return SupplyWatch.await(
                broker + " has " + rate + "/s of " + topic,
                within,
                () -> topics(broker)
                        .describe(topic)
                        .flatMap(found -> shareOf(found, broker))
                        .filter(share -> share.rate() >= rate)
                        .isPresent(),
                () -> topics(broker).describe(topic));
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

package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.cluster.failpoints.BrokenRule;
import io.weir.cluster.failpoints.CrashPoint;
import io.weir.cluster.failpoints.Sabotage;
import io.weir.cluster.history.AdmissionCheck;
import io.weir.cluster.history.LimitCourse;
import io.weir.cluster.history.StoredSupply;
import io.weir.cluster.history.SupplyAudit;
import io.weir.cluster.history.Violation;
import io.weir.config.Endpoint;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.actor.Failpoints.Step;
import io.weir.limiter.supply.gate.AdmissionHistory;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import io.weir.supervisor.local.LocalClusterException;
import io.weir.supervisor.node.TopicRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brokers that break a rule on purpose, in a real cluster, and the checkers that notice it. Whoever trusts "no
 * violation" wants to have seen one. Ordered, since what breaks the books stays in them: first the rules that only the
 * gates can break.
 */
@Measuring
@Tag("chaos")
@Timeout(120)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class FailpointsIT {
    private static final Logger LOG = LoggerFactory.getLogger(FailpointsIT.class);
    private static final Duration SOON = Duration.ofSeconds(40);
    private static final String LEASE = "4s";

    private static WatchedCluster watched;
    private static BrokerCluster cluster;
    private static SupplyWatch watch;

    private final Publishers load =
            new Publishers(broker -> Endpoint.parse(cluster.line(broker).tcp()));
    private LimitCourse course;

    @BeforeAll
    static void start() throws IOException, SQLException {
        watched = WatchedCluster.start(
                "failpoints",
                Map.of("WEIR_SUPPLY_LEASE", LEASE),
                builder -> builder.withSabotage(Sabotage.NONE.breaking(BrokenRule.HEIR_STARTS_FULL)));
        cluster = watched.brokers();
        watch = watched.watch();
    }

    @AfterEach
    void quiet() {
        load.close();
    }

    @AfterAll
    static void stop() throws SQLException {
        if (watched != null) {
            watched.close();
        }
    }

    @Test
    @Order(1)
    void shouldNotBeReachableInABrokerThatWasStartedAsUsual() throws IOException {
        Path lib = BuiltDistribution.installation().home().resolve("lib");
        try (Stream<Path> jars = Files.list(lib)) {
            for (Path jar :
                    jars.filter(file -> file.toString().endsWith(".jar")).toList()) {
                try (JarFile open = new JarFile(jar.toFile())) {
                    assertThat(open.stream().map(entry -> entry.getName()))
                            .as("%s", jar)
                            .noneMatch(name -> name.startsWith("io/weir/cluster/failpoints/armed")
                                    || name.equals("META-INF/services/io.weir.limiter.supply.actor.Failpoints"));
                }
            }
        }
        Sabotage deadly = Sabotage.NONE
                .crashingAt(CrashPoint.nth(Step.AFTER_REGISTER, 1))
                .crashingAt(CrashPoint.nth(Step.AFTER_RECOVER, 1))
                .breaking(BrokenRule.NO_LEASE_CHECK)
                .withClockRate(2);
        BrokerCluster.Builder one = BrokerCluster.of(1)
                .from(BuiltDistribution.installation())
                .in(BuiltDistribution.directory("no-failpoints"));
        try (BrokerCluster usual = one.withEnvironment(deadly.environment()).start()) {
            usual.awaitAllUp(SOON);
            assertThat(usual.log("b1")).content().doesNotContainIgnoringCase("failpoint");
        }
        // The same with the jar: it dies before it is ready, and has said why.
        Path log =
                BuiltDistribution.directory("with-failpoints").resolve("logs").resolve("b1.log");
        assertThatThrownBy(() -> one.in(BuiltDistribution.directory("with-failpoints"))
                        .withSabotage(deadly)
                        .start())
                .isInstanceOf(LocalClusterException.class)
                .hasMessageContaining("b1 ended while starting");
        assertThat(log)
                .content()
                .contains("FAILPOINTS are on the class path")
                .contains("WEIR_FAILPOINT_CLOCK_RATE=2.0")
                .contains("Failpoint after-register:n=1: this process ends here");
    }

    /**
     * b/r is thirty seconds: what the heir has too much is far more than what nobody used while the dead broker's lease
     * ran out.
     */
    @Test
    @Order(2)
    void shouldCatchAnHeirThatStartsFull() {
        String topic = "heir-starts-full";
        create(topic, 300, 9_000, "static");
        WatchedCluster.BROKERS.forEach(broker -> load.press(broker, topic, 1_500));
        awaitShare(topic, "b2", 90);
        SupplyWatch.await(
                "the burst is used up",
                SOON,
                () -> admissions().of(new TopicName(topic)).size() > 9_200,
                () -> admissions().of(new TopicName(topic)).size());
        assertThat(admissions().hardBound(new TopicName(topic), course)).isEmpty();

        cluster.kill("b2");
        Violation found = awaitViolation(() -> admissions().hardBound(new TopicName(topic), course));

        assertThat(found.invariant()).isEqualTo("C1");
        assertThat(admissions().leases()).isEmpty();
    }

    @Test
    @Order(3)
    void shouldKeepTheBooksWhenABrokerDiesAtAStepOfTheProtocol() throws SQLException {
        comeBack("b2", Sabotage.NONE.crashingAt(CrashPoint.nth(Step.AFTER_DEBIT, 1)));
        String topic = "dies";
        create(topic, 900, 90, "gossip");
        load.press("b1", topic, 1_500);
        SupplyWatch.await("b2 has died", SOON, () -> !cluster.isAlive("b2"), () -> cluster.status());
        assertThat(cluster.log("b2"))
                .content()
                .contains(
                        "Failpoint after-debit:n=1: this process ends here, where Debited is stored, nothing is sent");

        // For the next test.
        comeBack("b2", Sabotage.NONE.breaking(BrokenRule.NO_LEASE_CHECK));
        SupplyWatch.await(
                "nothing is left behind",
                SOON,
                () -> SupplyAudit.unsettled(stored()).isEmpty(),
                () -> SupplyAudit.unsettled(stored()));
        assertThat(SupplyAudit.of(watch.stored())).isEmpty();
    }

    /**
     * While the store is away nobody renews: the two that keep the rule stop, which shows that the third one's going on
     * is its own fault.
     */
    @Test
    @Order(4)
    void shouldCatchAGateThatDoesNotAskForItsLease() throws SQLException {
        String topic = "no-lease-check";
        create(topic, 900, 450, "static");
        WatchedCluster.BROKERS.forEach(broker -> load.press(broker, topic, 1_500));
        awaitShare(topic, "b2", 250);
        SupplyWatch.await(
                "every broker admits",
                SOON,
                () -> brokersOf(admissions().of(new TopicName(topic))).equals(Set.copyOf(WatchedCluster.BROKERS)),
                () -> brokersOf(admissions().of(new TopicName(topic))));
        assertThat(admissions().leases()).isEmpty();

        List<ProcessHandle> store = storeProcesses();
        signal("STOP", store);
        try {
            assertThat(awaitViolation(() -> admissions().leases().stream().findFirst())
                            .invariant())
                    .isEqualTo("C4");
        } finally {
            signal("CONT", store);
        }
        assertThat(brokersOf(admissions().of(new TopicName(topic)).stream()
                        .filter(each -> each.leaseLeftNs() <= 0)
                        .toList()))
                .containsExactly("b2");
        assertThat(SupplyAudit.of(watch.stored())).as("its books are right").isEmpty();
    }

    private static Set<String> brokersOf(List<Admission> admissions) {
        return admissions.stream().map(each -> each.broker().value()).collect(Collectors.toSet());
    }

    /** PostgreSQL's first process and all that serve connections. */
    private static List<ProcessHandle> storeProcesses() throws SQLException {
        try (Connection connection = DriverManager.getConnection(watched.storeUrl());
                ResultSet pid = connection.createStatement().executeQuery("SELECT pg_backend_pid()")) {
            pid.next();
            ProcessHandle first = ProcessHandle.of(pid.getLong(1))
                    .flatMap(ProcessHandle::parent)
                    .orElseThrow();
            return Stream.concat(Stream.of(first), first.children()).toList();
        }
    }

    /** One that has ended meanwhile is no matter. */
    private static void signal(String signal, List<ProcessHandle> processes) {
        List<String> command = new ArrayList<>(List.of("kill", "-" + signal));
        processes.forEach(process -> command.add(Long.toString(process.pid())));
        try {
            new ProcessBuilder(command).inheritIO().start().waitFor();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /**
     * One broker alone, so that nothing but its clock makes a difference; its own stamps would say that all is well.
     */
    @Test
    @Order(5)
    void shouldCatchAFastClockThatRefillDoesNotAllowForAndNoneThatItDoes() {
        Path directory = BuiltDistribution.directory("fast-clock");
        Path history = directory.resolve("history");
        Sabotage fast = Sabotage.NONE.withClockRate(1.0009);
        try (BrokerCluster one = BrokerCluster.of(1)
                .from(BuiltDistribution.installation())
                .in(directory)
                .withEnvironment(Map.of("WEIR_SUPPLY_HISTORY", history.toString()))
                .withSabotage(fast)
                .start()) {
            assertThat(excessAlone(one, history, "within-drift")).isEmpty();
            one.kill("b1");
            one.restart(
                    "b1", fast.breaking(BrokenRule.NO_DRIFT_DEFLATION).crashingAt(CrashPoint.nth(Step.AFTER_STOP, 1)));
            assertThat(excessAlone(one, history, "not-deflated"))
                    .get()
                    .satisfies(found -> LOG.info("Caught: {}", found))
                    .extracting(Violation::invariant)
                    .isEqualTo("C1");
            one.stop("b1");
        }
        assertThat(directory.resolve("logs").resolve("b1.log"))
                .as("how it ended when it was asked to stop")
                .content()
                .contains("Failpoint after-stop:n=1: this process ends here, where the row is STOPPED");
    }

    /** Uses a burst up and then all of the rate for a few seconds. */
    private static Optional<Violation> excessAlone(BrokerCluster one, Path history, String topic) {
        LimitCourse allowed = new LimitCourse(Limit.of(2_000, 1_000), System.nanoTime());
        new TopicClient(one.http("b1"), Optional.empty())
                .create(topic, TopicRequest.limit(2_000.0, 1_000.0, "static", 0.0));
        try (Publishers pressing =
                new Publishers(broker -> Endpoint.parse(one.line(broker).tcp()))) {
            pressing.press("b1", topic, 4_000);
            SupplyWatch.await(
                    "the burst and four seconds of the rate are used",
                    SOON,
                    () -> read(history).of(new TopicName(topic)).size() > 9_000,
                    () -> read(history).of(new TopicName(topic)).size());
        }
        return read(history).hardBound(new TopicName(topic), allowed);
    }

    private static AdmissionCheck read(Path history) {
        try {
            return new AdmissionCheck(AdmissionHistory.read(history));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    @Order(6)
    void shouldCatchATransferThatIsCreditedTwice() throws SQLException {
        assertThat(SupplyAudit.of(watch.stored())).isEmpty();
        cluster.kill("b3");
        comeBack("b3", Sabotage.NONE.breaking(BrokenRule.CREDIT_TWICE));
        create("credited-twice", 900, 90, "static");

        awaitViolation(() -> SupplyAudit.of(stored()).stream()
                .filter(each -> each.invariant().equals("C3"))
                .findFirst());
    }

    /**
     * Once its former life is no member any more. One that is back sooner was seen to hold its share and to wait for
     * its shards' home all the same, so that it admitted nothing: that is for another test than these.
     */
    private static void comeBack(String broker, Sabotage sabotage) {
        cluster.await(broker + " has left the cluster", SOON, () -> cluster.status("b1").members().stream()
                .noneMatch(member -> member.id().equals(broker)));
        cluster.restart(broker, sabotage);
    }

    private void create(String topic, double rate, double burst, String adapt) {
        course = new LimitCourse(Limit.of(rate, burst), System.nanoTime());
        watch.create(topics("b1"), topic, rate, burst, adapt, 0);
    }

    private static void awaitShare(String topic, String broker, double rate) {
        SupplyWatch.awaitShare(topics("b1"), topic, broker, rate, SOON);
    }

    private interface Search {
        Optional<Violation> found();
    }

    private static Violation awaitViolation(Search search) {
        SupplyWatch.await(
                "the checker finds a violation", SOON, () -> search.found().isPresent(), () -> "it finds none");
        Violation found = search.found().orElseThrow();
        LOG.info("Caught: {}", found);
        return found;
    }

    private static AdmissionCheck admissions() {
        try {
            return watch.admissions();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static StoredSupply stored() {
        try {
            return watch.stored();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static TopicClient topics(String broker) {
        return watched.topics(broker);
    }
}

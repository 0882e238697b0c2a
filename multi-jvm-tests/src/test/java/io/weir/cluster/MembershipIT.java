package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.Endpoint;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import io.weir.limiter.supply.value.Holder;
import io.weir.supervisor.local.ClusterStatus;
import io.weir.supervisor.node.TopicDescription.BrokerShare;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Three broker JVMs on PostgreSQL: who is a member, and what becomes of the supply of one that stands still. One
 * cluster for all tests: each begins with every broker up.
 */
@SideBySide
@Timeout(180)
class MembershipIT {
    private static final Logger LOG = LoggerFactory.getLogger(MembershipIT.class);
    private static final Duration SOON = Duration.ofSeconds(60);
    private static final Duration STOPPED_FOR = Duration.ofSeconds(30);
    private static final Duration LEASE = Duration.ofSeconds(6);

    private static WatchedCluster watched;
    private static BrokerCluster cluster;
    private static SupplyWatch watch;

    @BeforeAll
    static void start() throws IOException, SQLException {
        watched = WatchedCluster.start("membership", Map.of(), builder -> builder);
        cluster = watched.brokers();
        watch = watched.watch();
    }

    @BeforeEach
    void allUp() {
        cluster.restartTheDead();
        cluster.awaitAllUp(SOON);
    }

    @AfterAll
    static void stop() throws SQLException {
        if (watched != null) {
            watched.close();
        }
    }

    @Test
    void shouldFormOneClusterWhenThreeBrokersStartAtOnce() {
        ClusterStatus status = cluster.status();

        assertThat(status.allUp()).isTrue();
        assertThat(status.leader()).isNotNull();
        assertThat(status.singletonHost()).isNotNull();
        for (String id : new String[] {"b1", "b2", "b3"}) {
            assertThat(cluster.status(id).members())
                    .as("members as %s sees them", id)
                    .hasSize(3);
            assertThat(cluster.status(id).leader()).isEqualTo(status.leader());
            assertThat(cluster.status(id).mediaDriver()).isEqualTo("active");
        }
    }

    @Test
    void shouldRemoveAKilledBrokerAndTakeItBackAsANewIncarnation() {
        long before = cluster.line("b3").incarnation();

        cluster.kill("b3");
        cluster.awaitState("b3", "gone", SOON);
        assertThat(cluster.status("b1").members()).hasSize(2);

        cluster.restart("b3");
        cluster.awaitAllUp(SOON);
        assertThat(cluster.line("b3").incarnation()).isGreaterThan(before);
        assertThat(cluster.status("b3").rejoins()).isZero();
    }

    /**
     * A clock that is read late is what leases are for: nothing passes on supply that the others have meanwhile, before
     * or after it is back.
     */
    @Test
    void shouldAdmitNothingPastTheLeaseAndRejoinWithoutHelpWhenABrokerWasStoppedForThirtySeconds()
            throws IOException, SQLException {
        String topic = "paused";
        watch.create(topics("b1"), topic, 900, 90, "gossip", 0);
        try (Publishers load =
                new Publishers(broker -> Endpoint.parse(cluster.line(broker).tcp()))) {
            WatchedCluster.BROKERS.forEach(broker -> load.press(broker, topic, 1_500));
            // At b1, which so has heard what b2 has.
            SupplyWatch.awaitShare(topics("b1"), topic, "b2", 250, SOON);
            long pid = cluster.pid("b2");
            Holder before = watch.holder("b2");

            cluster.pause("b2");
            long pausedNs = System.nanoTime();
            int passed = watch.admissionsOf(topic, before).size();
            Duration whole;
            try {
                BrokerShare silent = SupplyWatch.shareOf(
                                topics("b1").describe(topic).orElseThrow(), "b2")
                        .orElseThrow();
                assertThat(silent.state())
                        .as("what is said of one that does not answer")
                        .isEqualTo("silent");
                assertThat(silent.ageMs()).isNotNull();
                whole = SupplyWatch.awaitInherited(topics("b1"), topic, "b2", 900, STOPPED_FOR);
                cluster.awaitState("b2", "gone", STOPPED_FOR);
                SupplyWatch.letPass(STOPPED_FOR.minusNanos(System.nanoTime() - pausedNs));
            } finally {
                cluster.resume("b2");
            }

            cluster.awaitBroker(
                    "b2",
                    "has joined again",
                    SOON,
                    status -> status.rejoins() == 1 && status.state().equals("up"));
            cluster.awaitAllUp(SOON);
            assertThat(cluster.status("b2").pid()).as("the same process").isEqualTo(pid);
            assertThat(cluster.line("b2").incarnation()).isGreaterThan(before.incarnation());
            assertThat(cluster.status("b1").members()).hasSize(3);
            Duration back = SupplyWatch.await(
                    "b2 holds supply in a new life",
                    SOON,
                    () -> topics("b1")
                            .describe(topic)
                            .filter(found -> SupplyWatch.shareOf(found, "b2")
                                            .filter(share -> share.rate() > 200)
                                            .isPresent()
                                    && found.sumRate() == 900)
                            .isPresent(),
                    () -> topics("b1").describe(topic));
            assertThat(watch.holder("b2").incarnation()).isGreaterThan(before.incarnation());
            List<Admission> old = watch.admissionsOf(topic, before);
            assertThat(old.size() - passed)
                    .as("messages that passed the gate after the pause")
                    .isLessThanOrEqualTo(1);
            assertThat(old).allSatisfy(each -> assertThat(each.stampNs()).isLessThan(pausedNs + LEASE.toNanos()));
            LOG.info("SIGSTOP: whole on the others after {}; 200/s in its new life {} after it was up", whole, back);
        }
        watched.assertNothingViolated();
    }

    private static TopicClient topics(String broker) {
        return watched.topics(broker);
    }
}

package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.local.ClusterStatus;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Three broker JVMs on PostgreSQL. One cluster for all tests: each begins with every broker up. */
@Tag("side-by-side")
@Timeout(180)
class MembershipIT {
    private static final Duration SOON = Duration.ofSeconds(60);

    private static EmbeddedPostgres postgres;
    private static BrokerCluster cluster;

    @BeforeAll
    static void start() throws IOException {
        postgres = EmbeddedPostgres.builder().start();
        cluster = BrokerCluster.of(3)
                .from(BuiltDistribution.installation())
                .in(BuiltDistribution.directory("membership"))
                .withStore(postgres.getJdbcUrl("postgres", "postgres"))
                .start();
    }

    @BeforeEach
    void allUp() {
        cluster.restartTheDead();
        cluster.awaitAllUp(SOON);
    }

    @AfterAll
    static void stop() throws IOException {
        try (EmbeddedPostgres last = postgres;
                BrokerCluster first = cluster) {
            assertThat(first).isNotNull();
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

    @Test
    void shouldRejoinWithoutHelpWhenABrokerWasStoppedForThirtySecondsAndTakenDown() {
        long pid = cluster.pid("b2");
        long before = cluster.line("b2").incarnation();

        long resumeAtNs = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        cluster.pause("b2");
        cluster.awaitState("b2", "gone", Duration.ofSeconds(30));
        cluster.await("30 s have passed", Duration.ofSeconds(31), () -> System.nanoTime() - resumeAtNs > 0);
        cluster.resume("b2");

        cluster.awaitBroker(
                "b2",
                "has joined again",
                SOON,
                status -> status.rejoins() == 1 && status.state().equals("up"));
        cluster.awaitAllUp(SOON);
        assertThat(cluster.status("b2").pid()).as("the same process").isEqualTo(pid);
        assertThat(cluster.line("b2").incarnation()).isGreaterThan(before);
        assertThat(cluster.status("b1").members()).hasSize(3);
    }
}

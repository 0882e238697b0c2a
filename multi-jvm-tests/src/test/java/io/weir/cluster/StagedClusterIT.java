package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.cluster.stage.Network.Direction;
import io.weir.cluster.stage.Network.Traffic;
import io.weir.cluster.stage.Stage;
import io.weir.cluster.stage.StagedCluster;
import io.weir.supervisor.node.BrokerStatus;
import io.weir.supervisor.node.TopicRequest;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every lever of a cluster on a stage, pulled once, on the embedded store. */
@Measuring
@Tag("chaos")
@Timeout(170)
class StagedClusterIT {
    private static final Duration SOON = Duration.ofSeconds(60);

    @Test
    void shouldObeyEveryLever() throws IOException, SQLException {
        Optional<String> obstacle = Stage.obstacle();
        assumeTrue(obstacle.isEmpty(), obstacle.orElse(""));
        try (Stage stage = Stage.of(List.of("b1", "b2", "b3", StagedCluster.STORE));
                StagedCluster cluster = StagedCluster.on(stage)
                        .from(BuiltDistribution.installation())
                        .in(BuiltDistribution.emptyDirectory("levers"))
                        .brokers(List.of("b1", "b2"))
                        .withStoreDisk(96)
                        .build()) {
            cluster.start();
            await(cluster, "both are ready", cluster::allReady);
            assertThat(members(cluster, "b1")).isEqualTo(Map.of("b1", "up", "b2", "up"));

            mediaDrivers(cluster);
            nothingPassesACut(stage, cluster);
            brokers(cluster);
            store(cluster);
            membership(cluster);
        }
    }

    private static void mediaDrivers(StagedCluster cluster) {
        await(cluster, "b1 has its driver", () -> mediaDriver(cluster, "b1").equals("active"));
        cluster.killMediaDriver("b1");
        await(cluster, "b1 misses its driver", () -> mediaDriver(cluster, "b1").equals("absent"));
        assertThat(mediaDriver(cluster, "b2")).as("b2 has another one").isEqualTo("active");
        cluster.startMediaDriver("b1");
        await(cluster, "b1 has a driver again", () -> mediaDriver(cluster, "b1").equals("active"));
    }

    /** Cluster, store, HTTP between brokers, and the links, which could have used shared memory if they had any. */
    private static void nothingPassesACut(Stage stage, StagedCluster cluster) {
        cluster.topics("b1").create("cut", TopicRequest.limit(1_000.0, 100.0, "gossip", 0.5));
        cluster.publish("b1", "cut", 200);
        awaitPassed(stage, 200);
        stage.network().isolate("b1");
        Traffic before = around(stage, "b1");
        await(cluster, "many frames are stopped", () -> around(stage, "b1").cut() > before.cut() + 100);
        assertThat(cluster.status("b1")).as("who watches can ask it").isPresent();
        assertThat(around(stage, "b1").passed()).isEqualTo(before.passed());
        assertThat(sharedMemoryOf(stage, cluster, "b1")).isEqualTo("/dev/shm/aeron-b1");
        assertThat(sharedMemoryOf(stage, cluster, "b2")).isEqualTo("/dev/shm/aeron-b2");
        stage.network().heal();
        await(cluster, "both are ready after the heal", cluster::allReady);
    }

    private static void awaitPassed(Stage stage, long frames) {
        Traffic before = around(stage, "b1");
        SupplyWatch.await(
                frames + " frames pass",
                SOON,
                () -> around(stage, "b1").passed() > before.passed() + frames,
                () -> around(stage, "b1"));
    }

    private static String sharedMemoryOf(Stage stage, StagedCluster cluster, String id) {
        return stage.sharedMemoryOf(cluster.broker(id)).stream()
                .map(file -> file.replaceAll("^(/dev/shm/[^/]+)/.*", "$1"))
                .distinct()
                .collect(Collectors.joining(" "));
    }

    private static void brokers(StagedCluster cluster) {
        cluster.pause("b2");
        assertThat(cluster.isPaused("b2")).isTrue();
        assertThat(cluster.status("b2")).as("it stands still").isEmpty();
        cluster.resume("b2");
        await(cluster, "b2 answers again", () -> cluster.status("b2").isPresent());
        if (cluster.cpuObstacle().isEmpty()) {
            cluster.cpuQuota("b2", 30);
            assertThat(cluster.status("b2")).isPresent();
            cluster.noCpuQuota("b2");
        }
        long incarnation = cluster.status("b2").orElseThrow().incarnation();
        cluster.kill("b2");
        assertThat(cluster.isAlive("b2")).isFalse();
        assertThatThrownBy(() -> cluster.pause("b2")).hasMessageContaining("b2 does not run");
        cluster.start("b2", Map.of("WEIR_TCP_MAX_CONNECTIONS", "77"), List.of());
        await(
                cluster,
                "b2 is a new life",
                () -> cluster.isReady("b2")
                        && cluster.status("b2").orElseThrow().incarnation() > incarnation);
    }

    private static void store(StagedCluster cluster) throws SQLException {
        assertThat(storeAnswers(cluster)).isTrue();
        cluster.fillStoreDisk();
        assertThat(cluster.storeDiskFreeBytes()).isZero();
        cluster.freeStoreDisk();
        assertThat(cluster.storeDiskFreeBytes()).isPositive();
        cluster.killStore();
        assertThat(cluster.isStoreAlive()).isFalse();
        cluster.startStore();
        await(cluster, "the store answers again", () -> storeAnswers(cluster));
        // Its children serve: they must stand still with it.
        try (Connection open = DriverManager.getConnection(cluster.storeUrl() + "&socketTimeout=1")) {
            cluster.pauseStore();
            assertThatThrownBy(() -> open.createStatement().execute("SELECT 1"))
                    .hasRootCauseInstanceOf(SocketTimeoutException.class);
            cluster.resumeStore();
        }
        await(cluster, "both are ready on the new store", cluster::allReady);
    }

    private static boolean storeAnswers(StagedCluster cluster) {
        try (Connection connection = DriverManager.getConnection(cluster.storeUrl())) {
            return connection.isValid(2);
        } catch (SQLException e) {
            return false;
        }
    }

    private static void membership(StagedCluster cluster) {
        cluster.join("b3");
        await(
                cluster,
                "b3 is a member",
                () -> "up".equals(members(cluster, "b1").get("b3")) && cluster.isReady("b3"));
        cluster.leave("b3");
        await(cluster, "b3 is no member", () -> !members(cluster, "b1").containsKey("b3"));
        assertThat(cluster.ids()).containsExactly("b1", "b2");
    }

    private static Map<String, String> members(StagedCluster cluster, String at) {
        return cluster.status(at).stream()
                .flatMap(status -> status.members().stream())
                .collect(Collectors.toMap(member -> member.id(), member -> member.state(), (one, other) -> other));
    }

    private static String mediaDriver(StagedCluster cluster, String id) {
        return cluster.status(id).map(BrokerStatus::mediaDriver).orElse("?");
    }

    private static Traffic around(Stage stage, String host) {
        List<Traffic> all = stage.network().traffic().entrySet().stream()
                .filter(entry -> touches(entry.getKey(), host))
                .map(Map.Entry::getValue)
                .toList();
        return new Traffic(
                all.stream().mapToLong(Traffic::passed).sum(),
                all.stream().mapToLong(Traffic::cut).sum(),
                0,
                0,
                0,
                0,
                0);
    }

    private static boolean touches(Direction direction, String host) {
        return direction.from().equals(host) || direction.to().equals(host);
    }

    private static void await(StagedCluster cluster, String what, BooleanSupplier condition) {
        SupplyWatch.await(what, SOON, condition, () -> "see " + cluster.log("*"));
    }
}

package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.cluster.stage.Stage;
import io.weir.cluster.stage.StagedCluster;
import io.weir.cluster.stage.StagedProcess;
import io.weir.supervisor.local.Installation;
import io.weir.supervisor.node.TopicRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Brokers on hosts of their own: control messages by TLS, messages on sealed links. */
@Timeout(300)
@SideBySide
class SealedClusterIT {
    private static final Duration SOON = Duration.ofSeconds(90);

    @Test
    void shouldCarryMessagesBetweenHostsAndTakeARestartedBrokerBack() throws IOException {
        Optional<String> obstacle = Stage.obstacle();
        assumeTrue(obstacle.isEmpty(), obstacle.orElse(""));
        Installation installation = BuiltDistribution.installation();
        try (Stage stage = Stage.of(List.of("b1", "b2", StagedCluster.STORE));
                StagedCluster cluster = StagedCluster.on(stage)
                        .from(installation)
                        .in(BuiltDistribution.emptyDirectory("sealed"))
                        .brokers(List.of("b1", "b2"))
                        .build()) {
            cluster.start();
            SupplyWatch.await("both are ready", SOON, cluster::allReady, () -> "see " + cluster.log("*"));
            cluster.topics("b1").create("orders", TopicRequest.limit(1_000.0, 100.0, "gossip", 0.5));
            cluster.publish("b1", "orders", 20);

            consumeAtB2(stage, cluster, installation, "first");
            cluster.kill("b2");
            cluster.start("b2");
            SupplyWatch.await("b2 is back", SOON, cluster::allReady, () -> "see " + cluster.log("*"));
            consumeAtB2(stage, cluster, installation, "again");
        }
    }

    /** What is published at b1 comes to a consumer at b2: there is no other way than the link. */
    private static void consumeAtB2(Stage stage, StagedCluster cluster, Installation installation, String name)
            throws IOException {
        Path log = cluster.log("consumer-" + name);
        List<String> command = installation.command(
                "cli",
                List.of(
                        "sub",
                        "orders",
                        "audit",
                        "--count",
                        "10",
                        "--tcp",
                        cluster.tcp("b2").toString()));
        StagedProcess consumer = stage.start("b2", command, Map.of(), log);
        boolean ended = consumer.awaitExit(SOON);
        assertThat(ended)
                .as("the consumer has its messages; it says %s, the brokers %s", log, cluster.log("*"))
                .isTrue();
        assertThat(Files.readAllLines(log))
                .filteredOn("a message of some length"::equals)
                .hasSize(10);
    }
}

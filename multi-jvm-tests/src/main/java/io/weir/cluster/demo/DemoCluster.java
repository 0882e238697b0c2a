package io.weir.cluster.demo;

import io.weir.cluster.BrokerCluster;
import io.weir.cluster.TopicClient;
import io.weir.cluster.stage.Stage;
import io.weir.cluster.stage.StagedCluster;
import io.weir.config.Endpoint;
import io.weir.supervisor.local.ClusterDirectory;
import io.weir.supervisor.local.ClusterState;
import io.weir.supervisor.local.Installation;
import io.weir.supervisor.local.LocalCluster;
import io.weir.supervisor.local.LocalClusterException;
import io.weir.supervisor.local.LocalProcess;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The demo's brokers, on hosts with networks of their own where the machine allows it, else as {@code weir up} starts
 * them.
 */
sealed interface DemoCluster extends AutoCloseable {
    /** Starts all of it; returns once every broker is ready. */
    void start();

    Endpoint tcp(String broker);

    TopicClient topics(String broker);

    String storeUrl();

    void kill(String broker);

    /** Starts one that was killed; returns once it is ready. */
    void restart(String broker);

    /** Takes a broker out of the others' sight: cuts it off, or stops its process where no network can be cut. */
    void isolate(String broker);

    void rejoin(String broker);

    /** Whether isolating cuts the network; else why not. */
    Optional<String> cutObstacle();

    /** Ends all of it, also what a failed start has left. */
    @Override
    void close();

    /** Hosts b1, b2 … and one for the store, joined by a switch. */
    final class OnStage implements DemoCluster {
        private static final long READY_WITHIN_NS = TimeUnit.SECONDS.toNanos(90);
        private static final long LOOK_MS = 50;

        private final Stage stage;
        private final StagedCluster cluster;
        private final Map<String, Endpoint> gateways;

        OnStage(Installation installation, Path directory, List<String> brokers, Map<String, String> environment) {
            List<String> hosts = new ArrayList<>(brokers);
            hosts.add(StagedCluster.STORE);
            stage = Stage.of(hosts);
            cluster = StagedCluster.on(stage)
                    .from(installation)
                    .in(directory)
                    .brokers(brokers)
                    .withEnvironment(environment)
                    .build();
            gateways = new HashMap<>();
            brokers.forEach(broker -> gateways.put(broker, stage.door(broker, StagedCluster.TCP)));
        }

        @Override
        public void start() {
            cluster.start();
            awaitReady();
        }

        private void awaitReady() {
            long beginNs = System.nanoTime();
            while (!cluster.allReady()) {
                if (System.nanoTime() - beginNs > READY_WITHIN_NS) {
                    throw new LocalClusterException("the brokers are not ready; their logs: " + cluster.log("*"));
                }
                try {
                    TimeUnit.MILLISECONDS.sleep(LOOK_MS);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new LocalClusterException("interrupted");
                }
            }
        }

        @Override
        public Endpoint tcp(String broker) {
            return gateways.get(broker);
        }

        @Override
        public TopicClient topics(String broker) {
            return cluster.topics(broker);
        }

        @Override
        public String storeUrl() {
            return cluster.storeUrl();
        }

        @Override
        public void kill(String broker) {
            cluster.kill(broker);
        }

        @Override
        public void restart(String broker) {
            cluster.start(broker);
            awaitReady();
        }

        @Override
        public void isolate(String broker) {
            stage.network().isolate(broker);
        }

        @Override
        public void rejoin(String broker) {
            stage.network().heal();
        }

        @Override
        public Optional<String> cutObstacle() {
            return Optional.empty();
        }

        @Override
        public void close() {
            stage.close();
        }
    }

    /** Processes on loopback. */
    final class OnLoopback implements DemoCluster {
        private final Installation installation;
        private final Path directory;
        private final int brokers;
        private final Map<String, String> environment;
        private final String obstacle;
        private BrokerCluster cluster;

        /** @param obstacle why there is no stage */
        OnLoopback(
                Installation installation,
                Path directory,
                int brokers,
                Map<String, String> environment,
                String obstacle) {
            this.installation = installation;
            this.directory = directory;
            this.brokers = brokers;
            this.environment = environment;
            this.obstacle = obstacle;
        }

        @Override
        public void start() {
            cluster = BrokerCluster.of(brokers)
                    .in(directory)
                    .from(installation)
                    .withEnvironment(environment)
                    .start();
        }

        @Override
        public Endpoint tcp(String broker) {
            return cluster.tcp(broker);
        }

        @Override
        public TopicClient topics(String broker) {
            return new TopicClient(cluster.http(broker), Optional.empty());
        }

        @Override
        public String storeUrl() {
            return cluster.storeUrl();
        }

        @Override
        public void kill(String broker) {
            cluster.kill(broker);
        }

        @Override
        public void restart(String broker) {
            cluster.restart(broker);
        }

        @Override
        public void isolate(String broker) {
            cluster.pause(broker);
        }

        @Override
        public void rejoin(String broker) {
            cluster.resume(broker);
        }

        @Override
        public Optional<String> cutObstacle() {
            return Optional.of(obstacle);
        }

        @Override
        public void close() {
            ClusterDirectory found = ClusterDirectory.create(directory);
            Optional<ClusterState> state = found.state();
            if (state.isPresent()) {
                // What is thrown away after this need not leave in good order.
                state.get().processes().stream().filter(LocalProcess::isAlive).forEach(LocalProcess::kill);
                new LocalCluster(installation, found, line -> {}).down();
            }
        }
    }
}

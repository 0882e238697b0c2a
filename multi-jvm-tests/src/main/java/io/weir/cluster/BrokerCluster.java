package io.weir.cluster;

import io.weir.cluster.failpoints.Sabotage;
import io.weir.config.Endpoint;
import io.weir.supervisor.local.ClusterDirectory;
import io.weir.supervisor.local.ClusterState;
import io.weir.supervisor.local.ClusterStatus;
import io.weir.supervisor.local.ClusterStatus.BrokerLine;
import io.weir.supervisor.local.Installation;
import io.weir.supervisor.local.LocalCluster;
import io.weir.supervisor.local.LocalProcess;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.BrokerStatus;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * A cluster of real broker JVMs for a test: {@code BrokerCluster.of(3).start()}. What a user's {@code weir up} starts
 * is what runs here; on top of it, processes can be killed, stopped, resumed and started again, and a test waits for
 * conditions, not times.
 *
 * <p>Its directory, every process's log in it, stays behind when it is closed, so that a failure can be read.
 */
public final class BrokerCluster implements AutoCloseable {
    /** Which of the JVMs that tests run in at the same time this is, as Maven says. */
    private static final int FORK = Integer.getInteger("surefire.forkNumber", 1);

    private static final Duration POLL = Duration.ofMillis(100);
    private static final Duration STOP_WITHIN = Duration.ofSeconds(30);

    /** What a cluster will be. */
    public static final class Builder {
        private final int brokers;
        private Path directory;
        private Installation installation;
        private Optional<String> storeUrl = Optional.empty();
        private Map<String, String> environment = Map.of();
        private Optional<Sabotage> sabotage = Optional.empty();
        private boolean kept;

        private Builder(int brokers) {
            this.brokers = brokers;
        }

        /** Where it keeps its data and logs; what is there is deleted first. */
        public Builder in(Path directory) {
            this.directory = directory;
            return this;
        }

        public Builder from(Installation installation) {
            this.installation = installation;
            return this;
        }

        /** A database that somebody else runs, with user and password in the URL. */
        public Builder withStore(String url) {
            this.storeUrl = Optional.of(url);
            return this;
        }

        /** Settings of every broker, by their variables: {@code WEIR_SUPPLY_HISTORY}; kept through restarts. */
        public Builder withEnvironment(Map<String, String> environment) {
            this.environment = Map.copyOf(environment);
            return this;
        }

        /** Every broker has failpoints; {@link #restart(String, Sabotage)} may give one of them others. */
        public Builder withSabotage(Sabotage sabotage) {
            this.sabotage = Optional.of(sabotage);
            return this;
        }

        /**
         * With the keeper that {@code weir up} leaves. Without one, as a cluster is by default, nothing but the test
         * starts a process again that the test killed, and a dead broker's part waits for its lease.
         */
        public Builder withKeeper() {
            this.kept = true;
            return this;
        }

        public BrokerCluster start() {
            deleteRecursively(directory);
            Installation used =
                    sabotage.isPresent() ? installation.withBrokerJar(Sabotage.jar(installation)) : installation;
            Map<String, String> all = new HashMap<>(environment);
            sabotage.ifPresent(armed -> all.putAll(armed.environment()));
            LocalCluster cluster = new LocalCluster(used, ClusterDirectory.create(directory), line -> {});
            BrokerCluster started = new BrokerCluster(cluster, kept, environment, all);
            started.up(new LocalCluster.Plan(
                    Optional.of(brokers), Optional.of(freePortBase(brokers)), storeUrl, Optional.empty(), all));
            return started;
        }
    }

    private final LocalCluster cluster;
    private final boolean kept;
    private final Map<String, String> plain;
    private final Map<String, String> environment;

    private BrokerCluster(
            LocalCluster cluster, boolean kept, Map<String, String> plain, Map<String, String> environment) {
        this.cluster = cluster;
        this.kept = kept;
        this.plain = plain;
        this.environment = environment;
    }

    public static Builder of(int brokers) {
        return new Builder(brokers);
    }

    public BrokerStatus status(String id) {
        return answer(id).orElseThrow(() -> new IllegalStateException(id + " does not answer; its log: " + log(id)));
    }

    private Optional<BrokerStatus> answer(String id) {
        return new BrokerClient(http(id)).status().join();
    }

    /** Where a broker answers HTTP. */
    public Endpoint http(String id) {
        return new Endpoint("127.0.0.1", cluster.state().httpPort(id));
    }

    /** Where a broker's clients find it. */
    public Endpoint tcp(String id) {
        return new Endpoint("127.0.0.1", cluster.state().tcpPort(id));
    }

    /** The store, with user and password. */
    public String storeUrl() {
        return cluster.storeUrl();
    }

    /** The cluster as {@code weir status} shows it. */
    public ClusterStatus status() {
        ClusterState state = cluster.state();
        return ClusterStatus.of(state.brokerIds().stream()
                .map(id -> new ClusterStatus.Expected(
                        id, pid(id), 0, "127.0.0.1:" + state.tcpPort(id), "127.0.0.1:" + state.httpPort(id)))
                .toList());
    }

    public long pid(String name) {
        return process(name).pid();
    }

    public Path log(String name) {
        return cluster.directory().log(name);
    }

    /** kill -9, and wait until the process is gone. */
    public void kill(String name) {
        process(name).kill();
    }

    /** SIGSTOP: the process stands still, with all its threads, sockets and clocks read late. */
    public void pause(String name) {
        signal("STOP", name);
    }

    /** SIGCONT. */
    public void resume(String name) {
        signal("CONT", name);
    }

    /** Starts a broker that has died; returns once it is ready. */
    public void restart(String id) {
        if (kept) {
            restartTheDead();
        } else {
            cluster.startBroker(id, environment);
        }
    }

    /** The same with failpoints of its own; for a cluster that was started with some. */
    public void restart(String id, Sabotage sabotage) {
        Map<String, String> own = new HashMap<>(plain);
        own.putAll(sabotage.environment());
        cluster.startBroker(id, own);
    }

    public boolean isAlive(String name) {
        return process(name).isAlive();
    }

    /** Starts every process that has died. */
    public void restartTheDead() {
        up(LocalCluster.Plan.with(environment));
    }

    private void up(LocalCluster.Plan plan) {
        if (kept) {
            cluster.upKept(plan, Optional.empty());
        } else {
            cluster.up(plan);
        }
    }

    public void awaitAllUp(Duration within) {
        await("every broker is up", within, () -> status().allUp());
    }

    /** Waits until the cluster shows {@code id} in {@code state}. */
    public void awaitState(String id, String state, Duration within) {
        await(id + " is " + state, within, () -> line(id).state().equals(state));
    }

    /** Waits until a broker's own answer is as it should be. */
    public void awaitBroker(String id, String what, Duration within, Predicate<BrokerStatus> condition) {
        await(id + " " + what, within, () -> answer(id).filter(condition).isPresent());
    }

    public BrokerLine line(String id) {
        return status().brokers().stream()
                .filter(broker -> broker.id().equals(id))
                .findFirst()
                .orElseThrow();
    }

    /** Waits for a condition; when it does not come, says which and where the logs are. */
    public void await(String what, Duration within, BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + within.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadlineNs > 0) {
                throw new AssertionError("not within " + within.toSeconds() + " s: " + what + "; now " + status()
                        + "; logs: " + log("*"));
            }
            pauseFor(POLL);
        }
    }

    /** SIGTERM: a broker leaves in good order; returns once its process is gone. */
    public void stop(String name) {
        signal("TERM", name);
        await(name + " has ended", STOP_WITHIN, () -> !isAlive(name));
    }

    /**
     * Kills every process: what a test has to say about leaving in good order it says with {@link #stop}, and nobody
     * else waits for it.
     */
    @Override
    public void close() {
        cluster.state().processes().forEach(LocalProcess::kill);
        cluster.down();
    }

    private LocalProcess process(String name) {
        return cluster.state().process(name).orElseThrow(() -> new IllegalArgumentException("no process " + name));
    }

    private void signal(String signal, String name) {
        try {
            int exit = new ProcessBuilder("kill", "-" + signal, Long.toString(pid(name)))
                    .inheritIO()
                    .start()
                    .waitFor();
            if (exit != 0) {
                throw new IllegalStateException("kill -" + signal + " " + name + " failed with " + exit);
            }
        } catch (IOException e) {
            throw new IllegalStateException("kill can't be run", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /**
     * A port that begins a run of free ones, below the range that the system hands out to clients. Tests that run side
     * by side, up to four, choose from different parts of it: one must not find free what another is about to use.
     */
    public static int freePortBase(int brokers) {
        for (int attempt = 0; attempt < 200; attempt++) {
            int base = 10_000
                    + 5_500 * (FORK % 4)
                    + 10 * ThreadLocalRandom.current().nextInt(540);
            if (Stream.iterate(base, port -> port + 1).limit(10L * brokers).allMatch(BrokerCluster::isFree)) {
                return base;
            }
        }
        throw new IllegalStateException("no run of " + 10 * brokers + " free ports found");
    }

    private static boolean isFree(int port) {
        try (ServerSocket probe = new ServerSocket()) {
            probe.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private static void deleteRecursively(Path directory) {
        if (Files.notExists(directory)) {
            return;
        }
        try (Stream<Path> entries = Files.walk(directory)) {
            List<Path> deepestFirst = entries.sorted(Comparator.reverseOrder()).toList();
            for (Path entry : deepestFirst) {
                Files.delete(entry);
            }
        } catch (IOException e) {
            throw new IllegalStateException(directory + " can't be deleted", e);
        }
    }

    private static void pauseFor(Duration time) {
        try {
            TimeUnit.MILLISECONDS.sleep(time.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }
}

package io.weir.cluster.chaos;

import io.weir.cluster.BrokerCluster;
import io.weir.cluster.TopicClient;
import io.weir.cluster.failpoints.Sabotage;
import io.weir.config.Endpoint;
import io.weir.supervisor.local.ClusterDirectory;
import io.weir.supervisor.local.ClusterState;
import io.weir.supervisor.local.Installation;
import io.weir.supervisor.local.LocalCluster;
import io.weir.supervisor.local.LocalClusterException;
import io.weir.supervisor.local.LocalProcess;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.Readiness;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A cluster as {@code weir up} starts it: processes can be hurt, the network between them can't. */
final class LocalGround implements Ground {
    private static final String STORE = "store";
    private static final long LEFT_WITHIN_NS = TimeUnit.SECONDS.toNanos(25);
    private static final long LOOK_MS = 50;

    private final ChaosPlan plan;
    private final String obstacle;
    private final Installation installation;
    private final LocalCluster cluster;
    private final Path admissions;
    private final Map<String, String> ofEveryBroker = new HashMap<>();
    private final Map<String, Process> clients = new HashMap<>();
    private final Thread lastCare = new Thread(this::end, "chaos-end");

    /** @param obstacle why there is no network to cut */
    LocalGround(ChaosPlan plan, Installation installation, String obstacle) {
        this.plan = plan;
        this.obstacle = obstacle;
        this.installation = installation.withBrokerJar(Sabotage.jar(installation));
        Path directory = plan.directory().toAbsolutePath().resolve("cluster");
        admissions = plan.directory().toAbsolutePath().resolve("admissions");
        cluster = new LocalCluster(this.installation, ClusterDirectory.create(directory), line -> {});
        ofEveryBroker.put("WEIR_SUPPLY_HISTORY", admissions.toString());
        ofEveryBroker.putAll(plan.environment());
        Runtime.getRuntime().addShutdownHook(lastCare);
    }

    @Override
    public Set<Means> means() {
        Set<Means> means = EnumSet.of(Means.PROCESSES);
        if (plan.storeUrl().isEmpty()) {
            means.add(Means.OWN_STORE);
        }
        return means;
    }

    @Override
    public List<String> obstacles() {
        return List.of(obstacle + "; process faults only");
    }

    @Override
    public void start() {
        try {
            Files.createDirectories(admissions);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        cluster.up(new LocalCluster.Plan(
                Optional.of(plan.brokers()),
                Optional.of(BrokerCluster.freePortBase(plan.brokers())),
                plan.storeUrl(),
                Optional.empty(),
                ofEveryBroker));
    }

    @Override
    public void carryOut(Act act) {
        try {
            if (act instanceof Act.Kill kill) {
                process(kill.broker(), LocalProcess::kill);
            } else if (act instanceof Act.Start start) {
                start(start);
            } else if (act instanceof Act.Pause pause) {
                signal("STOP", pause.broker());
            } else if (act instanceof Act.Resume resume) {
                signal("CONT", resume.broker());
            } else if (act instanceof Act.Leave leave) {
                leave(leave.broker());
            } else if (act instanceof Act.KillStore) {
                process(STORE, LocalProcess::kill);
            } else if (act instanceof Act.StartStore) {
                startStore();
            } else if (act instanceof Act.PauseStore) {
                signal("STOP", STORE);
            } else if (act instanceof Act.ResumeStore) {
                signal("CONT", STORE);
            } else {
                throw new IllegalStateException("processes on loopback are not enough for " + act);
            }
        } catch (LocalClusterException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    private synchronized void start(Act.Start start) {
        if (!isAlive(start.broker())) {
            Map<String, String> all = new HashMap<>(ofEveryBroker);
            all.putAll(start.environment());
            cluster.startBroker(start.broker(), all);
        }
    }

    /** Whatever else is missing comes up with it. */
    private synchronized void startStore() {
        if (plan.storeUrl().isEmpty() && !cluster.state().isAlive(STORE)) {
            cluster.up(LocalCluster.Plan.with(ofEveryBroker));
        }
    }

    private void leave(String broker) {
        new BrokerClient(http(broker)).stop(Optional.empty()).join();
        long deadlineNs = System.nanoTime() + LEFT_WITHIN_NS;
        while (isAlive(broker)) {
            if (System.nanoTime() - deadlineNs > 0) {
                throw new IllegalStateException(broker + " did not leave; its log: "
                        + cluster.directory().log(broker));
            }
            try {
                TimeUnit.MILLISECONDS.sleep(LOOK_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted", e);
            }
        }
    }

    private void process(String name, Consumer<LocalProcess> act) {
        cluster.state().process(name).filter(LocalProcess::isAlive).ifPresent(act);
    }

    /** To the process itself first, so that it has no further children, and to its children: what serves is theirs. */
    private void signal(String signal, String name) {
        process(name, process -> {
            signal(signal, process.pid());
            ProcessHandle.of(process.pid()).stream()
                    .flatMap(ProcessHandle::descendants)
                    .forEach(child -> signal(signal, child.pid()));
        });
    }

    private static void signal(String signal, long pid) {
        try {
            int exit = new ProcessBuilder("kill", "-" + signal, Long.toString(pid))
                    .redirectErrorStream(true)
                    .start()
                    .waitFor();
            if (exit != 0 && ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false)) {
                throw new IllegalStateException("kill -" + signal + " " + pid + " failed with " + exit);
            }
        } catch (IOException e) {
            throw new IllegalStateException("kill can't be run", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    @Override
    public boolean isAlive(String broker) {
        return cluster.directory().state().map(state -> state.isAlive(broker)).orElse(false);
    }

    @Override
    public long process(String broker) {
        return cluster.directory()
                .state()
                .flatMap(state -> state.process(broker))
                .filter(LocalProcess::isAlive)
                .map(LocalProcess::pid)
                .orElse(0L);
    }

    @Override
    public boolean ready(String broker) {
        return new BrokerClient(http(broker))
                .readiness()
                .join()
                .map(Readiness::ready)
                .orElse(false);
    }

    private Endpoint http(String broker) {
        return new Endpoint("127.0.0.1", cluster.state().httpPort(broker));
    }

    @Override
    public TopicClient topics(String broker) {
        return new TopicClient(http(broker), Optional.empty());
    }

    @Override
    public String tcp(String broker) {
        return "127.0.0.1:" + cluster.state().tcpPort(broker);
    }

    @Override
    public String storeUrl() {
        return cluster.storeUrl();
    }

    @Override
    public Path admissions() {
        return admissions;
    }

    @Override
    public Path directory() {
        return cluster.directory().root();
    }

    @Override
    public void startClient(String name, String beside, List<String> arguments) {
        clients.put(
                name,
                installation.start(
                        "chaos-client", arguments, cluster.directory().log(name), Map.of()));
    }

    @Override
    public boolean clientAlive(String name) {
        return clients.containsKey(name) && clients.get(name).isAlive();
    }

    @Override
    public void close() {
        end();
        try {
            Runtime.getRuntime().removeShutdownHook(lastCare);
        } catch (IllegalStateException e) {
            // The JVM is ending; the hook finds nobody alive.
            return;
        }
    }

    private void end() {
        clients.values().forEach(Process::destroyForcibly);
        Optional<ClusterState> state = cluster.directory().state();
        if (state.map(ClusterState::anyAlive).orElse(false)) {
            // One that stands still would not hear that it should end.
            state.get().processes().stream()
                    .filter(LocalProcess::isAlive)
                    .forEach(process -> signal("CONT", process.name()));
            cluster.down();
        }
    }
}

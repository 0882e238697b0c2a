package io.weir.cluster.chaos;

import io.weir.cluster.TopicClient;
import io.weir.cluster.failpoints.Sabotage;
import io.weir.cluster.stage.Stage;
import io.weir.cluster.stage.StagedCluster;
import io.weir.cluster.stage.StagedProcess;
import io.weir.supervisor.local.Installation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Every broker and the store on a host of their own, joined by a switch: all faults are possible, as far as the machine
 * lets them.
 */
final class StagedGround implements Ground {
    private static final int DISK_MIB = 256;
    private static final Duration ENDS_WITHIN = Duration.ofSeconds(3);
    private static final long LOOK_MS = 100;
    private static final Duration LEFT_WITHIN = Duration.ofSeconds(25);

    private final Path directory;
    private final Path admissions;
    private final Path switches;
    private final Installation installation;
    private final Stage stage;
    private final StagedCluster cluster;
    /** As a Java agent it slows a start down, so brokers have it only where a clock may be set. */
    private final boolean settableClocks;

    private final Map<String, String> ofEveryBroker = new HashMap<>();
    private final Map<String, StagedProcess> clients = new HashMap<>();

    StagedGround(ChaosPlan plan, Installation installation) {
        directory = plan.directory().toAbsolutePath().resolve("cluster");
        admissions = directory.resolve("admissions");
        switches = directory.resolve("switches");
        settableClocks = plan.faults().contains(Fault.CLOCK_WALL);
        Path sabotage = Sabotage.jar(installation);
        Installation sabotaged = installation.withBrokerJar(sabotage);
        this.installation = settableClocks ? sabotaged.withBrokerAgent(sabotage) : sabotaged;
        ofEveryBroker.put("WEIR_SUPPLY_HISTORY", admissions.toString());
        ofEveryBroker.putAll(plan.environment());
        List<String> brokers = Scene.of(plan.brokers(), List.of(), Set.of()).brokers();
        List<String> hosts = new ArrayList<>(brokers);
        hosts.add(Scene.of(plan.brokers(), List.of(), Set.of()).spare());
        hosts.add(StagedCluster.STORE);
        try {
            Files.createDirectories(admissions);
            Files.createDirectories(switches);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        stage = Stage.of(hosts, plan.seed());
        try {
            StagedCluster.Builder builder = StagedCluster.on(stage)
                    .from(this.installation)
                    .in(directory)
                    .brokers(brokers)
                    .withStoreDisk(DISK_MIB);
            plan.storeUrl().ifPresent(builder::withStore);
            cluster = builder.build();
        } catch (RuntimeException e) {
            stage.close();
            throw e;
        }
    }

    @Override
    public Set<Means> means() {
        Set<Means> means = EnumSet.of(Means.PROCESSES, Means.NETWORK, Means.FAILPOINTS);
        if (cluster.storeObstacle().isEmpty()) {
            means.add(Means.DISK);
            means.add(Means.OWN_STORE);
        }
        if (cluster.cpuObstacle().isEmpty()) {
            means.add(Means.QUOTA);
        }
        return means;
    }

    @Override
    public List<String> obstacles() {
        return Stream.of(cluster.storeObstacle(), cluster.cpuObstacle())
                .flatMap(Optional::stream)
                .toList();
    }

    @Override
    public void start() {
        if (cluster.storeObstacle().isEmpty()) {
            cluster.startStore();
        }
        for (String broker : cluster.ids()) {
            cluster.startMediaDriver(broker);
            cluster.start(broker, environment(broker), List.of());
        }
    }

    /** With switches that are thrown while it runs: crash points, loans, and the wall clock. */
    private Map<String, String> environment(String broker) {
        Map<String, String> all = new HashMap<>(ofEveryBroker);
        all.putAll(Sabotage.NONE.crashingAsSaidIn(crashFile(broker)).environment());
        all.put(Sabotage.LOANS_FILE, loansFile(broker).toString());
        if (settableClocks) {
            all.put(Sabotage.WALL_CLOCK_FILE, clockFile(broker).toString());
            write(clockFile(broker), "0");
        }
        return all;
    }

    private Path crashFile(String broker) {
        return switches.resolve(broker + ".crash");
    }

    private Path loansFile(String broker) {
        return switches.resolve(broker + ".loans");
    }

    private Path clockFile(String broker) {
        return switches.resolve(broker + ".clock");
    }

    /** In one step, so that nobody reads half of it. */
    private static void write(Path file, String text) {
        try {
            Path next = file.resolveSibling(file.getFileName() + ".next");
            Files.writeString(next, text + "\n");
            Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new IllegalStateException(file + " can't be written: " + e.getMessage(), e);
        }
    }

    @Override
    public void carryOut(Act act) {
        if (act instanceof Act.Leave leave) {
            // Takes seconds, and others must not wait for it.
            leave(leave.broker());
            return;
        }
        synchronized (this) {
            quickly(act);
        }
    }

    /** It stays one of those whom others look for: it comes back. */
    private void leave(String broker) {
        if (isAlive(broker)) {
            StagedProcess process = cluster.broker(broker);
            process.terminate();
            if (!process.awaitExit(LEFT_WITHIN)) {
                throw new IllegalStateException(broker + " did not leave within " + LEFT_WITHIN.toSeconds()
                        + " s; its log: " + cluster.log(broker));
            }
        }
    }

    private void quickly(Act act) {
        if (act instanceof Act.Links links) {
            stage.network().apply(links.conditions());
        } else if (act instanceof Act.Kill kill) {
            ifAlive(kill.broker(), cluster::kill);
        } else if (act instanceof Act.Start start) {
            start(start);
        } else if (act instanceof Act.Join join) {
            start(new Act.Start(join.broker()));
        } else if (act instanceof Act.Pause pause) {
            ifAlive(pause.broker(), cluster::pause);
        } else if (act instanceof Act.Resume resume) {
            ifAlive(resume.broker(), cluster::resume);
        } else if (act instanceof Act.KillDriver kill) {
            cluster.killMediaDriver(kill.broker());
        } else if (act instanceof Act.StartDriver start) {
            if (!cluster.isMediaDriverAlive(start.broker())) {
                cluster.startMediaDriver(start.broker());
            }
        } else if (act instanceof Act.Quota quota) {
            ifAlive(quota.broker(), broker -> cluster.cpuQuota(broker, quota.percent()));
        } else if (act instanceof Act.NoQuota quota) {
            ifAlive(quota.broker(), cluster::noCpuQuota);
        } else if (act instanceof Act.Arm arm) {
            write(crashFile(arm.broker()), arm.point().toString());
        } else if (act instanceof Act.Disarm disarm) {
            write(crashFile(disarm.broker()), "");
        } else if (act instanceof Act.Loans loans) {
            write(loansFile(loans.broker()), loans.trouble().toString());
        } else if (act instanceof Act.WallClock clock) {
            write(clockFile(clock.broker()), Long.toString(TimeUnit.SECONDS.toMillis(clock.offsetSeconds())));
        } else {
            store(act);
        }
    }

    private void store(Act act) {
        if (cluster.storeObstacle().isPresent()) {
            return;
        }
        if (act instanceof Act.KillStore) {
            cluster.killStore();
        } else if (act instanceof Act.StartStore) {
            if (!cluster.isStoreAlive()) {
                cluster.startStore();
            }
        } else if (act instanceof Act.PauseStore) {
            cluster.pauseStore();
        } else if (act instanceof Act.ResumeStore) {
            cluster.resumeStore();
        } else if (act instanceof Act.FillDisk) {
            cluster.fillStoreDisk();
        } else if (act instanceof Act.FreeDisk) {
            cluster.freeStoreDisk();
            bringBackStore();
        } else {
            throw new IllegalStateException("the stage cannot do " + act);
        }
    }

    /**
     * A store goes on after a full disk, or, if it could not write its log, has ended; whoever looks after it starts it
     * again.
     */
    private void bringBackStore() {
        long deadlineNs = System.nanoTime() + ENDS_WITHIN.toNanos();
        while (cluster.isStoreAlive() && System.nanoTime() - deadlineNs < 0) {
            try {
                TimeUnit.MILLISECONDS.sleep(LOOK_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
        if (!cluster.isStoreAlive()) {
            cluster.startStore();
        }
    }

    private void start(Act.Start start) {
        if (isAlive(start.broker())) {
            return;
        }
        if (!cluster.isMediaDriverAlive(start.broker())) {
            cluster.startMediaDriver(start.broker());
        }
        Map<String, String> all = environment(start.broker());
        all.putAll(start.environment());
        cluster.start(start.broker(), all, List.of());
    }

    private void ifAlive(String broker, Consumer<String> act) {
        if (cluster.isAlive(broker)) {
            act.accept(broker);
        }
    }

    @Override
    public boolean isAlive(String broker) {
        return cluster.isAlive(broker);
    }

    @Override
    public long process(String broker) {
        return cluster.isAlive(broker) ? cluster.broker(broker).number() : 0;
    }

    @Override
    public boolean ready(String broker) {
        return cluster.isReady(broker);
    }

    @Override
    public TopicClient topics(String broker) {
        return cluster.topics(broker);
    }

    @Override
    public String tcp(String broker) {
        return stage.address(broker) + ":" + StagedCluster.TCP;
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
        return directory;
    }

    @Override
    public void startClient(String name, String beside, List<String> arguments) {
        clients.put(
                name,
                stage.start(beside, installation.command("chaos-client", arguments), Map.of(), cluster.log(name)));
    }

    @Override
    public boolean clientAlive(String name) {
        return clients.containsKey(name) && clients.get(name).isAlive();
    }

    @Override
    public void close() {
        stage.close();
    }
}

package io.weir.supervisor.cli;

import io.weir.supervisor.local.ClusterDirectory;
import io.weir.supervisor.local.ClusterState;
import io.weir.supervisor.local.Installation;
import io.weir.supervisor.local.LastCluster;
import io.weir.supervisor.local.LocalCluster;
import io.weir.supervisor.local.LocalClusterException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code weir up}: a cluster on this machine. */
@Command(
        name = "up",
        mixinStandardHelpOptions = true,
        description = {
            "Start a cluster on this machine: a store, a media driver and N brokers on loopback.",
            "What already runs is left alone, so 'weir up' also brings back brokers that have died. A data directory that was used"
                    + " before resumes with everything that was defined in it.",
            "A small process stays with the cluster and keeps it: it starts the store and the media driver again when"
                    + " they die, and tells the other brokers at once when a broker dies, so that they have its part of"
                    + " every limit without waiting for its lease."
        },
        footer = {
            "",
            "Each broker takes four ports from the base on, ten apart: gateway, HTTP, cluster, management.",
            "",
            "Examples:",
            "  weir up                            three brokers; stays, and shows their time line; Ctrl-C stops them",
            "  weir up --detach                   returns once they are ready; 'weir down' stops them",
            "  weir up --brokers 5 --data /tmp/w --port-base 7000",
            "  weir up --detach --restart         brokers that die come back by themselves",
            "  weir up --config my.conf           with  weir.placement.enabled = off  in my.conf, for one",
            "  WEIR_STORE_PASSWORD=… weir up --store 'jdbc:postgresql://db/weir?user=weir'"
        })
public final class UpCommand implements CliCommand {
    private static final long GIVES_UP_WITHIN_S = 60;

    @Option(names = "--brokers", paramLabel = "N", description = "How many brokers (default: as before, or 3).")
    private Integer brokers;

    @Option(
            names = "--data",
            paramLabel = "DIR",
            description = "Data directory (default: that of the last 'weir up', or ~/.weir/data).")
    private Path data;

    @Option(names = "--port-base", paramLabel = "N", description = "First port (default: as before, or 4150).")
    private Integer portBase;

    @Option(
            names = "--store",
            paramLabel = "URL",
            description = "A PostgreSQL of yours by JDBC URL, instead of the embedded store; password from"
                    + " WEIR_STORE_PASSWORD, user from WEIR_STORE_USER.")
    private String store;

    @Option(
            names = "--config",
            paramLabel = "FILE",
            description =
                    "Settings for every broker: any key of conf/reference.conf that 'up' does not decide itself. Kept in the data"
                            + " directory for the next 'up' (default: as before, or none).")
    private Path settings;

    @Option(
            names = "--restart",
            description =
                    "Also start brokers again that die, until 'weir down' (default: they stay dead until the next 'weir up').")
    private boolean restart;

    @Option(names = "--detach", description = "Return once every broker is ready.")
    private boolean detach;

    @Mixin
    private Output output;

    @Override
    public Integer call() {
        LastCluster last = new LastCluster(System.getenv());
        Path path = Optional.ofNullable(data).or(last::data).orElseGet(last::defaultData);
        ClusterDirectory directory = ClusterDirectory.create(path);
        LocalCluster cluster = new LocalCluster(Installation.ofThisProcess(), directory, this::progress);
        boolean alreadyUp = directory.state().map(ClusterState::anyAlive).orElse(false);
        AtomicBoolean detached = new AtomicBoolean();
        CountDownLatch returned = new CountDownLatch(1);
        if (!alreadyUp) {
            // Ctrl-C, also half way through the start, leaves nothing behind.
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                cluster.cancel();
                await(returned);
                if (!detached.get()
                        && directory.state().map(ClusterState::anyAlive).orElse(false)) {
                    stop(cluster, last);
                }
            }));
        }
        ClusterState state;
        try {
            state = cluster.upKept(
                    new LocalCluster.Plan(
                            Optional.ofNullable(brokers),
                            Optional.ofNullable(portBase),
                            Optional.ofNullable(store),
                            Optional.ofNullable(settings),
                            storeAccount()),
                    restart ? Optional.of(true) : Optional.empty());
        } finally {
            returned.countDown();
        }
        if (!last.remember(directory.root())) {
            progress("later commands need --data " + directory.root()
                    + ": the last cluster can't be remembered in your home");
        }
        printEndpoints(directory, state);
        if (detach || alreadyUp) {
            detached.set(true);
            return ExitCode.OK;
        }
        output.println("Ctrl-C stops the cluster. Its time line:");
        return new TimeLine(directory, output).follow();
    }

    /** Until the start has returned: it holds the lock that whoever stops the cluster needs. */
    private static void await(CountDownLatch returned) {
        try {
            returned.await(GIVES_UP_WITHIN_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Map<String, String> storeAccount() {
        Map<String, String> account = new LinkedHashMap<>();
        for (String name : List.of("WEIR_STORE_USER", "WEIR_STORE_PASSWORD")) {
            Optional.ofNullable(System.getenv(name)).ifPresent(value -> account.put(name, value));
        }
        return account;
    }

    private void stop(LocalCluster cluster, LastCluster last) {
        try {
            cluster.down();
            last.forget(cluster.directory().root());
        } catch (LocalClusterException e) {
            progress(e.getMessage());
        }
    }

    private void progress(String line) {
        System.err.println(line);
    }

    private void printEndpoints(ClusterDirectory directory, ClusterState state) {
        List<Map<String, String>> endpoints = state.brokerIds().stream()
                .<Map<String, String>>map(id -> {
                    Map<String, String> broker = new LinkedHashMap<>();
                    broker.put("id", id);
                    broker.put("tcp", "127.0.0.1:" + state.tcpPort(id));
                    broker.put("http", "127.0.0.1:" + state.httpPort(id));
                    return broker;
                })
                .toList();
        if (output.json()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("data", directory.root().toString());
            answer.put("brokers", endpoints);
            output.printJson(answer);
            return;
        }
        output.println("The cluster is up; its data is in " + directory.root());
        for (Map<String, String> broker : endpoints) {
            output.printf("  %-4s tcp %s   http http://%s%n", broker.get("id"), broker.get("tcp"), broker.get("http"));
        }
    }
}

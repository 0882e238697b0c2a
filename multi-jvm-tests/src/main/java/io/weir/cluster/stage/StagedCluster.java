package io.weir.cluster.stage;

import io.weir.cluster.TopicClient;
import io.weir.config.Endpoint;
import io.weir.supervisor.local.Installation;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.BrokerStatus;
import io.weir.supervisor.node.Readiness;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Brokers on a {@link Stage}, each at its own address with the usual ports. They trust nobody who lacks the admin token, since
 * their addresses are not loopback. Its directory, with settings and logs, stays behind when it is closed; it must be new.
 */
public final class StagedCluster implements AutoCloseable {
    private static final int TCP = 4150;
    private static final int HTTP = 4151;
    private static final int CLUSTER = 4152;
    private static final int MANAGEMENT = 4153;
    private static final String TOKEN = "only-for-this-stage";
    private static final long END_WITHIN_S = 20;

    private final Stage stage;
    private final Installation installation;
    private final Path directory;
    private final List<String> ids;
    private final String storeUrl;
    private final Map<String, String> environment;
    private final List<Process> publishers = new ArrayList<>();
    private final Map<String, Process> processes = new LinkedHashMap<>();
    private final Thread lastCare = new Thread(this::killAll, "stage-kill");

    /**
     * @param storeUrl with the stage's {@link Stage#storeSide}, user and password
     * @param environment further settings of every broker
     */
    public StagedCluster(
            Stage stage,
            Installation installation,
            Path directory,
            List<String> ids,
            String storeUrl,
            Map<String, String> environment) {
        this.stage = stage;
        this.installation = installation;
        this.directory = directory.toAbsolutePath();
        this.ids = List.copyOf(ids);
        this.storeUrl = storeUrl;
        this.environment = Map.copyOf(environment);
        Runtime.getRuntime().addShutdownHook(lastCare);
    }

    /** Starts every broker that does not run; whether they are ready is for {@link #allReady} to say. */
    public void start() {
        for (String id : ids) {
            if (!processes.containsKey(id) || !processes.get(id).isAlive()) {
                processes.put(id, start(id));
            }
        }
    }

    private Process start(String id) {
        try {
            Path own = Files.createDirectories(directory.resolve(id));
            Path settings = own.resolve("broker.conf");
            Files.writeString(settings, settings(id, own));
            ProcessBuilder builder = new ProcessBuilder(stage.inside(
                            id, installation.command("broker", List.of("broker", "--config", settings.toString()))))
                    .redirectInput(Path.of("/dev/null").toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log(id).toFile()));
            builder.environment().keySet().removeIf(name -> name.startsWith("WEIR_") && !name.equals("WEIR_LOG_LEVEL"));
            builder.environment().putAll(environment);
            return builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Publishes at a broker from inside its own network, so that it goes on when that is cut off; until this is closed. */
    public void publish(String id, String topic, int perSecond) {
        List<String> arguments = List.of(
                "pub",
                topic,
                "a message of some length",
                "--rate",
                Integer.toString(perSecond),
                "--count",
                Long.toString(Long.MAX_VALUE),
                "--tcp",
                stage.address(id) + ":" + TCP);
        try {
            publishers.add(new ProcessBuilder(stage.inside(id, installation.command("cli", arguments)))
                    .redirectInput(Path.of("/dev/null").toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(
                            directory.resolve(id + "-publisher.log").toFile()))
                    .start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String settings(String id, Path own) {
        String host = stage.address(id);
        String contacts = ids.stream()
                .map(other -> "\"" + stage.address(other) + ":" + MANAGEMENT + "\"")
                .collect(Collectors.joining(", "));
        return String.join(
                "\n",
                "weir {",
                "  broker { id = \"" + id + "\", data-dir = \"" + own + "\" }",
                "  tcp { host = \"" + host + "\", port = " + TCP + " }",
                "  http { host = \"" + host + "\", port = " + HTTP + ", admin-token = \"" + TOKEN + "\" }",
                "  cluster { host = \"" + host + "\", port = " + CLUSTER + ", management-port = " + MANAGEMENT + " }",
                "  cluster.discovery { contact-points = [" + contacts + "], required-contact-points = "
                        + (ids.size() / 2 + 1) + " }",
                "  store.url = \"" + storeUrl + "\"",
                "}",
                "");
    }

    public Path log(String id) {
        return directory.resolve(id + ".log");
    }

    public boolean isAlive(String id) {
        return processes.get(id).isAlive();
    }

    public boolean allReady() {
        return ids.stream()
                .allMatch(id ->
                        client(id).readiness().join().map(Readiness::ready).orElse(false));
    }

    /** Empty if the broker does not answer, as one that is cut off does not. */
    public Optional<BrokerStatus> status(String id) {
        return client(id).status().join();
    }

    private BrokerClient client(String id) {
        return new BrokerClient(http(id));
    }

    private Endpoint http(String id) {
        return new Endpoint(stage.address(id), HTTP);
    }

    public TopicClient topics(String id) {
        return new TopicClient(http(id), Optional.of(TOKEN));
    }

    @Override
    public void close() {
        publishers.forEach(Process::destroyForcibly);
        stage.heal();
        processes.values().forEach(Process::destroy);
        try {
            for (Process process : processes.values()) {
                process.waitFor(END_WITHIN_S, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        killAll();
        try {
            Runtime.getRuntime().removeShutdownHook(lastCare);
        } catch (IllegalStateException e) {
            // The JVM is ending; the hook finds nobody alive.
            return;
        }
    }

    private void killAll() {
        processes.values().stream().filter(Process::isAlive).forEach(Process::destroyForcibly);
    }
}

package io.weir.supervisor.local;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import io.weir.config.Endpoint;
import io.weir.config.SettingsException;
import io.weir.config.SettingsLoader;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.Readiness;
import io.weir.supervisor.store.StoreServer;
import io.weir.transport.MediaDriverProcess;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A cluster on this machine, as {@code weir up} and the cluster tests run it: a store and a media driver in processes
 * of their own, which outlive any broker, and N brokers on loopback.
 */
public final class LocalCluster {
    public static final int DEFAULT_BROKERS = 3;
    public static final int DEFAULT_PORT_BASE = 4150;
    private static final String HOST = "127.0.0.1";
    private static final long READY_WITHIN_MS = 90_000;
    private static final long STOP_WITHIN_MS = 30_000;
    private static final long POLL_MS = 25;

    /** Shows what happens, a line each. */
    @FunctionalInterface
    public interface Progress {
        void say(String line);
    }

    /** What a cluster is started with; empty means what it had before, or the default. */
    public record Plan(
            Optional<Integer> brokers,
            Optional<Integer> portBase,
            Optional<String> storeUrl,
            Optional<Path> settings,
            Map<String, String> environment) {
        public static Plan defaults() {
            return new Plan(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Map.of());
        }

        /** As before, with these settings from the environment. */
        public static Plan with(Map<String, String> environment) {
            return new Plan(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), environment);
        }
    }

    private final Installation installation;
    private final ClusterDirectory directory;
    private final Progress progress;
    private volatile boolean cancelled;

    public LocalCluster(Installation installation, ClusterDirectory directory, Progress progress) {
        this.installation = installation;
        this.directory = directory;
        this.progress = progress;
    }

    public ClusterDirectory directory() {
        return directory;
    }

    public ClusterState state() {
        return directory
                .state()
                .orElseThrow(() -> new LocalClusterException("no cluster was ever started in " + directory.root()));
    }

    /** Has an {@link #up} that another thread is in give up: it stops what it has started, and throws. */
    public void cancel() {
        cancelled = true;
    }

    private void checkCancelled() {
        if (cancelled) {
            throw new LocalClusterException("interrupted while the cluster was starting: what was started is stopped");
        }
    }

    /**
     * Starts whatever does not run yet and waits until every broker is ready; what this call started, it stops if it
     * fails.
     */
    public ClusterState up(Plan plan) {
        return up(plan, Optional.empty());
    }

    /**
     * The same, but a {@link Keeper} is the processes' parent and stays. Whoever hurts processes on purpose, and starts
     * them again itself, goes without one.
     *
     * @param restart whether it starts brokers again that die; if not given, as before while the cluster runs, else no
     */
    public ClusterState upKept(Plan plan, Optional<Boolean> restart) {
        boolean before = directory
                .state()
                .filter(ClusterState::anyAlive)
                .map(ClusterState::restart)
                .orElse(false);
        return up(plan, Optional.of(restart.orElse(before)));
    }

    /** @param kept empty for a cluster without a keeper */
    private ClusterState up(Plan plan, Optional<Boolean> kept) {
        try (Closeable locked = directory.lock()) {
            ClusterState state = planned(plan, kept.orElse(false));
            List<String> missing = missing(state);
            if (missing.contains(ClusterState.STORE)) {
                StoreServer.formerStore(directory.storeDirectory()).ifPresent(line -> {
                    throw new LocalClusterException(line);
                });
            }
            checkPorts(state, missing);
            String settings =
                    plan.settings().isPresent() ? given(plan.settings().get(), state) : directory.settings();
            boolean keeperServes = state.isAlive(ClusterState.KEEPER)
                    && missing.isEmpty()
                    && directory.state().map(ClusterState::restart).equals(kept);
            if (keeperServes) {
                return state;
            }
            endKeeper();
            state = state.without(missing);
            directory.write(state);
            try {
                if (kept.isPresent()) {
                    state = startKept(state, missing, settings, plan.environment());
                } else {
                    for (String name : missing) {
                        state = start(state, name, settings, plan.environment());
                    }
                }
                awaitReady(state, missing);
                // Only now: settings that no broker starts with must not be in the way of the next attempt.
                directory.keepSettings(settings);
            } catch (RuntimeException e) {
                giveUp(missing, kept.isPresent(), plan.environment());
                throw e;
            }
            return state;
        } catch (IOException e) {
            throw new LocalClusterException(
                    "the lock in " + directory.root() + " can't be released: " + e.getMessage());
        }
    }

    /** What was started is stopped; what ran before is left as it was, with a keeper if it may have had one. */
    private void giveUp(List<String> started, boolean kept, Map<String, String> environment) {
        endKeeper();
        ClusterState state = state();
        stop(state, started);
        if (started.contains(ClusterState.DRIVER)) {
            directory.deleteAeronDirectory();
        }
        if (kept && !cancelled && state.anyAlive()) {
            startKept(state, List.of(), directory.settings(), environment);
        }
    }

    private void endKeeper() {
        directory.state().ifPresent(state -> stop(state, List.of(ClusterState.KEEPER)));
    }

    /** Has a new keeper start what is missing; returns once it has. */
    private ClusterState startKept(
            ClusterState state, List<String> missing, String settings, Map<String, String> environment) {
        List<Launch> launches = state.names().stream()
                .map(name -> launch(state, name, settings, environment))
                .toList();
        Process keeper = installation.keeper(directory).start(ProcessBuilder.Redirect.PIPE);
        try (OutputStream input = keeper.getOutputStream()) {
            new Keeper.Orders(state, launches, missing, adminToken(state, environment)).writeTo(input);
        } catch (IOException e) {
            throw new LocalClusterException("the keeper ended while starting: " + reasonInLog(ClusterState.KEEPER));
        }
        ClusterState now = state();
        while (!now.isAlive(ClusterState.KEEPER)
                || !missing.stream().allMatch(name -> state().process(name).isPresent())) {
            if (!keeper.isAlive()) {
                throw new LocalClusterException("the keeper ended while starting: " + reasonInLog(ClusterState.KEEPER)
                        + " (its log: " + directory.log(ClusterState.KEEPER) + ")");
            }
            LocalProcess.sleep(POLL_MS);
            now = state();
        }
        return state();
    }

    /** What the brokers want to be shown by who changes something, or null; as they read it themselves. */
    private String adminToken(ClusterState state, Map<String, String> environment) {
        try {
            return SettingsLoader.load(
                            Optional.of(brokerSettings(state.brokerIds().get(0))), environment)
                    .settings()
                    .http()
                    .adminToken()
                    .orElse(null);
        } catch (SettingsException e) {
            // The broker says so itself, and better: it is about to be started with them.
            return null;
        }
    }

    /** The store, with user and password where it is this cluster's own; for who must read it beside the brokers. */
    public String storeUrl() {
        ClusterState state = state();
        return state.storeUrl() == null
                ? StoreServer.url(new Endpoint(HOST, state.storePort()), directory.storePassword())
                : state.storeUrl();
    }

    /** Starts one broker again; returns once it is ready. */
    public void startBroker(String id, Map<String, String> environment) {
        ClusterState state = start(state(), id, directory.settings(), environment);
        awaitReady(state, List.of(id));
    }

    private ClusterState planned(Plan plan, boolean restart) {
        Optional<ClusterState> before = directory.state();
        boolean running = before.map(ClusterState::anyAlive).orElse(false);
        int brokers = plan.brokers().or(() -> before.map(ClusterState::brokers)).orElse(DEFAULT_BROKERS);
        int portBase =
                plan.portBase().or(() -> before.map(ClusterState::portBase)).orElse(DEFAULT_PORT_BASE);
        String storeUrl =
                plan.storeUrl().or(() -> before.map(ClusterState::storeUrl)).orElse(null);
        if (brokers < 1 || brokers > ClusterState.MAX_BROKERS) {
            throw new LocalClusterException(
                    "--brokers " + brokers + " is not possible: one machine takes 1 to " + ClusterState.MAX_BROKERS);
        }
        ClusterState state = new ClusterState(
                portBase,
                brokers,
                storeUrl,
                restart,
                before.map(ClusterState::processes).orElse(List.of()));
        if (portBase < 1024 || state.highestPort() > 65_535) {
            throw new LocalClusterException("--port-base " + portBase + " is not possible: " + brokers
                    + " brokers need the ports up to " + state.highestPort() + ", from 1024 to 65535");
        }
        if (running && (before.get().portBase() != portBase || before.get().brokers() != brokers)) {
            throw new LocalClusterException("the cluster in " + directory.root() + " runs with "
                    + before.get().brokers() + " brokers from port "
                    + before.get().portBase() + " on: 'weir down' first");
        }
        return state;
    }

    private static List<String> missing(ClusterState state) {
        return state.names().stream().filter(name -> !state.isAlive(name)).toList();
    }

    private void checkPorts(ClusterState state, List<String> missing) {
        Map<Integer, String> needed = new LinkedHashMap<>();
        for (String name : missing) {
            if (name.equals(ClusterState.STORE)) {
                needed.put(state.storePort(), "the store");
            } else if (!name.equals(ClusterState.DRIVER)) {
                needed.put(state.tcpPort(name), name + "'s gateway");
                needed.put(state.httpPort(name), name + "'s HTTP");
                needed.put(state.clusterPort(name), name + "'s cluster port");
                needed.put(state.managementPort(name), name + "'s management port");
            }
        }
        needed.forEach((port, what) -> {
            try (ServerSocket probe = new ServerSocket()) {
                probe.setReuseAddress(true);
                probe.bind(new InetSocketAddress(InetAddress.getByName(HOST), port));
            } catch (IOException e) {
                throw new LocalClusterException("port " + port + " (" + what
                        + ") is taken: stop what uses it, or choose other ports with --port-base");
            }
        });
    }

    private ClusterState start(ClusterState state, String name, String settings, Map<String, String> environment) {
        Process process = launch(state, name, settings, environment).start();
        ClusterState started = state.with(LocalProcess.of(name, process.toHandle()));
        directory.write(started);
        return started;
    }

    private Launch launch(ClusterState state, String name, String settings, Map<String, String> environment) {
        return switch (name) {
            case ClusterState.STORE ->
                installation.launch(
                        name,
                        "store",
                        List.of(
                                "store",
                                "--dir",
                                directory.storeDirectory().toString(),
                                "--port",
                                Integer.toString(state.storePort())),
                        directory.log(name),
                        Map.of("WEIR_STORE_PASSWORD", directory.storePassword()));
            case ClusterState.DRIVER ->
                installation.launch(
                        name,
                        "media-driver",
                        List.of(
                                "media-driver",
                                "--dir",
                                directory.aeronDirectory().toString()),
                        directory.log(name),
                        Map.of());
            default ->
                installation.launch(
                        name,
                        "broker",
                        List.of(
                                "broker",
                                "--config",
                                writeSettings(state, name, settings).toString()),
                        directory.log(name),
                        environment);
        };
    }

    /** What a file says for every broker; nothing changes under a broker that runs. */
    private String given(Path file, ClusterState state) {
        try {
            String text = Files.readString(file);
            if (state.brokerIds().stream().anyMatch(state::isAlive) && !text.equals(directory.settings())) {
                throw new LocalClusterException(
                        "the brokers in " + directory.root() + " run with other settings: 'weir down' first");
            }
            Config parsed = ConfigFactory.parseString(text);
            for (String key : decided(state, ClusterState.brokerId(0)).keySet()) {
                if (parsed.hasPath("weir." + key)) {
                    throw new LocalClusterException(
                            file + " sets weir." + key + ", which 'weir up' decides itself: remove it there");
                }
            }
            return text;
        } catch (ConfigException e) {
            throw new LocalClusterException(file + " can't be parsed: " + e.getMessage());
        } catch (IOException e) {
            throw new LocalClusterException(file + " can't be read: does it exist, and may this user read it?");
        }
    }

    /** A broker's settings as a file, so that it can also be started by hand: {@code weir broker --config FILE}. */
    private Path writeSettings(ClusterState state, String id, String given) {
        String decided = decided(state, id).entrySet().stream()
                .map(entry -> "  " + entry.getKey() + " = " + entry.getValue() + "\n")
                .collect(Collectors.joining("", "weir {\n", "}\n"));
        try {
            Files.createDirectories(directory.brokerDirectory(id));
            Path file = brokerSettings(id);
            directory.writeSecret(file, given.isEmpty() ? decided : given + "\n" + decided);
            return file;
        } catch (IOException e) {
            throw new LocalClusterException("the settings of " + id + " can't be written: " + e.getMessage());
        }
    }

    private Path brokerSettings(String id) {
        return directory.brokerDirectory(id).resolve("broker.conf");
    }

    /** What this decides for a broker, by its key below {@code weir}. */
    private Map<String, Object> decided(ClusterState state, String id) {
        String contacts = state.brokerIds().stream()
                .map(other -> "\"" + HOST + ":" + state.managementPort(other) + "\"")
                .collect(Collectors.joining(", "));
        boolean own = state.storeUrl() == null;
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("broker.id", quoted(id));
        settings.put("broker.data-dir", quoted(directory.brokerDirectory(id).toString()));
        settings.put("tcp.port", state.tcpPort(id));
        settings.put("http.port", state.httpPort(id));
        settings.put("cluster.port", state.clusterPort(id));
        settings.put("cluster.management-port", state.managementPort(id));
        settings.put("aeron.link-port", state.linkPort(id));
        settings.put("cluster.discovery.contact-points", "[" + contacts + "]");
        settings.put("cluster.discovery.required-contact-points", state.brokers() / 2 + 1);
        settings.put("store.url", quoted(own ? StoreServer.url(state.storePort()) : state.storeUrl()));
        if (own) {
            settings.put("store.user", quoted(StoreServer.USER));
            settings.put("store.password", quoted(directory.storePassword()));
        }
        settings.put("aeron.directory", quoted(directory.aeronDirectory().toString()));
        return settings;
    }

    private static String quoted(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }

    private void awaitReady(ClusterState state, List<String> names) {
        long startNs = System.nanoTime();
        List<String> waiting = new ArrayList<>(names);
        while (!waiting.isEmpty()) {
            checkCancelled();
            for (String name : List.copyOf(waiting)) {
                if (!state.isAlive(name)) {
                    throw new LocalClusterException(name + " ended while starting: " + reasonInLog(name) + " (its log: "
                            + directory.log(name) + ")");
                }
                if (isReady(state, name)) {
                    waiting.remove(name);
                    progress.say(String.format("%-12s ready after %.1f s", name, (System.nanoTime() - startNs) / 1e9));
                }
            }
            if (TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs) > READY_WITHIN_MS) {
                throw new LocalClusterException(String.join(", ", waiting) + " not ready after "
                        + READY_WITHIN_MS / 1_000 + " s: "
                        + waiting.stream().map(name -> whyNot(state, name)).collect(Collectors.joining("; "))
                        + " (logs: " + directory.log("*") + ")");
            }
            LocalProcess.sleep(POLL_MS);
        }
    }

    private boolean isReady(ClusterState state, String name) {
        return switch (name) {
            case ClusterState.STORE -> accepts(state.storePort());
            case ClusterState.DRIVER -> MediaDriverProcess.isActive(directory.aeronDirectory());
            default -> readiness(state, name).map(Readiness::ready).orElse(false);
        };
    }

    private static Optional<Readiness> readiness(ClusterState state, String id) {
        // The client's own time-out is two seconds: a broker that hangs at its start must not stop the others' progress
        // for long.
        return accepts(state.httpPort(id))
                ? new BrokerClient(new Endpoint(HOST, state.httpPort(id)))
                        .readiness()
                        .join()
                : Optional.empty();
    }

    private static String whyNot(ClusterState state, String name) {
        return name + " waits for "
                + readiness(state, name)
                        .map(readiness -> String.join(" and ", readiness.waitingFor()))
                        .orElse("its HTTP server");
    }

    private static boolean accepts(int port) {
        try (java.net.Socket socket = new java.net.Socket()) {
            socket.connect(new InetSocketAddress(HOST, port), 500);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** The last line that says why; every process of ours ends with one. */
    private String reasonInLog(String name) {
        try {
            List<String> lines = Files.readAllLines(directory.log(name));
            for (int i = lines.size() - 1; i >= 0; i--) {
                if (lines.get(i).startsWith("weir: ")) {
                    return lines.get(i).substring("weir: ".length());
                }
            }
            return lines.isEmpty() ? "it said nothing" : lines.get(lines.size() - 1);
        } catch (IOException e) {
            return "its log can't be read";
        }
    }

    /**
     * Stops every process of the cluster: the keeper first, which would start them again, then the brokers, each
     * leaving in good order, then what they stood on.
     */
    public void down() {
        try (Closeable locked = directory.lock()) {
            endKeeper();
            ClusterState state = state();
            List<String> brokers = new ArrayList<>(state.brokerIds());
            Collections.reverse(brokers);
            // One after the other: brokers that leave at once lose sight of each other and wait for nothing.
            brokers.forEach(id -> stop(state, List.of(id)));
            stop(state, List.of(ClusterState.STORE, ClusterState.DRIVER));
            directory.deleteAeronDirectory();
        } catch (IOException e) {
            throw new LocalClusterException(
                    "the lock in " + directory.root() + " can't be released: " + e.getMessage());
        }
    }

    private void stop(ClusterState state, List<String> names) {
        List<LocalProcess> running = names.stream()
                .flatMap(name -> state.process(name).stream())
                .filter(LocalProcess::isAlive)
                .toList();
        running.forEach(LocalProcess::terminate);
        for (LocalProcess process : running) {
            if (process.awaitExit(STOP_WITHIN_MS)) {
                progress.say(String.format("%-12s stopped", process.name()));
            } else {
                progress.say(String.format(
                        "%-12s did not stop within %d s: killed", process.name(), STOP_WITHIN_MS / 1_000));
                process.kill();
            }
        }
    }
}

package io.weir.cluster.bench.limited;

import io.weir.cluster.BrokerCluster;
import io.weir.config.Endpoint;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.local.ClusterDirectory;
import io.weir.supervisor.local.ClusterState;
import io.weir.supervisor.local.ClusterStatus;
import io.weir.supervisor.local.Installation;
import io.weir.supervisor.local.LocalCluster;
import io.weir.supervisor.local.LocalProcess;
import io.weir.supervisor.node.BrokerClient;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** The brokers that a command measures: its own, which are gone when it is closed, or others, which stay. */
final class BenchCluster implements AutoCloseable {
    private final Optional<LocalCluster> own;
    private final Path temporary;
    private List<Endpoint> tcp;
    private List<Endpoint> http;

    private BenchCluster(Optional<LocalCluster> own, Path temporary) {
        this.own = own;
        this.temporary = temporary;
    }

    /** Not started yet, so that whoever made it can end what a start that fails leaves. */
    static BenchCluster ofItsOwn(Consumer<String> progress) {
        try {
            Path directory = Files.createTempDirectory("weir-bench-");
            LocalCluster cluster = new LocalCluster(
                    Installation.ofThisProcess(),
                    ClusterDirectory.create(directory.resolve("cluster")),
                    progress::accept);
            return new BenchCluster(Optional.of(cluster), directory);
        } catch (IOException e) {
            throw CliException.unavailable("no directory for a cluster can be made: " + e.getMessage());
        }
    }

    static BenchCluster existing(List<ClusterStatus.Expected> brokers) {
        BenchCluster cluster = new BenchCluster(Optional.empty(), null);
        cluster.tcp =
                brokers.stream().map(broker -> Endpoint.parse(broker.tcp())).toList();
        cluster.http =
                brokers.stream().map(broker -> Endpoint.parse(broker.http())).toList();
        return cluster;
    }

    boolean isItsOwn() {
        return own.isPresent();
    }

    void start(int brokers, Map<String, String> environment) {
        ClusterState state = own.orElseThrow()
                .up(new LocalCluster.Plan(
                        Optional.of(brokers),
                        Optional.of(BrokerCluster.freePortBase(brokers)),
                        Optional.empty(),
                        Optional.empty(),
                        environment));
        tcp = state.brokerIds().stream()
                .map(id -> new Endpoint("127.0.0.1", state.tcpPort(id)))
                .toList();
        http = state.brokerIds().stream()
                .map(id -> new Endpoint("127.0.0.1", state.httpPort(id)))
                .toList();
    }

    List<Endpoint> tcp() {
        return tcp;
    }

    List<Endpoint> http() {
        return http;
    }

    /** What the cluster answers, by the first broker that does; if it refuses, its reason is reported. */
    BrokerClient.Answer ask(String method, String path, Object body) {
        BrokerClient.Answer answer = answer(method, path, body);
        if (!answer.ok()) {
            throw CliException.unavailable(method + " " + path + ": " + answer.error());
        }
        return answer;
    }

    /** The same, whatever its status. */
    BrokerClient.Answer answer(String method, String path, Object body) {
        Optional<String> token = Optional.ofNullable(System.getenv("WEIR_HTTP_ADMIN_TOKEN"));
        for (Endpoint broker : http) {
            Optional<BrokerClient.Answer> answer = new BrokerClient(broker)
                    .ask(method, path, Optional.ofNullable(body), token)
                    .join();
            if (answer.isPresent()) {
                return answer.get();
            }
        }
        throw CliException.unavailable("no broker answers "
                + method + " " + path
                + own.map(cluster -> "; their logs: " + cluster.directory().log("*"))
                        .orElse(""));
    }

    /** What each broker answers about itself, in the order of {@link #http}; one that does not is reported. */
    List<BrokerClient.Answer> askEach(String path) {
        List<CompletableFuture<Optional<BrokerClient.Answer>>> asked = http.stream()
                .map(broker -> new BrokerClient(broker).ask("GET", path, Optional.empty(), Optional.empty()))
                .toList();
        List<BrokerClient.Answer> answers = new ArrayList<>();
        for (int i = 0; i < asked.size(); i++) {
            Endpoint broker = http.get(i);
            BrokerClient.Answer answer = asked.get(i)
                    .join()
                    .orElseThrow(() -> CliException.unavailable("broker " + broker + " does not answer GET " + path));
            if (!answer.ok()) {
                throw CliException.unavailable("broker " + broker + ", GET " + path + ": " + answer.error());
            }
            answers.add(answer);
        }
        return answers;
    }

    @Override
    public void close() {
        // An interruption has done its work when it led here; waiting for processes and locks must not end by it.
        Thread.interrupted();
        // What is thrown away after this need not leave in good order.
        own.ifPresent(cluster -> cluster.directory().state().ifPresent(state -> {
            state.processes().stream().filter(LocalProcess::isAlive).forEach(LocalProcess::kill);
            cluster.down();
        }));
        if (temporary != null) {
            delete();
        }
    }

    private void delete() {
        try (Stream<Path> all = Files.walk(temporary)) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(each);
            }
        } catch (IOException | UncheckedIOException e) {
            throw CliException.unavailable(temporary + " can't be removed: " + e.getMessage());
        }
    }
}

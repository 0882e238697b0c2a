package io.weir.supervisor.cli;

import io.weir.config.Endpoint;
import io.weir.supervisor.local.ClusterDirectory;
import io.weir.supervisor.local.ClusterState;
import io.weir.supervisor.local.ClusterStatus;
import io.weir.supervisor.local.LastCluster;
import io.weir.supervisor.local.LocalProcess;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.BrokerStatus;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/**
 * Which cluster a command talks to, as a picocli mixin: a local one by its data directory, or any by one broker's HTTP
 * address.
 */
public final class ClusterOption {
    private static final int BAD_REQUEST = 400;
    private static final int UNAUTHORIZED = 401;
    private static final int UNAVAILABLE = 503;

    @ArgGroup
    private Choice choice = new Choice();

    /** One of the two, or neither. */
    static final class Choice {
        @Option(
                names = "--data",
                paramLabel = "DIR",
                description = "Data directory of a cluster on this machine (default: that of the last 'weir up').")
        private Path data;

        @Option(names = "--http", paramLabel = "HOST:PORT", description = "HTTP address of any broker of the cluster.")
        private String http;
    }

    /** Whether the command line says which. */
    public boolean isGiven() {
        return choice.data != null || choice.http != null;
    }

    /** The local cluster that is meant. */
    ClusterDirectory directory() {
        if (choice.http != null) {
            throw CliException.usage(
                    "this is about processes on this machine: say which cluster with --data, not --http");
        }
        LastCluster last = new LastCluster(System.getenv());
        Path path = Optional.ofNullable(choice.data)
                .or(last::data)
                .orElseThrow(
                        () -> CliException.unavailable(
                                "no cluster is up that was started here: start one with 'weir up', or say which with --data or --http"));
        return ClusterDirectory.existing(path);
    }

    /** The state of the local cluster that is meant; empty if it is one by its HTTP address. */
    Optional<ClusterState> local() {
        return choice.http != null ? Optional.empty() : directory().state();
    }

    /** Where a topic's recording is kept: with the local cluster, or here for one by its HTTP address. */
    public Path recording(String topic) {
        return choice.http != null ? Path.of(topic + ".csv") : directory().recording(topic);
    }

    private Optional<Endpoint> http() {
        if (choice.http == null) {
            return Optional.empty();
        }
        try {
            return Optional.of(Endpoint.parse(choice.http));
        } catch (IllegalArgumentException e) {
            throw CliException.usage("--http: " + e.getMessage());
        }
    }

    /** The brokers that should be there: from the data directory, or as the broker at {@code --http} knows them. */
    public List<ClusterStatus.Expected> expectedBrokers() {
        return http().map(ClusterOption::brokersKnownTo).orElseGet(this::localBrokers);
    }

    private List<ClusterStatus.Expected> localBrokers() {
        ClusterDirectory directory = directory();
        ClusterState state = directory
                .state()
                .orElseThrow(() ->
                        CliException.unavailable("the cluster in " + directory.root() + " was never up: 'weir up'"));
        return state.brokerIds().stream()
                .map(id -> new ClusterStatus.Expected(
                        id,
                        state.process(id).map(LocalProcess::pid).orElse(0L),
                        0,
                        "127.0.0.1:" + state.tcpPort(id),
                        "127.0.0.1:" + state.httpPort(id)))
                .toList();
    }

    /**
     * Asks the cluster through the first broker that answers; one that is not in the cluster just now is passed over.
     *
     * @throws CliException with what was wrong, if the cluster refused or nobody answered
     */
    public BrokerClient.Answer ask(String method, String path, Optional<Object> body) {
        String silence = "no broker answers: 'weir status' shows what became of them";
        for (ClusterStatus.Expected broker : expectedBrokers()) {
            Optional<BrokerClient.Answer> answer = new BrokerClient(Endpoint.parse(broker.http()))
                    .ask(method, path, body, adminToken())
                    .join();
            if (answer.isPresent() && answer.get().status() != UNAVAILABLE) {
                return accepted(answer.get());
            }
            silence = answer.map(BrokerClient.Answer::error).orElse(silence);
        }
        throw CliException.unavailable(silence);
    }

    /**
     * Asks these brokers at once, each for itself. Who does not answer, or is not in the cluster just now, is not among
     * the answers; a refusal is.
     */
    public Map<String, BrokerClient.Answer> askEach(
            List<ClusterStatus.Expected> brokers, String method, String path, Optional<Object> body) {
        Map<String, CompletableFuture<Optional<BrokerClient.Answer>>> asked = new LinkedHashMap<>();
        for (ClusterStatus.Expected broker : brokers) {
            asked.put(
                    broker.id(), new BrokerClient(Endpoint.parse(broker.http())).ask(method, path, body, adminToken()));
        }
        Map<String, BrokerClient.Answer> answers = new LinkedHashMap<>();
        asked.forEach((id, answer) -> answer.join()
                .filter(there -> there.status() != UNAVAILABLE)
                .ifPresent(there -> answers.put(id, there)));
        return answers;
    }

    private static Optional<String> adminToken() {
        return Optional.ofNullable(System.getenv("WEIR_HTTP_ADMIN_TOKEN"));
    }

    /**
     * The same answer.
     *
     * @throws CliException with what was wrong, if it is a refusal
     */
    public static BrokerClient.Answer accepted(BrokerClient.Answer answer) {
        if (answer.status() == UNAUTHORIZED) {
            throw CliException.unavailable("the cluster wants its admin token: set WEIR_HTTP_ADMIN_TOKEN");
        }
        if (answer.status() == BAD_REQUEST) {
            throw CliException.usage(answer.error());
        }
        if (!answer.ok()) {
            throw CliException.unavailable(answer.error());
        }
        return answer;
    }

    private static List<ClusterStatus.Expected> brokersKnownTo(Endpoint endpoint) {
        BrokerStatus answer = new BrokerClient(endpoint)
                .status()
                .join()
                .orElseThrow(() -> CliException.unavailable(
                        "no broker answers at " + endpoint + ": is it running, and is this its HTTP address?"));
        return answer.known().stream()
                .map(known -> new ClusterStatus.Expected(
                        known.id(), known.pid(), known.incarnation(), known.tcp(), known.http()))
                .toList();
    }
}

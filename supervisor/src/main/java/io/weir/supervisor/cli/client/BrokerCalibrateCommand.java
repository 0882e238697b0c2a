package io.weir.supervisor.cli.client;

import io.weir.config.Endpoint;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.local.ClusterStatus.Expected;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code weir broker calibrate}: what a broker carries at an objective, measured and stored for placement. */
@Command(
        name = "calibrate",
        mixinStandardHelpOptions = true,
        description = {
            "Measure what brokers carry, and keep it in the store for placement.",
            "Publishes and consumes at each broker as fast as it goes for some twenty seconds: not beside traffic that matters. An ephemeral "
                    + "topic is used, which must have a default limit (weir.topics.defaults) above what a broker carries."
        },
        footer = {
            "",
            "Examples:",
            "  weir broker calibrate                     every broker, one after the other",
            "  weir broker calibrate b2 --objective 5",
            "  weir broker calibrate --dry-run -o json   measures, and keeps nothing"
        })
public final class BrokerCalibrateCommand implements Callable<Integer> {
    @Parameters(arity = "0..*", paramLabel = "ID", description = "Brokers, as 'weir status' names them (default: all).")
    private List<String> ids = List.of();

    @Option(
            names = "--objective",
            paramLabel = "MS",
            defaultValue = "10",
            description = "The p99, in milliseconds, at which a broker is full (default: ${DEFAULT-VALUE}).")
    private double objectiveMs;

    @Option(
            names = "--round",
            paramLabel = "SECONDS",
            defaultValue = "2",
            description = "How long each of about ten measurements takes (default: ${DEFAULT-VALUE}).")
    private double roundSeconds;

    @Option(names = "--dry-run", description = "Keep nothing.")
    private boolean dryRun;

    @Mixin
    private ClusterOption cluster;

    @Mixin
    private ClientAccess access;

    @Mixin
    private Output output;

    /** One broker's result, in JSON. */
    record Result(
            String broker,
            double messagesPerSecond,
            double objectiveMs,
            double singlesPerSecond,
            double batchedPerSecond,
            int batch,
            double loneMs,
            boolean stored) {}

    @Override
    public Integer call() {
        if (!(objectiveMs >= 0.1 && objectiveMs <= 60_000) || !(roundSeconds >= 0.2 && roundSeconds <= 60)) {
            throw CliException.usage("--objective is 0.1 to 60000 ms, and --round 0.2 to 60 s");
        }
        List<Expected> brokers = cluster.expectedBrokers().stream()
                .filter(broker -> ids.isEmpty() || ids.contains(broker.id()))
                .toList();
        for (String id : ids) {
            if (brokers.stream().noneMatch(broker -> broker.id().equals(id))) {
                throw CliException.usage("there is no broker " + id + ": 'weir status' lists them");
            }
        }
        List<Result> results = new ArrayList<>();
        for (Expected broker : brokers) {
            results.add(calibrate(broker));
        }
        if (output.json()) {
            output.printJson(results);
            return ExitCode.OK;
        }
        output.printf("%-12s %16s %16s %16s %12s%n", "BROKER", "CAPACITY/S", "SINGLES/S", "BATCHED/S", "LONE");
        for (Result each : results) {
            output.printf(
                    "%-12s %16.0f %16.0f %16.0f %9.3f ms%n",
                    each.broker(),
                    each.messagesPerSecond(),
                    each.singlesPerSecond(),
                    each.batchedPerSecond(),
                    each.loneMs());
        }
        return ExitCode.OK;
    }

    private Result calibrate(Expected broker) {
        access.read();
        Calibration.Found found;
        try (Calibration calibration = new Calibration(Endpoint.parse(broker.tcp()), access)) {
            found = calibration.measure(
                    Math.round(objectiveMs * 1e6),
                    Math.round(roundSeconds * 1e9),
                    line -> System.err.println(broker.id() + ": " + line));
        } catch (IOException e) {
            throw CliException.unavailable(broker.id() + " can't be calibrated: " + e.getMessage());
        }
        Result result = new Result(
                broker.id(),
                found.atObjective(),
                objectiveMs,
                found.singles(),
                found.batched(),
                found.batch(),
                found.loneNs() / 1e6,
                !dryRun);
        if (!dryRun) {
            cluster.ask(
                    "PUT",
                    "/v1/placement/brokers/" + broker.id() + "/capacity",
                    Optional.of(Map.of(
                            "messagesPerSecond", result.messagesPerSecond(),
                            "objectiveMs", result.objectiveMs(),
                            "singlesPerSecond", result.singlesPerSecond(),
                            "batchedPerSecond", result.batchedPerSecond(),
                            "batch", result.batch(),
                            "loneMs", result.loneMs())));
        }
        return result;
    }
}

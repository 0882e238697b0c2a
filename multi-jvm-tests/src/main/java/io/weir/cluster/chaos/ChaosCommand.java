package io.weir.cluster.chaos;

import io.weir.cluster.chaos.client.ClientCommand;
import io.weir.supervisor.cli.CliCommand;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.EarlyEnd;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.cli.TimeReader;
import io.weir.supervisor.local.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code weir chaos}: breaks a cluster of its own and says whether every promise was kept. */
@Command(
        name = "chaos",
        mixinStandardHelpOptions = true,
        description = {
            "Start a cluster of its own, break it in every way that is asked for, and check from what everybody recorded that it kept its"
                    + " promises.",
            "No cluster that runs already is touched. Networks are cut in namespaces that are made for it, as root or, where the"
                    + " system allows user namespaces, as anybody; elsewhere there are process faults only. Ctrl-C ends it with a"
                    + " verdict of what was recorded."
        },
        subcommands = {ListCommand.class, CheckCommand.class, ClientCommand.class},
        footer = {
            "",
            "The same seed and options give the same schedule of faults.",
            "Exit code 0 only if every invariant was checked and held; 1 if one was violated; 3 if something was not carried out or not"
                    + " checked.",
            "",
            "Examples:",
            "  weir chaos                                         five brokers, five minutes, every fault",
            "  weir chaos --nemesis kill,partition --seed 7       some kinds of faults; the same ones next time",
            "  weir chaos --floor 0.5 --duration 30m --report r   half of every share outlives the lease; files go to r/",
            "  weir chaos list                                    what each fault is",
            "  weir chaos check history.jsonl                     checks a history again, or somebody else's"
        })
public final class ChaosCommand implements CliCommand {
    private static final Duration VERDICT_WITHIN = Duration.ofSeconds(60);

    @Spec
    private CommandSpec spec;

    @Mixin
    private Output output;

    @Option(names = "--brokers", defaultValue = "5", description = "How many brokers (default: ${DEFAULT-VALUE}).")
    private int brokers;

    @Option(
            names = "--seed",
            paramLabel = "S",
            description = "Seed of the schedule and of the load (default: a new one, which is printed).")
    private Long seed;

    @Option(
            names = "--duration",
            paramLabel = "TIME",
            defaultValue = "5m",
            converter = TimeReader.class,
            description =
                    "How long faults come: 90s, 5m (default: ${DEFAULT-VALUE}). Start, mending and check take about two minutes more.")
    private Duration duration;

    @Option(
            names = "--nemesis",
            paramLabel = "FAULT",
            split = ",",
            defaultValue = "all",
            description =
                    "Which faults may come: families or single ones, as 'weir chaos list' names them (default: ${DEFAULT-VALUE}).")
    private List<String> nemesis;

    @Option(
            names = "--floor",
            paramLabel = "PHI",
            split = ",",
            defaultValue = "0",
            description =
                    "The part of every share that a broker keeps past its lease, 0 to 1; several, and topics get them in turn"
                            + " (default: ${DEFAULT-VALUE}).")
    private List<Double> floors;

    @Option(
            names = "--report",
            paramLabel = "DIR",
            description = "For the report, the history and the logs; new or empty (default: weir-chaos-SEED here).")
    private Path report;

    @Option(
            names = "--store",
            paramLabel = "URL",
            description =
                    "A PostgreSQL to use as the store, with user and password in its URL; its process and disk are left alone"
                            + " (default: an embedded one).")
    private String store;

    @Option(
            names = "--brief",
            description =
                    "End when the cluster has mended, without the load that shows that limits are used: one invariant fewer, and"
                            + " a minute less.")
    private boolean brief;

    @Option(
            names = "--process-faults-only",
            description = "Brokers on loopback, as 'weir up' starts them: no network is made or cut.")
    private boolean processFaultsOnly;

    @Override
    public Integer call() {
        ChaosPlan plan = plan();
        ChaosRun run = new ChaosRun(plan, Installation.ofThisProcess(), line -> spec.commandLine()
                .getErr()
                .println(line));
        try (EarlyEnd onInterrupt = new EarlyEnd(run::stop, VERDICT_WITHIN)) {
            ChaosOutcome outcome = run.run();
            tell(outcome);
            return exitCode(outcome);
        } catch (IOException | IllegalStateException e) {
            throw CliException.unavailable(e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CliException.unavailable("interrupted");
        }
    }

    private ChaosPlan plan() {
        long chosen = seed != null ? seed : ThreadLocalRandom.current().nextInt(1, Integer.MAX_VALUE);
        Path directory = (report != null ? report : Path.of("weir-chaos-" + chosen)).toAbsolutePath();
        try {
            requireEmpty(directory);
            ChaosPlan plan = ChaosPlan.of(brokers, chosen, duration, directory)
                    .withFaults(Fault.named(nemesis))
                    .withFloors(floors)
                    .withStore(Optional.ofNullable(store))
                    .withProcessFaultsOnly(processFaultsOnly);
            return brief ? plan.endingBriefly() : plan;
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e.getMessage());
        }
    }

    private static void requireEmpty(Path directory) {
        if (Files.notExists(directory)) {
            return;
        }
        try (Stream<Path> inside = Files.list(directory)) {
            if (inside.findAny().isPresent()) {
                throw CliException.usage(directory + " is not empty: say another place with --report");
            }
        } catch (IOException e) {
            throw CliException.usage(directory + " can't be read: " + e.getMessage());
        }
    }

    private void tell(ChaosOutcome outcome) {
        if (output.json()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("seed", outcome.seed());
            answer.put("held", outcome.allHeld());
            answer.put("interrupted", outcome.interrupted());
            answer.put("verdicts", VerdictText.json(outcome.check()));
            answer.put("troubles", outcome.troubles());
            answer.put("faults", outcome.faults());
            answer.put("messages", outcome.messages());
            answer.put("history", outcome.history().toString());
            answer.put("report", outcome.report().toString());
            answer.put("logs", outcome.logs().toString());
            output.printJson(answer);
            return;
        }
        VerdictText.lines(outcome.check()).forEach(output::println);
        outcome.troubles().forEach(trouble -> output.println("not carried out: " + trouble));
        output.println("faults: "
                + outcome.faults().entrySet().stream()
                        .map(each -> each.getKey() + (each.getValue() > 1 ? " " + each.getValue() + "x" : ""))
                        .collect(Collectors.joining(", ")));
        output.println("messages: "
                + outcome.messages().entrySet().stream()
                        .map(each -> each.getValue() + " " + each.getKey())
                        .collect(Collectors.joining(", ")));
        output.println("report:  " + outcome.report());
        output.println("history: " + outcome.history());
        output.println("again:   weir chaos --seed " + outcome.seed() + " --brokers " + brokers + " --duration "
                + duration.toSeconds() + "s --floor "
                + floors.stream().map(Object::toString).collect(Collectors.joining(",")) + " --nemesis "
                + String.join(",", nemesis)
                + (brief ? " --brief" : "")
                + (processFaultsOnly ? " --process-faults-only" : ""));
    }

    private static int exitCode(ChaosOutcome outcome) {
        if (!outcome.violated().isEmpty()) {
            return ExitCode.FAILED;
        }
        return outcome.allHeld() ? ExitCode.OK : ExitCode.UNAVAILABLE;
    }
}

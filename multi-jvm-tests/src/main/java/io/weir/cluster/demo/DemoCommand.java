package io.weir.cluster.demo;

import io.weir.cluster.chaos.VerdictText;
import io.weir.cluster.chaos.report.ReportPage;
import io.weir.cluster.demo.Demo.Outcome;
import io.weir.cluster.demo.Demo.Pace;
import io.weir.cluster.demo.Picture.Event;
import io.weir.cluster.stage.Stage;
import io.weir.supervisor.cli.CliCommand;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.local.Installation;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code weir demo}: what Weir does, in a minute. */
@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        description = {
            "See a limit hold, in about a minute: three brokers of its own, load on all of them and then on one, a broker killed and brought"
                    + " back, one cut off from the rest where this machine lets networks be cut, and at the end the checker's verdict.",
            "A cluster that runs already is not touched, and nothing stays behind. Any key ends it, and so does Ctrl-C."
        },
        footer = {
            "",
            "Exit code 0 if every checked invariant held, 1 if one did not.",
            "",
            "Examples:",
            "  weir demo",
            "  weir demo --brief --plain        half as long and line by line",
            "  weir demo --report out           leaves the recorded history and a page for the browser in out/",
            "  weir demo -o json                only the outcome, for a script"
        })
public final class DemoCommand implements CliCommand {
    private static final long FRAME_MS = 250;
    private static final long PLAIN_EVERY_MS = 2_000;
    private static final long CLEAN_WITHIN_S = 40;

    @Spec
    private CommandSpec spec;

    @Mixin
    private Output output;

    @Option(names = "--brief", description = "About half as long: no broker is cut off.")
    private boolean brief;

    @Option(names = "--plain", description = "Lines instead of a picture; what a file or a pipe gets anyway.")
    private boolean plain;

    @Option(names = "--no-cut", description = "Cut no network: brokers on loopback, as 'weir up' starts them.")
    private boolean noCut;

    @Option(
            names = "--report",
            paramLabel = "DIR",
            description = "Leave HISTORY.jsonl and report.html there (default: nothing is left).")
    private Path report;

    private final CountDownLatch cleanedUp = new CountDownLatch(1);
    private final AtomicReference<Demo> running = new AtomicReference<>();
    private volatile boolean interrupted;

    @Override
    public Integer call() {
        Runtime.getRuntime().addShutdownHook(new Thread(this::interrupt, "demo-end"));
        Path directory = temporary();
        try {
            try {
                return tour(directory);
            } finally {
                delete(directory);
            }
        } finally {
            cleanedUp.countDown();
        }
    }

    /** Ctrl-C: the tour's own thread cleans up, and the process lives as long as that takes. */
    private void interrupt() {
        if (cleanedUp.getCount() == 0) {
            return;
        }
        interrupted = true;
        Optional.ofNullable(running.get()).ifPresent(Demo::stop);
        try {
            cleanedUp.await(CLEAN_WITHIN_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Path temporary() {
        try {
            return Files.createTempDirectory("weir-demo-");
        } catch (IOException e) {
            throw CliException.unavailable("no directory for the demo can be made: " + e.getMessage());
        }
    }

    private int tour(Path directory) {
        boolean drawn = !plain && !output.json() && Terminal.isThere();
        PrintWriter lines =
                output.json() ? spec.commandLine().getErr() : spec.commandLine().getOut();
        tell(lines, drawn, "starting a store and " + Demo.BROKERS.size() + " brokers");
        try (DemoCluster cluster = cluster(directory);
                Demo demo = new Demo(
                        cluster, directory, brief ? Pace.BRIEF : Pace.FULL, event -> tell(lines, drawn, line(event)))) {
            running.set(demo);
            if (interrupted) {
                demo.stop();
            }
            Outcome outcome = drawn ? draw(demo) : print(demo, lines);
            if (interrupted) {
                return ExitCode.FAILED;
            }
            tell(lines, false, "");
            conclude(outcome, drawn);
            keep(demo, outcome, directory);
            return outcome.check().verdicts().stream().noneMatch(verdict -> verdict.violated())
                    ? ExitCode.OK
                    : ExitCode.FAILED;
        } catch (IOException | SQLException e) {
            throw CliException.unavailable("the demo failed: " + e.getMessage());
        }
    }

    private DemoCluster cluster(Path directory) {
        Installation installation = Installation.ofThisProcess();
        Map<String, String> environment =
                Map.of("WEIR_SUPPLY_HISTORY", Demo.admissions(directory).toString());
        Path own = directory.resolve("cluster");
        Optional<String> obstacle = brief
                ? Optional.of("--brief has none of it")
                : noCut ? Optional.of("--no-cut says so") : Stage.obstacle();
        return obstacle.isPresent()
                ? new DemoCluster.OnLoopback(installation, own, Demo.BROKERS.size(), environment, obstacle.get())
                : new DemoCluster.OnStage(installation, own, Demo.BROKERS, environment);
    }

    private static void tell(PrintWriter lines, boolean drawn, String line) {
        if (!drawn) {
            lines.println(line);
            lines.flush();
        }
    }

    private static String line(Event event) {
        return Screen.clock(event.seconds()) + "  " + event.text();
    }

    private Outcome draw(Demo demo) throws IOException, SQLException {
        boolean colours =
                System.getenv("NO_COLOR") == null || System.getenv("NO_COLOR").isEmpty();
        try (Terminal terminal = Terminal.open(spec.commandLine().getOut())) {
            terminal.onKey(demo::stop);
            return whileRunning(demo, FRAME_MS, () -> {
                int[] size = terminal.size();
                Picture picture = demo.picture();
                terminal.show(
                        size[0] < Screen.LEAST_HEIGHT || size[1] < Screen.LEAST_WIDTH
                                ? Screen.small(picture, size[1], size[0])
                                : new Screen(size[1], size[0], colours).lines(picture));
            });
        }
    }

    private Outcome print(Demo demo, PrintWriter lines) throws IOException, SQLException {
        return whileRunning(demo, PLAIN_EVERY_MS, () -> {
            Picture picture = demo.picture();
            if (!picture.admitted().isEmpty()) {
                tell(lines, false, Screen.line(picture));
            }
        });
    }

    private static Outcome whileRunning(Demo demo, long everyMs, Runnable show) throws IOException, SQLException {
        Thread shower = new Thread(
                () -> {
                    try {
                        while (true) {
                            show.run();
                            TimeUnit.MILLISECONDS.sleep(everyMs);
                        }
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "demo-show");
        shower.setDaemon(true);
        shower.start();
        try {
            return demo.run();
        } finally {
            shower.interrupt();
            try {
                shower.join(TimeUnit.SECONDS.toMillis(2));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void conclude(Outcome outcome, boolean drawn) {
        if (output.json()) {
            output.printJson(json(outcome));
            return;
        }
        if (drawn) {
            outcome.events().forEach(event -> output.println(line(event)));
            output.println("");
        }
        VerdictText.lines(outcome.check()).forEach(output::println);
    }

    private static Map<String, Object> json(Outcome outcome) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("held", outcome.check().held());
        answer.put("stoppedEarly", outcome.stoppedEarly());
        answer.put("seconds", Math.round(outcome.seconds()));
        answer.put("brokers", Demo.BROKERS);
        answer.put("limit", Map.of("rate", Demo.RATE, "burst", Demo.BURST));
        answer.put("acknowledged", outcome.acknowledged());
        answer.put("delivered", outcome.delivered());
        outcome.skipped().ifPresent(why -> answer.put("notCutBecause", why));
        answer.put("events", outcome.events());
        answer.put("verdicts", VerdictText.json(outcome.check()));
        return answer;
    }

    private void keep(Demo demo, Outcome outcome, Path directory) throws IOException {
        if (report != null) {
            Files.createDirectories(report);
            Files.copy(
                    directory.resolve("HISTORY.jsonl"),
                    report.resolve("HISTORY.jsonl"),
                    StandardCopyOption.REPLACE_EXISTING);
            ReportPage.write(demo.history(), outcome.check(), report.resolve("report.html"));
            if (!output.json()) {
                output.println("the report: " + report.resolve("report.html"));
            }
        }
    }

    private static void delete(Path directory) {
        try (Stream<Path> all = Files.walk(directory)) {
            List<Path> deepestFirst = all.sorted(Comparator.reverseOrder()).toList();
            for (Path each : deepestFirst) {
                Files.deleteIfExists(each);
            }
        } catch (IOException | java.io.UncheckedIOException e) {
            throw CliException.unavailable(directory + " can't be removed: " + e.getMessage());
        }
    }
}

package io.weir.supervisor.cli.lab;

import io.weir.supervisor.cli.CliCommand;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.lab.Catalogue;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabRun;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Runs experiments of the lab and shows what came out beside what the papers say; fails if a finding does not hold. */
@Command(
        name = "lab",
        description = "Runs the papers' experiments on Weir's own algorithms and compares.",
        customSynopsis = {
            "weir lab [NAME... | all] [--seeds N] [--first-seed S]",
            "                [--set KEY=VALUE]... [-o FORMAT] [--csv PATH] [--plot DIR]",
            "       weir lab list [-o FORMAT]"
        },
        footer = {
            "",
            "Without a name every experiment runs, in about five minutes.",
            "",
            "The CSV file holds one block a table, separated by empty lines. Each block",
            "starts with its own header; its first two columns are experiment and table,",
            "and an estimate takes two columns: the mean and its 95%% half width.",
            "JSON is an object for one experiment and a list for several.",
            "",
            "Examples:",
            "  weir lab list                            what there is",
            "  weir lab drl-penalty                     one experiment, as text",
            "  weir lab drl-penalty --seeds 5 -o json   with five seeds, for a script",
            "  weir lab drl-penalty --set measured=FILE beside what 'bench penalty' measured",
            "  weir lab gdrl-scale --csv s.csv --plot . tables to a file, charts to here",
            "  weir lab all --csv out/ --plot out/      everything; one CSV file a table",
            "",
            "Exit codes: 0 every finding holds; 1 one differs; 2 wrong usage;",
            "            3 a file can't be read or written."
        })
public final class LabCommand implements CliCommand {
    private static final String EVERY = "all";

    /** For shells that complete, and for the help. */
    static final class Names implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            List<String> names = new ArrayList<>();
            Catalogue.onClassPath().all().forEach(experiment -> names.add(experiment.name()));
            names.add(EVERY);
            return names.iterator();
        }
    }

    @Spec
    private CommandSpec spec;

    @Mixin
    private Output output;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Shows this help.")
    private boolean help;

    @Parameters(
            paramLabel = "NAME",
            arity = "0..*",
            completionCandidates = Names.class,
            description = "What to run: ${COMPLETION-CANDIDATES}.")
    private List<String> names = List.of();

    @Option(names = "--seeds", paramLabel = "N", description = "How many seeds (default: the experiment's own number).")
    private Integer seeds;

    @Option(
            names = "--first-seed",
            paramLabel = "S",
            defaultValue = "1",
            description = "The first seed; the others follow it (default: ${DEFAULT-VALUE}).")
    private long firstSeed;

    @Option(
            names = "--set",
            paramLabel = "KEY=VALUE",
            description = "An experiment's own option, such as the file of a trace.")
    private Map<String, String> options = Map.of();

    @Option(
            names = "--csv",
            paramLabel = "PATH",
            description = "Writes the tables to this file; to a directory, or a path that ends in /, one file a table.")
    private String csv;

    @Option(
            names = "--plot",
            paramLabel = "DIR",
            description = "Writes the charts as SVG to this directory, which is made if it is missing.")
    private Path plot;

    @Option(
            names = "--progress",
            paramLabel = "STYLE",
            defaultValue = "auto",
            description = "Progress on standard error: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private LabProgress.Style progress;

    /** A line of {@code lab list}. */
    public record Listed(String experiment, String source, String summary, int defaultSeeds) {}

    @Command(
            name = "list",
            description = "Lists the experiments.",
            footer = {"", "Example:", "  weir lab list -o json"})
    int list(
            @Mixin Output listOutput,
            @Option(
                            names = {"-h", "--help"},
                            usageHelp = true,
                            description = "Shows this help.")
                    boolean listHelp) {
        if (!names.isEmpty()) {
            throw CliException.usage("'lab list' takes no name, but got " + String.join(" ", names));
        }
        List<Experiment> all = List.copyOf(Catalogue.onClassPath().all());
        if (output.json() || listOutput.json()) {
            output.printJson(all.stream()
                    .map(each -> new Listed(each.name(), each.source(), each.summary(), each.defaultSeeds()))
                    .toList());
            return ExitCode.OK;
        }
        int name = all.stream().mapToInt(each -> each.name().length()).max().orElse(0);
        int source = all.stream().mapToInt(each -> each.source().length()).max().orElse(0);
        for (Experiment each : all) {
            output.println(String.format(
                    Locale.ROOT, "%-" + name + "s  %-" + source + "s  %s", each.name(), each.source(), each.summary()));
        }
        return ExitCode.OK;
    }

    @Override
    public Integer call() {
        List<Experiment> chosen = chosen(Catalogue.onClassPath());
        checkSeeds(chosen);
        LabFiles files = new LabFiles(csv, plot);
        ReadOptions given = new ReadOptions(options);
        LabProgress shown = new LabProgress(spec.commandLine().getErr(), progress, System::nanoTime);
        List<LabOutcome> outcomes = new ArrayList<>();
        for (Experiment experiment : chosen) {
            shown.start(experiment.name(), outcomes.size() + 1, chosen.size());
            LabOutcome outcome;
            try {
                outcome = run(experiment, given, shown, files);
            } finally {
                shown.clear();
            }
            outcomes.add(outcome);
            if (!output.json()) {
                LabText.outcome(outcome).forEach(output::println);
            }
        }
        if (output.json()) {
            List<Map<String, Object>> results =
                    outcomes.stream().map(LabOutcome::asJson).toList();
            output.printJson(results.size() == 1 ? results.get(0) : results);
        } else if (outcomes.size() > 1) {
            LabText.summary(outcomes).forEach(output::println);
        }
        if (!given.unread().isEmpty()) {
            throw CliException.usage("no experiment of this run has an option " + String.join(", ", given.unread())
                    + "; what came out was measured without it");
        }
        return outcomes.stream().allMatch(LabOutcome::holds) ? ExitCode.OK : ExitCode.FAILED;
    }

    private List<Experiment> chosen(Catalogue catalogue) {
        if (catalogue.all().isEmpty()) {
            throw CliException.unavailable("there is no experiment on the class path");
        }
        Set<Experiment> chosen = new LinkedHashSet<>();
        for (String name : names.isEmpty() ? List.of(EVERY) : names) {
            if (name.equals(EVERY)) {
                chosen.addAll(catalogue.all());
            } else {
                chosen.add(catalogue.find(name).orElseThrow(() -> unknown(name, catalogue.near(name))));
            }
        }
        return List.copyOf(chosen);
    }

    private static CliException unknown(String name, List<String> near) {
        String hint = near.isEmpty()
                ? "'weir lab list' shows what there is"
                : "did you mean " + String.join(" or ", near) + "?";
        return CliException.usage("there is no experiment '" + name + "'; " + hint);
    }

    private void checkSeeds(List<Experiment> chosen) {
        if (seeds != null && seeds < 1) {
            throw CliException.usage("--seeds must be at least 1, but is " + seeds);
        }
        for (Experiment experiment : chosen) {
            if (firstSeed > Long.MAX_VALUE - seedsOf(experiment)) {
                throw CliException.usage(
                        "--first-seed " + firstSeed + " leaves no room for " + seedsOf(experiment) + " seeds");
            }
        }
    }

    private int seedsOf(Experiment experiment) {
        return seeds != null ? seeds : experiment.defaultSeeds();
    }

    private LabOutcome run(Experiment experiment, ReadOptions given, LabProgress shown, LabFiles files) {
        LabRun run = new LabRun(seedsOf(experiment), firstSeed, given, shown);
        long startNs = System.nanoTime();
        try {
            LabReport report = experiment.run(run);
            List<String> charts = files.write(experiment.name(), report);
            return new LabOutcome(experiment, run, report, charts, System.nanoTime() - startNs);
        } catch (UncheckedIOException e) {
            throw CliException.unavailable(
                    experiment.name() + ": " + e.getCause().getMessage());
        } catch (IllegalArgumentException e) {
            if (options.isEmpty()) {
                throw e; // nothing of the user's that it could refuse: a defect, to be seen with its stack trace
            }
            throw CliException.usage(experiment.name() + ": " + e.getMessage());
        }
    }

    /** What {@code --set} said, and which of it nobody asked for: a misspelt key must not pass for a default. */
    private static final class ReadOptions extends AbstractMap<String, String> {
        private final Map<String, String> all;
        private final Set<String> unread;

        ReadOptions(Map<String, String> all) {
            this.all = Map.copyOf(all);
            this.unread = new TreeSet<>(all.keySet());
        }

        synchronized Set<String> unread() {
            return new TreeSet<>(unread);
        }

        @Override
        public synchronized String get(Object key) {
            unread.remove(key);
            return all.get(key);
        }

        @Override
        public boolean containsKey(Object key) {
            return get(key) != null;
        }

        @Override
        public String getOrDefault(Object key, String otherwise) {
            String value = get(key);
            return value == null ? otherwise : value;
        }

        @Override
        public Set<Entry<String, String>> entrySet() {
            return all.entrySet();
        }
    }
}

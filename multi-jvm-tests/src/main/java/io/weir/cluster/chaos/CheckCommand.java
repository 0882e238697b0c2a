package io.weir.cluster.chaos;

import io.weir.cluster.chaos.report.ReportPage;
import io.weir.cluster.history.History;
import io.weir.cluster.history.HistoryCheck;
import io.weir.cluster.history.HistoryException;
import io.weir.cluster.history.Verdict;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code weir chaos check}: whether a recorded history keeps every invariant. */
@Command(
        name = "check",
        mixinStandardHelpOptions = true,
        description = {
            "Check a history, one JSON object a line, whoever wrote it. Of a violation the smallest window is shown that has it.",
            "An invariant for which the history has no records is reported as not checked."
        },
        footer = {
            "",
            "The least that is of use, times in nanoseconds of one clock, in any order:",
            "  {\"t\":0,\"type\":\"limit\",\"topic\":\"orders\",\"rate\":1000,\"burst\":100}",
            "  {\"t\":1000,\"type\":\"admit\",\"topic\":\"orders\",\"broker\":\"b1\",\"inc\":1,\"cost\":1}",
            "",
            "Further types: limit-asked, publish, deliver, channel, broker, nemesis, phase, setup, supply, snapshot, lease, limit-row.",
            "",
            "Exit code 0 only if something was checked and all of that held; 1 if an invariant was violated; 3 if the file can't be read"
                    + " or nothing in it can be checked.",
            "",
            "Examples:",
            "  weir chaos check history.jsonl",
            "  weir chaos check history.jsonl -o json",
            "  weir chaos check history.jsonl --html report.html"
        })
final class CheckCommand implements Callable<Integer> {
    @Parameters(paramLabel = "HISTORY.jsonl", description = "The history.")
    private Path file;

    @Option(names = "--html", paramLabel = "FILE", description = "Also write the report, one page for a browser.")
    private Path html;

    @Mixin
    private Output output;

    @Override
    public Integer call() {
        History history = read();
        HistoryCheck check = HistoryCheck.of(history);
        if (html != null) {
            report(history, check);
        }
        if (output.json()) {
            output.printJson(json(history, check));
        } else {
            text(history, check);
        }
        if (check.verdicts().stream().anyMatch(Verdict::violated)) {
            return ExitCode.FAILED;
        }
        if (!check.held()) {
            throw CliException.unavailable("nothing in " + file + " can be checked");
        }
        return ExitCode.OK;
    }

    private History read() {
        try {
            History history = History.read(file);
            if (history.isEmpty()) {
                throw CliException.unavailable(file + " has no records: there is nothing to check");
            }
            return history;
        } catch (HistoryException e) {
            throw CliException.unavailable(e.getMessage());
        } catch (NoSuchFileException e) {
            throw CliException.unavailable("there is no file " + file);
        } catch (IOException e) {
            throw CliException.unavailable(
                    Files.isDirectory(file) ? file + " is a directory" : file + " can't be read: " + e.getMessage());
        }
    }

    private void report(History history, HistoryCheck check) {
        try {
            ReportPage.write(history, check, html);
        } catch (IOException e) {
            throw CliException.unavailable("the report " + html + " can't be written: " + e.getMessage());
        }
    }

    private void text(History history, HistoryCheck check) {
        output.printf(
                "%s: %d records over %.1f s%n",
                file,
                history.counts().values().stream().mapToLong(Long::longValue).sum(),
                (history.lastNs() - history.firstNs()) / 1e9);
        history.unknown()
                .forEach((type, count) ->
                        output.printf("  %d of the unknown type '%s' were not looked at%n", count, type));
        VerdictText.lines(check).forEach(output::println);
    }

    private Map<String, Object> json(History history, HistoryCheck check) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("file", file.toString());
        answer.put("held", check.held());
        answer.put("firstNs", history.firstNs());
        answer.put("lastNs", history.lastNs());
        answer.put("records", history.counts());
        answer.put("verdicts", VerdictText.json(check));
        return answer;
    }
}

package io.weir.supervisor.cli.topic;

import io.weir.config.value.Limit;
import io.weir.limiter.simulation.ArrivalTrace;
import io.weir.limiter.simulation.Replay;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.node.TopicDescription;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code weir topic what-if}: a recorded topic under another limit. */
@Command(
        name = "what-if",
        mixinStandardHelpOptions = true,
        header = "Shows what another limit would have done to a topic's recorded messages.",
        description = {
            "Show what another limit would have done to the messages that 'weir topic profile --live' recorded: they are replayed"
                    + " through the buckets, the sharing and the borrowing that brokers run. Nothing is changed.",
            "As many brokers as were recorded get the messages that they got; of another number, each gets its part at random."
                    + " Mode, waiting line and adaptation are the topic's own. A topic that is only counted (shadow) is shown as"
                    + " if it shaped. Batches count message by message."
        },
        footer = {
            "",
            "Examples:",
            "  weir topic what-if orders --rate 1000 --burst 50",
            "  weir topic what-if orders --rate 1000 --burst 50 --brokers 6 -o json"
        })
final class TopicWhatIfCommand implements Callable<Integer> {
    private static final int MOST_BROKERS = 100;

    @Parameters(paramLabel = "NAME", description = "The topic.")
    private String name;

    @Option(names = "--rate", required = true, paramLabel = "R", description = "Messages a second, above 0.")
    private double rate;

    @Option(names = "--burst", required = true, paramLabel = "B", description = "Messages at once, at least 1.")
    private double burst;

    @Option(names = "--brokers", paramLabel = "K", description = "Over so many brokers (default: those recorded).")
    private Integer brokers;

    @Mixin
    private RecordingFile recording;

    @Mixin
    private ClusterOption cluster;

    @Mixin
    private Output output;

    /** One way to hold the limit. */
    record Row(
            int brokers,
            boolean borrowing,
            double delayedFraction,
            double p50Seconds,
            double p99Seconds,
            double longestSeconds,
            long refused,
            double refusedFraction) {
        static Row of(ArrivalTrace trace, Replay.Terms terms) {
            Replay.Outcome outcome = Replay.of(trace, terms);
            return new Row(
                    terms.brokers(),
                    terms.borrows(),
                    outcome.delayedFraction(),
                    outcome.p50Seconds(),
                    outcome.p99Seconds(),
                    outcome.longestSeconds(),
                    outcome.refused(),
                    outcome.refusedFraction());
        }
    }

    /** For scripts. */
    record Answer(
            String topic,
            double rate,
            double burst,
            String mode,
            String adapt,
            long messages,
            double messagesPerSecond,
            boolean asRecorded,
            List<Row> rows) {}

    @Override
    public Integer call() {
        Limit limit = limit();
        TopicDescription topic =
                cluster.ask("GET", TopicChange.path(name), Optional.empty()).as(TopicDescription.class);
        Path file = recording.path(name, cluster);
        ArrivalTrace trace = recording.read(name, file);
        int recorded = trace.brokers().size();
        int k = brokers == null ? recorded : brokers;
        List<Row> rows = new ArrayList<>();
        rows.add(Row.of(trace, terms(limit, 1, false, topic)));
        if (k > 1) {
            rows.add(Row.of(trace, terms(limit, k, false, topic)));
            rows.add(Row.of(trace, terms(limit, k, true, topic)));
        }
        print(new Answer(
                name,
                rate,
                burst,
                topic.mode(),
                topic.adapt(),
                trace.messages(),
                trace.messagesPerSecond(),
                k == recorded,
                rows));
        return ExitCode.OK;
    }

    private Limit limit() {
        if (brokers != null && (brokers < 1 || brokers > MOST_BROKERS)) {
            throw CliException.usage("--brokers " + brokers + " is not within 1 and " + MOST_BROKERS);
        }
        try {
            return Limit.of(rate, burst);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e.getMessage());
        }
    }

    private static Replay.Terms terms(Limit limit, int brokers, boolean borrows, TopicDescription topic) {
        try {
            Replay.Terms shaping = LiveProfile.shaping(limit, brokers, borrows, topic);
            return topic.mode().equals("police") ? shaping.policing() : shaping;
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e.getMessage());
        }
    }

    private void print(Answer answer) {
        if (output.json()) {
            output.printJson(answer);
            return;
        }
        output.printf(
                "%,d recorded messages, %.6g a second, against r = %s and b = %s, mode %s, adapts by %s:%n",
                answer.messages(),
                answer.messagesPerSecond(),
                TopicDescribeCommand.amount(rate),
                TopicDescribeCommand.amount(burst),
                answer.mode(),
                answer.adapt());
        String row = "%-24s %9s %12s %12s %12s %9s%n";
        output.printf(row, "", "DELAYED", "P50", "P99", "LONGEST", "REFUSED");
        for (Row each : answer.rows()) {
            output.printf(
                    row,
                    each.brokers() == 1
                            ? "one bucket"
                            : each.brokers() + " brokers" + (each.borrowing() ? ", borrowing" : ""),
                    percent(each.delayedFraction()),
                    LiveProfile.ms(each.p50Seconds()),
                    LiveProfile.ms(each.p99Seconds()),
                    LiveProfile.ms(each.longestSeconds()),
                    percent(each.refusedFraction()));
        }
        if (rate <= answer.messagesPerSecond()) {
            output.println(
                    "More messages came than r lets pass: they wait until the line is full or their time is over.");
        }
    }

    private static String percent(double part) {
        return TopicDescribeCommand.amount(part * 100) + "%";
    }
}

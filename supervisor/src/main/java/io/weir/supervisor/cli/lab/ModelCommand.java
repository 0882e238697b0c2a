package io.weir.supervisor.cli.lab;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.weir.limiter.algorithm.BucketModel;
import io.weir.supervisor.cli.CliCommand;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code weir model}: what a limit does to Poisson messages, whole and split over brokers, by calculation. */
@Command(
        name = "model",
        mixinStandardHelpOptions = true,
        header = "Calculates what a limit does to random messages, whole and split.",
        description = "Calculates how long Poisson messages wait for tokens of a limit (M/D/1, as in SRTM's Eq. 1), "
                + "and what splitting the limit evenly over brokers costs. Nothing needs to run.",
        footer = {
            "",
            "The mean delay is over all messages. JSON also has Eq. 1's own, which is exact for a burst of 1 only.",
            "",
            "Examples:",
            "  weir model --arrival 10000 --rate 11000 --burst 27",
            "  weir model --arrival 10000 --rate 11000 --burst 27 --split 6 -o json"
        })
public final class ModelCommand implements CliCommand {
    private static final int MAX_SPLIT = 10_000;

    @Option(
            names = "--arrival",
            required = true,
            paramLabel = "MSG/S",
            description = "Messages that arrive a second, in all.")
    private double arrival;

    @Option(names = "--rate", required = true, paramLabel = "MSG/S", description = "The limit's r, above the arrivals.")
    private double rate;

    @Option(names = "--burst", required = true, paramLabel = "MSGS", description = "The limit's b, at least 1.")
    private double burst;

    @Option(
            names = "--split",
            paramLabel = "K",
            description = "Also split it evenly over 2, 3, … K brokers, each with its part of the messages.")
    private Integer split;

    @Mixin
    private Output output;

    /** One line of the answer; {@code split} is left out unless the user asked for one. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record Row(
            Integer split,
            double load,
            double delayedFraction,
            double meanDelaySeconds,
            double meanDelayByEq1Seconds,
            double p99DelaySeconds) {

        static Row of(Integer split, BucketModel model) {
            return new Row(
                    split,
                    model.load(),
                    model.delayedFraction(),
                    model.meanDelaySeconds(),
                    model.meanDelayByEq1Seconds(),
                    model.delayQuantileSeconds(0.99));
        }
    }

    @Override
    public Integer call() {
        if (split != null && (split < 1 || split > MAX_SPLIT)) {
            throw CliException.usage("--split " + split + " is not between 1 and " + MAX_SPLIT);
        }
        List<Row> rows = new ArrayList<>();
        try {
            BucketModel whole = new BucketModel(arrival, rate, burst);
            for (int k = 1; k <= (split == null ? 1 : split); k++) {
                if (whole.burst() / k < 1) {
                    throw CliException.usage("--split " + split + " is too many for a burst of " + burst
                            + ": a share must hold at least one whole token, so split into at most " + (k - 1));
                }
                rows.add(Row.of(split == null ? null : k, whole.share(k)));
            }
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e.getMessage());
        }
        if (output.json()) {
            output.printJson(split == null ? rows.get(0) : rows);
        } else {
            print(rows);
        }
        return ExitCode.OK;
    }

    private void print(List<Row> rows) {
        output.printf(
                "%d%% of what the limit lets through arrives.%n%n",
                Math.round(rows.get(0).load() * 100));
        output.printf("%6s  %12s  %14s  %14s%n", "split", "delayed", "mean delay", "p99 delay");
        for (Row row : rows) {
            output.printf(
                    "%6d  %11.4f%%  %11.4f ms  %11.4f ms%n",
                    row.split() == null ? 1 : row.split(),
                    row.delayedFraction() * 100,
                    row.meanDelaySeconds() * 1_000,
                    row.p99DelaySeconds() * 1_000);
        }
    }
}

package io.weir.supervisor.cli.topic;

import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.node.TopicDescription;
import io.weir.supervisor.node.TopicDescription.BrokerShare;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code weir topic describe}. */
@Command(
        name = "describe",
        mixinStandardHelpOptions = true,
        description = {
            "Show a topic's limit and which broker has how much of it now.",
            "A broker that does not answer at once is silent, stopped or fenced, and shown with what it had when it was"
                    + " last heard; the sums are without it."
        },
        footer = {"", "Examples:", "  weir topic describe orders", "  weir topic describe orders -o json | jq .shares"})
final class TopicDescribeCommand implements Callable<Integer> {
    @Parameters(paramLabel = "NAME", description = "The topic.")
    private String name;

    @Mixin
    private ClusterOption cluster;

    @Mixin
    private Output output;

    @Override
    public Integer call() {
        TopicDescription topic =
                cluster.ask("GET", TopicChange.path(name), Optional.empty()).as(TopicDescription.class);
        if (output.json()) {
            output.printJson(topic);
            return ExitCode.OK;
        }
        output.printf(
                "%s: at most %s + %s·t messages in t seconds, floor %s, adapts by %s, indicator %s%n",
                topic.name(),
                amount(topic.burst()),
                amount(topic.rate()),
                amount(topic.floor()),
                topic.adapt(),
                topic.indicator());
        output.printf(
                "mode %s, clock %s, borrows %s, waits at most %d ms, queues at most %d then %s%s%n",
                topic.mode(),
                topic.clock(),
                topic.borrows() ? "on" : "off",
                topic.maxDelayMs(),
                topic.maxQueued(),
                topic.overflow(),
                topic.paused() ? ", paused" : "");
        if (!topic.done()) {
            output.printf("version %d is not complete yet%n", topic.version());
        }
        topic.channels().forEach(channel -> output.println("channel " + ChannelCommand.text(channel)));
        String row = "%-8s %12s %12s %12s %12s %8s %10s  %s%n";
        output.printf(row, "BROKER", "RATE/S", "BURST", "LEVEL", "DEMAND/S", "FILL", "LEASE", "STATE");
        for (BrokerShare share : topic.shares()) {
            output.printf(
                    row,
                    share.broker(),
                    amount(share.rate()),
                    amount(share.burst()),
                    amount(share.level()),
                    amount(share.demand()),
                    share.fillRatio() == null ? "-" : amount(share.fillRatio()),
                    share.answered() ? share.leaseRemainingMs() + " ms" : "-",
                    share.ageMs() == null ? share.state() : share.state() + ", as of " + age(share.ageMs()) + " ago");
        }
        output.printf(row, "all", amount(topic.sumRate()), amount(topic.sumBurst()), "", "", "", "", "");
        if (topic.inFlight().rate() > 0 || topic.inFlight().burst() > 0) {
            output.printf(
                    row,
                    "moving",
                    amount(topic.inFlight().rate()),
                    amount(topic.inFlight().burst()),
                    "",
                    "",
                    "",
                    "",
                    "");
        }
        if (topic.stranded().rate() > 0 || topic.stranded().burst() > 0) {
            output.printf(
                    row,
                    "stranded",
                    amount(topic.stranded().rate()),
                    amount(topic.stranded().burst()),
                    "",
                    "",
                    "",
                    "",
                    "held by brokers that stopped or are cut off");
        }
        return ExitCode.OK;
    }

    private static String age(long millis) {
        return millis < 10_000 ? millis + " ms" : millis / 1_000 + " s";
    }

    /** With at most three digits behind the point, and none that say nothing. */
    static String amount(double number) {
        BigDecimal rounded =
                BigDecimal.valueOf(number).setScale(3, RoundingMode.HALF_UP).stripTrailingZeros();
        return rounded.signum() == 0 ? "0" : rounded.toPlainString();
    }
}

package io.weir.supervisor.cli.topic;

import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code weir topic create}. */
@Command(
        name = "create",
        mixinStandardHelpOptions = true,
        description = {
            "Create a topic with its limit, in equal parts on all brokers that are up.",
            "In every interval of t seconds the whole cluster admits at most BURST + RATE·t messages."
        },
        footer = {
            "",
            "Examples:",
            "  weir topic create orders --rate 1000 --burst 100",
            "  weir topic create alarms --rate 50 --burst 20 --floor 0.5    half of it goes on through any outage"
        })
final class TopicCreateCommand implements Callable<Integer> {
    @Parameters(paramLabel = "NAME", description = "1 to 64 of . a-z A-Z 0-9 _ -")
    private String name;

    @Option(names = "--rate", required = true, paramLabel = "R", description = "Messages a second, above 0.")
    private double rate;

    @Option(names = "--burst", required = true, paramLabel = "B", description = "Messages at once, at least 1.")
    private double burst;

    @Option(
            names = "--adapt",
            paramLabel = "HOW",
            defaultValue = "placed",
            description =
                    "How the brokers divide the limit: placed (where placement put the publishers, else by demand), gossip (by "
                            + "demand, between neighbours), adaptor (by demand, from the middle) or static "
                            + "(equal parts); default: ${DEFAULT-VALUE}.")
    private String adapt;

    @Option(
            names = "--floor",
            paramLabel = "PHI",
            defaultValue = "0",
            description =
                    "The part of its share that a broker keeps without a lease, 0 to 1: what goes on when the store is "
                            + "away or the broker is cut off, and what waits for a confirmed stop when it dies (default: ${DEFAULT-VALUE}).")
    private double floor;

    @Option(
            names = "--indicator",
            paramLabel = "Q",
            defaultValue = "fill-ratio",
            description =
                    "What placed and gossip topics make equal at all brokers: fill-ratio or utilisation (supply in "
                            + "proportion to demand), spare-bandwidth or mean-response-time (as much to spare everywhere) "
                            + "or discard-rate (nothing moves until somebody is short); default: ${DEFAULT-VALUE}.")
    private String indicator;

    @Mixin
    private DeliveryOption delivery;

    @Mixin
    private ClusterOption cluster;

    @Mixin
    private Output output;

    @Override
    public Integer call() {
        TopicChange.Accepted accepted = TopicChange.accepted(cluster.ask(
                "POST", TopicChange.path(name), Optional.of(delivery.with(rate, burst, adapt, floor, indicator))));
        if (output.json()) {
            output.printJson(accepted);
        } else {
            output.printf("%s: at most %s + %s·t messages in t seconds%n", name, plain(burst), plain(rate));
        }
        return ExitCode.OK;
    }

    private static String plain(double number) {
        return TopicDescribeCommand.amount(number);
    }
}

package io.weir.supervisor.cli.topic;

import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.node.TopicRequest;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code weir topic limit}. */
@Command(
        name = "limit",
        mixinStandardHelpOptions = true,
        description = {
            "Change a topic's limit, floor, adaptation or indicator; what is not given stays as it is.",
            "More takes effect at once. Less is taken back from the brokers first, which takes a moment: the command waits until "
                    + "it is complete, and at no moment more passes than the old limit allows.",
            "A change waits for the one before it. Of several that wait the last one wins, and the others report that. A change "
                    + "that has waited for 4 s is not made, and the error says what is in the way."
        },
        footer = {
            "",
            "Examples:",
            "  weir topic limit orders --rate 2000 --burst 200",
            "  weir topic limit orders --floor 0.5"
        })
final class TopicLimitCommand implements Callable<Integer> {
    @Parameters(paramLabel = "NAME", description = "The topic.")
    private String name;

    @Option(names = "--rate", paramLabel = "R", description = "Messages a second, above 0.")
    private Double rate;

    @Option(names = "--burst", paramLabel = "B", description = "Messages at once, at least 1.")
    private Double burst;

    @Option(names = "--adapt", paramLabel = "HOW", description = "placed, gossip, adaptor or static.")
    private String adapt;

    @Option(names = "--floor", paramLabel = "PHI", description = "0 to 1, see 'weir topic create --help'.")
    private Double floor;

    @Option(
            names = "--indicator",
            paramLabel = "Q",
            description = "fill-ratio, spare-bandwidth, utilisation, mean-response-time or discard-rate, see "
                    + "'weir topic create --help'.")
    private String indicator;

    @Option(
            names = "--wait",
            paramLabel = "SECONDS",
            defaultValue = "60",
            description =
                    "How long to wait until the change is complete (default: ${DEFAULT-VALUE}); it goes on either way.")
    private long waitSeconds;

    @Mixin
    private ClusterOption cluster;

    @Mixin
    private Output output;

    record Outcome(String name, long version, boolean complete, boolean superseded) {}

    @Override
    public Integer call() throws InterruptedException {
        String path = TopicChange.path(name);
        TopicChange.Accepted accepted = TopicChange.accepted(cluster.ask(
                "PUT", path + "/limit", Optional.of(TopicRequest.limit(rate, burst, adapt, floor, indicator))));
        boolean complete = TopicChange.awaitDone(cluster, path, accepted.version(), waitSeconds);
        if (output.json()) {
            output.printJson(new Outcome(name, accepted.version(), complete, accepted.superseded()));
        } else {
            output.println(
                    complete
                            ? accepted.superseded()
                                    ? name + " has the limit of a change that came later: version " + accepted.version()
                                    : name + " has its new limit"
                            : name + " has not reached its new limit yet; 'weir topic describe " + name
                                    + "' shows what is missing");
        }
        return complete ? ExitCode.OK : ExitCode.FAILED;
    }
}

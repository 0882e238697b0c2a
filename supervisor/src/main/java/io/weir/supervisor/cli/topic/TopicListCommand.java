package io.weir.supervisor.cli.topic;

import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.node.TopicDescription;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code weir topic list}. */
@Command(
        name = "list",
        mixinStandardHelpOptions = true,
        description = "List all topics with their limits.",
        footer = {"", "Example:", "  weir topic list -o json | jq -r '.[].name'"})
final class TopicListCommand implements Callable<Integer> {
    @Mixin
    private ClusterOption cluster;

    @Mixin
    private Output output;

    @Override
    public Integer call() {
        TopicDescription.Summary[] topics =
                cluster.ask("GET", "/v1/topics", Optional.empty()).as(TopicDescription.Summary[].class);
        if (output.json()) {
            output.printJson(topics);
            return ExitCode.OK;
        }
        String row = "%-40s %12s %12s %-8s %6s  %s%n";
        output.printf(row, "TOPIC", "RATE/S", "BURST", "ADAPT", "FLOOR", "STATE");
        for (TopicDescription.Summary topic : topics) {
            output.printf(
                    row,
                    topic.name(),
                    TopicDescribeCommand.amount(topic.rate()),
                    TopicDescribeCommand.amount(topic.burst()),
                    topic.adapt(),
                    TopicDescribeCommand.amount(topic.floor()),
                    topic.done() ? "complete" : "changing");
        }
        return ExitCode.OK;
    }
}

package io.weir.supervisor.cli.topic;

import io.weir.supervisor.cli.CliCommand;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code weir topic}: what has to do with one topic; each subcommand is its own class. */
@Command(
        name = "topic",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        description = "Topics and their limits.",
        subcommands = {
            TopicCreateCommand.class,
            TopicLimitCommand.class,
            TopicDescribeCommand.class,
            TopicListCommand.class,
            TopicDeliveryCommand.class,
            TopicProfileCommand.class,
            TopicWhatIfCommand.class
        },
        footer = {
            "",
            "Examples:",
            "  weir topic create orders --rate 1000 --burst 100",
            "  weir topic describe orders -o json",
            "  weir topic profile --live orders --for 60s     the limit that a topic needs, from what it gets now"
        })
public final class TopicCommand implements CliCommand {
    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "Which command? 'weir topic --help' lists them.");
    }

    @Command(
            name = "pause",
            mixinStandardHelpOptions = true,
            description = "Let messages in, but keep them from the channels, until 'weir topic resume'.",
            footer = {"", "Example:", "  weir topic pause orders"})
    int pause(@Mixin ClusterOption cluster, @Parameters(paramLabel = "NAME", description = "The topic.") String name) {
        return change(cluster, "POST", TopicChange.path(name) + "/pause", name + " is paused");
    }

    @Command(
            name = "resume",
            mixinStandardHelpOptions = true,
            description = "End a pause.",
            footer = {"", "Example:", "  weir topic resume orders"})
    int resume(@Mixin ClusterOption cluster, @Parameters(paramLabel = "NAME", description = "The topic.") String name) {
        return change(cluster, "POST", TopicChange.path(name) + "/resume", name + " goes on");
    }

    @Command(
            name = "delete",
            mixinStandardHelpOptions = true,
            description = "Delete a topic with its channels and all messages that brokers hold of it.",
            footer = {"", "Example:", "  weir topic delete orders"})
    int delete(@Mixin ClusterOption cluster, @Parameters(paramLabel = "NAME", description = "The topic.") String name) {
        return change(cluster, "DELETE", TopicChange.path(name), name + " is deleted");
    }

    static int change(ClusterOption cluster, String method, String path, String said) {
        cluster.ask(method, path, Optional.empty());
        System.out.println(said);
        return ExitCode.OK;
    }
}

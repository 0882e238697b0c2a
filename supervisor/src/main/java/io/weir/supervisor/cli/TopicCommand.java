package io.weir.supervisor.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
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
            TopicProfileCommand.class
        },
        footer = {
            "",
            "Examples:",
            "  weir topic create orders --rate 1000 --burst 100",
            "  weir topic describe orders -o json",
            "  weir topic profile orders.csv     the limit that a recorded trace needs"
        })
public final class TopicCommand implements CliCommand {
    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "Which command? 'weir topic --help' lists them.");
    }
}

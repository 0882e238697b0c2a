package io.weir.cluster.chaos;

import io.weir.supervisor.cli.CliCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code weir chaos}: each subcommand is its own class. */
@Command(
        name = "chaos",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        description = "Check from a recorded history that a cluster kept its promises.",
        subcommands = {CheckCommand.class},
        footer = {"", "Examples:", "  weir chaos check history.jsonl", "  weir chaos check history.jsonl -o json"})
public final class ChaosCommand implements CliCommand {
    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "Which command? 'weir chaos --help' lists them.");
    }
}

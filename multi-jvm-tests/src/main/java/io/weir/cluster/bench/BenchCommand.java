package io.weir.cluster.bench;

import io.weir.cluster.bench.limited.PenaltyCommand;
import io.weir.cluster.bench.limited.PlacementBenchCommand;
import io.weir.supervisor.cli.CliCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code weir bench}: how fast it is; each subcommand is its own class. */
@Command(
        name = "bench",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        description = "Measure a broker under load, alone or beside a peer in the same run.",
        subcommands = {
            LatencyCommand.class,
            ThroughputCommand.class,
            PublisherCommand.class,
            PlacementBenchCommand.class,
            PenaltyCommand.class,
            FirstCommand.class,
            QueuedCommand.class,
            StampsCommand.class,
            TopicsCommand.class,
            RelayCommand.class
        },
        footer = {
            "",
            "Examples:",
            "  weir bench latency --rate 10000 --publishers 1000 --seconds 20",
            "  weir bench throughput --against nats@127.0.0.1:4222",
            "  weir bench first --idle 5s",
            "",
            "What of a message's CPU time (brokerCpuNanosPerMessage of latency and throughput) is the limiter's, in a source tree:",
            "  mvn -Pquick,limit-bench -pl topic-shards -am test"
        })
public final class BenchCommand implements CliCommand {
    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "Which command? 'weir bench --help' lists them.");
    }
}

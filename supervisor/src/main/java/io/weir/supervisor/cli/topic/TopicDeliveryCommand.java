package io.weir.supervisor.cli.topic;

import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code weir topic delivery}. */
@Command(
        name = "delivery",
        mixinStandardHelpOptions = true,
        description = "Change how a topic treats its messages; what is not given stays as it is.",
        footer = {"", "Example:", "  weir topic delivery orders --mode police"})
final class TopicDeliveryCommand implements Callable<Integer> {
    @Parameters(paramLabel = "NAME", description = "The topic.")
    private String name;

    @Mixin
    private DeliveryOption delivery;

    @Mixin
    private ClusterOption cluster;

    @Mixin
    private Output output;

    @Override
    public Integer call() {
        if (!delivery.given()) {
            throw CliException.usage(
                    "nothing is to change: give --mode, --max-delay, --max-waiting, --max-queued, --overflow, --clock or --borrow");
        }
        cluster.ask(
                "PUT", TopicChange.path(name) + "/delivery", Optional.of(delivery.with(null, null, null, null, null)));
        output.println(name + " is changed");
        return ExitCode.OK;
    }
}

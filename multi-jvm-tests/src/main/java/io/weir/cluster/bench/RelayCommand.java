package io.weir.cluster.bench;

import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The relay's process; {@link RelayProcess} starts it. */
@Command(
        name = "relay",
        hidden = true,
        mixinStandardHelpOptions = true,
        description = "Run the forwarder that 'bench --against relay' compares with, in the foreground.",
        footer = {"", "Example:", "  weir bench relay --port 4190"})
final class RelayCommand implements Callable<Integer> {
    @Mixin
    private Output output;

    @Option(names = "--port", defaultValue = "0", description = "Where to listen (default: any free port).")
    private int port;

    @Option(names = "--parent", paramLabel = "PID", description = "End when this process ends.")
    private Long parent;

    @Override
    public Integer call() throws IOException {
        if (parent != null) {
            ProcessHandle.of(parent)
                    .ifPresentOrElse(
                            handle -> handle.onExit()
                                    .thenRun(() -> Runtime.getRuntime().halt(ExitCode.OK)),
                            () -> Runtime.getRuntime().halt(ExitCode.OK));
        }
        try (Relay relay = new Relay(port)) {
            output.println("relay listens on port " + relay.port());
            relay.run();
        }
        return ExitCode.OK;
    }
}

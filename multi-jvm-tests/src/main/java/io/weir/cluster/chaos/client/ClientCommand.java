package io.weir.cluster.chaos.client;

import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ExitCode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** What a chaos run starts beside each broker; nobody types it. */
@Command(name = "client", hidden = true, description = "A client process of a chaos run.")
public final class ClientCommand implements Callable<Integer> {
    @Parameters(paramLabel = "PLAN", description = "What it does.")
    private Path plan;

    @Override
    public Integer call() {
        try {
            RecordingClient.run(ClientPlan.read(plan));
            return ExitCode.OK;
        } catch (IOException e) {
            throw CliException.unavailable(e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return ExitCode.UNAVAILABLE;
        }
    }
}

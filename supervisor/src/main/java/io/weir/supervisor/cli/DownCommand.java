package io.weir.supervisor.cli;

import io.weir.supervisor.local.ClusterDirectory;
import io.weir.supervisor.local.ClusterState;
import io.weir.supervisor.local.Installation;
import io.weir.supervisor.local.LastCluster;
import io.weir.supervisor.local.LocalCluster;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code weir down}: stops a local cluster. */
@Command(
        name = "down",
        mixinStandardHelpOptions = true,
        description =
                "Stop a cluster on this machine: first its keeper, then the brokers in good order, then store and media driver.",
        footer = {
            "",
            "What was defined stays in the data directory: 'weir up' resumes with it.",
            "",
            "Examples:",
            "  weir down                  the cluster of the last 'weir up'",
            "  weir down --data /tmp/w"
        })
public final class DownCommand implements CliCommand {
    @Mixin
    private ClusterOption cluster;

    @Override
    public Integer call() {
        ClusterDirectory directory = cluster.directory();
        boolean running = directory.state().map(ClusterState::anyAlive).orElse(false);
        if (running) {
            new LocalCluster(Installation.ofThisProcess(), directory, System.out::println).down();
        } else {
            System.out.println("nothing runs in " + directory.root());
        }
        new LastCluster(System.getenv()).forget(directory.root());
        return ExitCode.OK;
    }
}

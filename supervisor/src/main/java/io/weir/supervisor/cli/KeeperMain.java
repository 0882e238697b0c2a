package io.weir.supervisor.cli;

import io.weir.supervisor.local.ClusterDirectory;
import io.weir.supervisor.local.Keeper;
import io.weir.supervisor.local.LocalClusterException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** The keeper's process, which {@code weir up} starts; what it prints is its log. */
public final class KeeperMain {
    private KeeperMain() {}

    public static void main(String[] args) {
        try {
            Keeper.run(
                    ClusterDirectory.existing(Path.of(args[0])),
                    System.in,
                    // As a broker's log has it.
                    line -> System.out.println(
                            Instant.now().truncatedTo(ChronoUnit.MILLIS) + " INFO  Keeper: " + line));
        } catch (LocalClusterException e) {
            System.err.println("weir: " + e.getMessage());
            System.exit(ExitCode.UNAVAILABLE);
        }
    }
}

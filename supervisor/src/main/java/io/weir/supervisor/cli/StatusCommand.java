package io.weir.supervisor.cli;

import io.weir.supervisor.local.ClusterState;
import io.weir.supervisor.local.ClusterStatus;
import io.weir.supervisor.local.ClusterStatus.BrokerLine;
import io.weir.supervisor.local.LocalProcess;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code weir status}: what each broker does. */
@Command(
        name = "status",
        mixinStandardHelpOptions = true,
        description = {
            "Show every broker with its state: up, joining, leaving, unreachable or gone.",
            "Works when some brokers are dead. Exit code 0 if all are up, 1 if not.",
            "For a cluster on this machine also its keeper, the process that 'weir up' leaves to look after the others."
        },
        footer = {
            "",
            "Examples:",
            "  weir status",
            "  weir status -o json | jq '.brokers[] | select(.state != \"up\")'",
            "  weir status --http 10.0.0.7:4151"
        })
public final class StatusCommand implements CliCommand {
    @Mixin
    private ClusterOption cluster;

    @Mixin
    private Output output;

    /** What is shown; without a keeper where the cluster is not on this machine. */
    record Shown(List<BrokerLine> brokers, String leader, String singletonHost, KeeperLine keeper) {}

    /**
     * The keeper of a cluster on this machine.
     *
     * @param state up, or gone
     * @param restart whether it starts brokers again that die
     */
    record KeeperLine(String state, long pid, boolean restart) {
        static KeeperLine of(ClusterState cluster) {
            return new KeeperLine(
                    cluster.isAlive(ClusterState.KEEPER) ? "up" : "gone",
                    cluster.process(ClusterState.KEEPER).map(LocalProcess::pid).orElse(0L),
                    cluster.restart());
        }
    }

    @Override
    public Integer call() {
        ClusterStatus status = ClusterStatus.of(cluster.expectedBrokers());
        Optional<KeeperLine> keeper = cluster.local().map(KeeperLine::of);
        if (output.json()) {
            output.printJson(new Shown(status.brokers(), status.leader(), status.singletonHost(), keeper.orElse(null)));
        } else {
            print(status);
            keeper.ifPresent(this::print);
        }
        return status.allUp() ? ExitCode.OK : ExitCode.FAILED;
    }

    private void print(ClusterStatus status) {
        String row = "%-8s %-12s %-12s %-8s %-10s %-16s %-22s %s%n";
        output.printf(row, "BROKER", "STATE", "INCARNATION", "PID", "UPTIME", "HEAP", "TCP", "HTTP");
        for (BrokerLine broker : status.brokers()) {
            output.printf(
                    row,
                    broker.id(),
                    broker.state(),
                    broker.incarnation() == 0 ? "-" : broker.incarnation(),
                    broker.pid() == 0 ? "-" : broker.pid(),
                    broker.uptimeMillis() == null ? "-" : uptime(Duration.ofMillis(broker.uptimeMillis())),
                    broker.heapUsedBytes() == null
                            ? "-"
                            : mebibytes(broker.heapUsedBytes()) + " of " + mebibytes(broker.heapMaxBytes()) + " MiB",
                    broker.tcp(),
                    broker.http());
        }
        output.printf(
                "leader %s, singletons on %s%n",
                status.leader() == null ? "unknown" : status.leader(),
                status.singletonHost() == null ? "unknown" : status.singletonHost());
    }

    private void print(KeeperLine keeper) {
        if (keeper.state().equals("up")) {
            output.printf(
                    "kept by pid %d%s%n", keeper.pid(), keeper.restart() ? "; brokers that die are started again" : "");
        } else {
            output.println("nobody keeps it: 'weir up' starts a new keeper, and leaves alone what runs");
        }
    }

    private static long mebibytes(long bytes) {
        return bytes >> 20;
    }

    private static String uptime(Duration uptime) {
        if (uptime.toHours() > 0) {
            return uptime.toHours() + "h" + uptime.toMinutesPart() + "m";
        }
        return uptime.toMinutes() > 0
                ? uptime.toMinutes() + "m" + uptime.toSecondsPart() + "s"
                : uptime.toSeconds() + "s";
    }
}

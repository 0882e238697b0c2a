package io.weir.supervisor.cli;

import io.weir.supervisor.local.ClusterStatus;
import io.weir.supervisor.local.ClusterStatus.BrokerLine;
import java.time.Duration;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code weir status}: what each broker does. */
@Command(
        name = "status",
        mixinStandardHelpOptions = true,
        description = {
            "Show every broker with its state: up, joining, leaving, unreachable or gone.",
            "Works when some brokers are dead. Exit code 0 if all are up, 1 if not."
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

    @Override
    public Integer call() {
        ClusterStatus status = ClusterStatus.of(cluster.expectedBrokers());
        if (output.json()) {
            output.printJson(status);
        } else {
            print(status);
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

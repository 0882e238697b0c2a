package io.weir.supervisor.cli;

import io.weir.config.Endpoint;
import io.weir.supervisor.local.ClusterStatus;
import java.util.List;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Where a client command connects, as a picocli mixin: the addresses that are given, or all brokers of the cluster. */
public final class BrokerAddresses {
    @Mixin
    private ClusterOption cluster;

    @Option(
            names = "--tcp",
            paramLabel = "HOST:PORT",
            description = "TCP address of a broker, or of an nsqd; give several to fall back on (default: the"
                    + " cluster's brokers).")
    private List<String> tcp = List.of();

    /** At least one. */
    public List<Endpoint> endpoints() {
        try {
            return tcp.isEmpty()
                    ? cluster.expectedBrokers().stream()
                            .map(ClusterStatus.Expected::tcp)
                            .map(Endpoint::parse)
                            .toList()
                    : tcp.stream().map(Endpoint::parse).toList();
        } catch (IllegalArgumentException e) {
            throw CliException.usage("--tcp: " + e.getMessage());
        }
    }
}

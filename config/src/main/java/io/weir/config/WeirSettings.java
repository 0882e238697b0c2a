package io.weir.config;

import io.weir.config.value.BrokerId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A broker's settings, valid as a whole. {@code reference.conf} says what each key means, and why it has its default.
 */
public record WeirSettings(
        BrokerSettings broker,
        ClusterSettings cluster,
        Endpoint tcp,
        TcpSettings clients,
        HttpSettings http,
        StoreSettings store,
        SupplySettings supply,
        TopicsSettings topics,
        PlacementSettings placement,
        Optional<Path> aeronDirectory,
        Endpoint link,
        boolean sealLoopback) {

    /** The broker's name, and the directory that belongs to it alone. */
    public record BrokerSettings(BrokerId id, Path dataDir) {}

    /** How the broker finds the others and stays in the cluster with them. */
    public record ClusterSettings(
            String name,
            Endpoint address,
            Endpoint management,
            String transport,
            Optional<ClusterTls> tls,
            String discoveryMethod,
            List<Endpoint> contactPoints,
            int requiredContactPoints,
            Duration foundingPatience,
            Duration leaveTimeout,
            Duration rejoinBackoff) {}

    /** What the broker proves itself with to others, and knows them by: files in PEM format. */
    public record ClusterTls(Path certificate, Path key, Path authority) {}

    /**
     * The broker's HTTP server.
     *
     * @param names under which it is asked for, beside its addresses
     * @param maxConnections at a time; one that is idle gives way to the next
     * @param maxConnectionsPerAddress the same for those of one address
     * @param idleTimeout after which a connection is closed on which no request is being answered
     */
    public record HttpSettings(
            Endpoint address,
            Optional<String> adminToken,
            List<String> names,
            Duration requestTimeout,
            int maxPublications,
            int maxConnections,
            int maxConnectionsPerAddress,
            Duration idleTimeout) {
        @Override
        public String toString() {
            return "HttpSettings[address=" + address + ", adminToken=" + (adminToken.isPresent() ? "set" : "none")
                    + "]";
        }
    }

    /**
     * The durable store.
     *
     * @param mayLoseCommits whether it is used though it says that it can lose what it has acknowledged
     */
    public record StoreSettings(
            String url,
            String user,
            String password,
            int poolSize,
            Duration startTimeout,
            Duration statementTimeout,
            Duration registryInterval,
            boolean mayLoseCommits) {
        /** Without the password, and without the URL's parameters, which may hold one. */
        @Override
        public String toString() {
            return "StoreSettings[url=" + safeUrl() + ", user=" + user + "]";
        }

        public String safeUrl() {
            return url.split("[?;]", 2)[0].replaceFirst("//[^/@]*@", "//");
        }
    }

    /**
     * How limits are kept and moved.
     *
     * @param lease L: how long a broker may admit after its last renewal
     * @param guard how long a watcher waits beyond L and the clocks' drift before it fences
     * @param driftPpm ε, by how much clocks may run wrong, in millionths
     * @param round how often neighbours compare their shares with the demand
     * @param adaptation how often the TB adaptor divides limits
     * @param deadBand the fraction of what two neighbours hold below which nothing moves
     * @param reserve which part of what the broker before it holds a best buddy keeps for it
     * @param window over what time demand is measured
     * @param history the directory where every admission is recorded, for checkers
     */
    public record SupplySettings(
            Duration lease,
            Duration guard,
            long driftPpm,
            Duration round,
            Duration adaptation,
            double deadBand,
            double reserve,
            DemandWindowSettings window,
            Optional<Path> history) {}

    /**
     * Over what time the demand for a topic is measured.
     *
     * @param slot the unit of the measurement
     * @param slots so many make the short window, which sees changes
     * @param longSlots so many make the long window, which has the smaller error
     */
    public record DemandWindowSettings(Duration slot, int slots, int longSlots) {}

    /**
     * Limits of topics that nobody defined, and what one broker can hold.
     *
     * @param defaults limits by name, each "PATTERN RATE BURST"
     * @param storeBytes for the bodies of all messages that the broker holds
     * @param queueBytes of the heap for their places in lines and channels; empty: by the heap's size
     * @param topicShare the part of both that one topic may take if no other has a backlog
     * @param tokenShare the same for one client's token
     */
    public record TopicsSettings(
            List<String> defaults,
            long storeBytes,
            int maxMessageBytes,
            int maxConnections,
            OptionalLong queueBytes,
            double topicShare,
            double tokenShare) {}

    /** Whose publishers get a home. */
    public enum PlacementMode {
        OFF,
        /** Those of topics that somebody registered for. */
        REGISTERED,
        /** Those of all topics. */
        ALL
    }

    /**
     * How publishers are placed: which broker is whose home.
     *
     * @param policy lb, conc, max-min or srtm
     * @param objective the time within which 99% of a topic's messages pass the limit, unless the topic has its own
     * @param capacity messages a second that a broker carries within its objective, until it is calibrated
     * @param report how often brokers report who publishes and how long messages waited
     * @param settle how long after an assignment measurements do not count
     * @param round how long one assignment is measured at most
     * @param brokenFor how long an objective must be missed before publishers are moved for it
     * @param pause the shortest time between two moves for a missed objective
     * @param findGroups whether publishers that send together are found where they do not say so
     * @param registration how long a publisher's registration is kept that nobody renews
     */
    public record PlacementSettings(
            PlacementMode mode,
            String policy,
            Duration objective,
            int capacity,
            Duration report,
            Duration settle,
            Duration round,
            Duration brokenFor,
            Duration pause,
            boolean findGroups,
            Duration registration) {}
}

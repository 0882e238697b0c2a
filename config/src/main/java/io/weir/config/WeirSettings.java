package io.weir.config;

import io.weir.config.value.BrokerId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A broker's settings, valid as a whole. {@code reference.conf} says what each key means and why its default is what it is. */
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
        Endpoint link) {

    /** Who the broker is, and where it keeps what is its own. */
    public record BrokerSettings(BrokerId id, Path dataDir) {}

    /** How the broker finds and keeps company. */
    public record ClusterSettings(
            String name,
            Endpoint address,
            Endpoint management,
            String transport,
            String discoveryMethod,
            List<Endpoint> contactPoints,
            int requiredContactPoints,
            Duration foundingPatience,
            Duration leaveTimeout,
            Duration rejoinBackoff) {}

    /** The broker's HTTP server. */
    public record HttpSettings(
            Endpoint address, Optional<String> adminToken, Duration requestTimeout, int maxPublications) {
        @Override
        public String toString() {
            return "HttpSettings[address=" + address + ", adminToken=" + (adminToken.isPresent() ? "set" : "none")
                    + "]";
        }
    }

    /** The durable store. */
    public record StoreSettings(
            String url,
            String user,
            String password,
            int poolSize,
            Duration startTimeout,
            Duration statementTimeout,
            Duration registryInterval) {
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
     * @param guard what a watcher waits beyond L and the clocks' drift
     * @param driftPpm ε, in millionths
     * @param round how often neighbours compare what they hold
     * @param adaptation how often the TB adaptor asks for reports
     * @param deadBand the part of what two neighbours hold below which nothing moves
     * @param history where every admission is recorded, for checkers
     */
    public record SupplySettings(
            Duration lease,
            Duration guard,
            long driftPpm,
            Duration round,
            Duration adaptation,
            double deadBand,
            Optional<Path> history) {}

    /**
     * What topics are like that nobody defined, and what a broker bears.
     *
     * @param defaults limits by name, each "PATTERN RATE BURST"
     * @param storeBytes for the bodies of all messages that a broker holds
     */
    public record TopicsSettings(List<String> defaults, long storeBytes, int maxMessageBytes, int maxConnections) {}

    /**
     * Where publishers are at home.
     *
     * @param policy lb, conc, max-min or srtm
     * @param objective within which 99% of a topic's messages pass the limit, unless the topic has one of its own
     * @param capacity messages a second that a broker carries at its objective, until it is calibrated
     * @param report how often brokers tell who publishes there and how messages fare
     * @param settle after an assignment, how long what is measured does not count
     * @param round how long one assignment is measured at most
     * @param brokenFor how long an objective must be broken before publishers are moved for it
     * @param pause how long after one run, at the earliest, a broken objective starts another
     */
    public record PlacementSettings(
            boolean enabled,
            String policy,
            Duration objective,
            int capacity,
            Duration report,
            Duration settle,
            Duration round,
            Duration brokenFor,
            Duration pause) {}
}

package io.weir.transport.client;

import io.weir.config.Endpoint;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import javax.net.ssl.SSLContext;

/**
 * Whom a client connects to and what it says of itself.
 *
 * @param brokers any of the cluster's, in the order of preference
 * @param clientId a name for operators
 * @param group of clients that send at the same time, so that placement can spread them over brokers
 * @param workflow of which this client is a part
 * @param rate messages a second that it expects to publish
 * @param tls encrypts, and refuses a broker that can't; its host name must be in its certificate
 * @param secret for AUTH, sent where the broker asks for it
 * @param connectWithin for the connection and everything until it can be used
 * @param heartbeat how often the broker asks whether the client is there; a broker that is silent for twice as long is
 *     gone
 * @param shortestBackoff before a second attempt; doubles up to the longest, and each is drawn from its upper half
 * @param maxMessageBytes of a message published or consumed; larger ones are refused here
 * @param handlerThreads that run the handlers of all consumers
 */
public record ClientSettings(
        List<Endpoint> brokers,
        String clientId,
        Optional<String> group,
        Optional<String> workflow,
        OptionalDouble rate,
        Optional<SSLContext> tls,
        Optional<String> secret,
        Duration connectWithin,
        Duration heartbeat,
        Duration shortestBackoff,
        Duration longestBackoff,
        int maxMessageBytes,
        int handlerThreads) {
    private static final int LARGEST_MESSAGE = 64 << 20;

    public ClientSettings {
        brokers = List.copyOf(brokers);
        require(!brokers.isEmpty(), "there must be at least one broker");
        require(rate.isEmpty() || rate.getAsDouble() >= 0, "an expected rate of " + rate + " is below 0");
        require(connectWithin.toMillis() >= 1, "connectWithin must be 1 ms or more: " + connectWithin);
        require(heartbeat.toMillis() >= 1_000, "heartbeat must be 1 s or more: " + heartbeat);
        require(
                shortestBackoff.toMillis() >= 1 && shortestBackoff.compareTo(longestBackoff) <= 0,
                "backoff must be 1 ms or more, and the longest not below the shortest: " + shortestBackoff + " to "
                        + longestBackoff);
        require(
                maxMessageBytes >= 1 && maxMessageBytes <= LARGEST_MESSAGE,
                "maxMessageBytes must be within 1 and " + LARGEST_MESSAGE + ": " + maxMessageBytes);
        require(handlerThreads >= 1, "handlerThreads must be 1 or more: " + handlerThreads);
    }

    /** @param brokers {@code host:port} each */
    public static ClientSettings of(String... brokers) {
        return of(Arrays.stream(brokers).map(Endpoint::parse).toList());
    }

    public static ClientSettings of(List<Endpoint> brokers) {
        return new ClientSettings(
                brokers,
                "weir-java",
                Optional.empty(),
                Optional.empty(),
                OptionalDouble.empty(),
                Optional.empty(),
                Optional.empty(),
                Duration.ofSeconds(5),
                Duration.ofSeconds(15),
                Duration.ofMillis(100),
                Duration.ofSeconds(5),
                1 << 20,
                2);
    }

    /** These, but as a part of {@code group} and {@code workflow}, publishing about {@code rate} messages a second. */
    public ClientSettings belongingTo(String group, String workflow, double rate) {
        return new ClientSettings(
                brokers,
                clientId,
                Optional.of(group),
                Optional.of(workflow),
                OptionalDouble.of(rate),
                tls,
                secret,
                connectWithin,
                heartbeat,
                shortestBackoff,
                longestBackoff,
                maxMessageBytes,
                handlerThreads);
    }

    public ClientSettings withTls(SSLContext context) {
        return with(
                Optional.of(context),
                secret,
                connectWithin,
                heartbeat,
                shortestBackoff,
                longestBackoff,
                handlerThreads);
    }

    public ClientSettings withSecret(String secret) {
        return with(
                tls, Optional.of(secret), connectWithin, heartbeat, shortestBackoff, longestBackoff, handlerThreads);
    }

    public ClientSettings withConnectWithin(Duration connectWithin) {
        return with(tls, secret, connectWithin, heartbeat, shortestBackoff, longestBackoff, handlerThreads);
    }

    public ClientSettings withHeartbeat(Duration heartbeat) {
        return with(tls, secret, connectWithin, heartbeat, shortestBackoff, longestBackoff, handlerThreads);
    }

    public ClientSettings withBackoff(Duration shortest, Duration longest) {
        return with(tls, secret, connectWithin, heartbeat, shortest, longest, handlerThreads);
    }

    public ClientSettings withHandlerThreads(int threads) {
        return with(tls, secret, connectWithin, heartbeat, shortestBackoff, longestBackoff, threads);
    }

    private ClientSettings with(
            Optional<SSLContext> tls,
            Optional<String> secret,
            Duration connectWithin,
            Duration heartbeat,
            Duration shortestBackoff,
            Duration longestBackoff,
            int handlerThreads) {
        return new ClientSettings(
                brokers,
                clientId,
                group,
                workflow,
                rate,
                tls,
                secret,
                connectWithin,
                heartbeat,
                shortestBackoff,
                longestBackoff,
                maxMessageBytes,
                handlerThreads);
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }

    /** Without the secret. */
    @Override
    public String toString() {
        return "ClientSettings[" + clientId + " at " + brokers + (tls.isPresent() ? ", TLS" : "") + "]";
    }
}

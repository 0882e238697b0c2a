package io.weir.transport.client;

import io.weir.config.Endpoint;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.Selector;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Keeps one connection to one of several brokers. All addresses of a broker's host are tried in turn; then, or when the
 * connection breaks, the next broker is, after a pause that doubles with every failure in a row and is drawn from its
 * upper half, so that clients do not come back all at once.
 */
final class Dialer implements BrokerConnection.Owner {
    private final ClientLoop loop;
    private final ClientSettings settings;
    private final HostLookup hosts;
    private final List<Endpoint> endpoints;
    private final String publisher;
    private final Duration messageTimeout;
    private final BrokerConnection.Owner owner;
    private BrokerConnection connection;
    /** Of the present endpoint: those that are left of the last lookup. */
    private final ArrayDeque<InetAddress> untried = new ArrayDeque<>();

    private CompletableFuture<InetAddress[]> lookup;
    private long lookupUntilNs;
    private boolean ended;
    private int next;
    private int failures;
    private long failingSinceNs;
    private long dialAtNs;
    private String lastFailure = "no broker was reached yet";

    /** @param publisher the publisher's name at all brokers; null for a consumer */
    Dialer(
            ClientLoop loop,
            ClientSettings settings,
            HostLookup hosts,
            List<Endpoint> endpoints,
            int first,
            String publisher,
            Duration messageTimeout,
            BrokerConnection.Owner owner) {
        this.loop = loop;
        this.settings = settings;
        this.hosts = hosts;
        this.endpoints = endpoints;
        this.publisher = publisher;
        this.messageTimeout = messageTimeout;
        this.owner = owner;
        next = first;
        dialAtNs = System.nanoTime();
    }

    /** The open connection, or null. */
    BrokerConnection connection() {
        return connection != null && connection.open() ? connection : null;
    }

    /** Since when no attempt succeeded; 0 if the last did. */
    long failingForNs(long nowNs) {
        return failures > 0 ? nowNs - failingSinceNs : 0;
    }

    String lastFailure() {
        return lastFailure;
    }

    /** Dials if it is time; answers in how many nanoseconds it will be. */
    long work(long nowNs) {
        if (ended || connection != null) {
            return ClientLoop.NEVER_NS;
        }
        if (nowNs - dialAtNs < 0) {
            return dialAtNs - nowNs;
        }
        Endpoint endpoint = endpoints.get(next);
        if (untried.isEmpty()) {
            if (lookup == null) {
                lookup = hosts.addresses(endpoint.host());
                lookupUntilNs = nowNs + settings.connectWithin().toNanos();
            }
            if (!lookup.isDone() && nowNs - lookupUntilNs < 0) {
                return lookupUntilNs - nowNs;
            }
            lookedUp(endpoint, nowNs);
        }
        if (!untried.isEmpty()) {
            dial(endpoint, untried.remove(), nowNs);
        }
        return connection == null ? Math.max(0, dialAtNs - nowNs) : ClientLoop.NEVER_NS;
    }

    private void lookedUp(Endpoint endpoint, long nowNs) {
        CompletableFuture<InetAddress[]> done = lookup;
        lookup = null;
        if (!done.isDone()) {
            failed(
                    endpoint + ": no address of " + endpoint.host() + " within "
                            + settings.connectWithin().toMillis() + " ms",
                    nowNs);
            return;
        }
        try {
            untried.addAll(List.of(done.join()));
        } catch (CompletionException e) {
            failed(
                    endpoint + ": there is no host " + endpoint.host() + " ("
                            + e.getCause().getMessage() + ")",
                    nowNs);
        }
    }

    private void dial(Endpoint endpoint, InetAddress address, long nowNs) {
        try {
            connection = loop.connect(this, new InetSocketAddress(address, endpoint.port()), nowNs);
        } catch (IOException | RuntimeException e) {
            // A port that there is not, or an address that this machine has no way to: the next may do.
            failed(endpoint + ": " + e.getMessage(), nowNs);
        }
    }

    BrokerConnection connection(InetSocketAddress address, Selector selector, long nowNs) throws IOException {
        return new BrokerConnection(
                settings, endpoints.get(next), address, publisher, messageTimeout, this, selector, nowNs);
    }

    private void failed(String reason, long nowNs) {
        lastFailure = reason;
        if (!untried.isEmpty()) {
            // The host has another address.
            return;
        }
        next = (next + 1) % endpoints.size();
        long longestNs = settings.longestBackoff().toNanos();
        long pauseNs = settings.shortestBackoff().toNanos();
        for (int i = 0; i < failures && pauseNs < longestNs; i++) {
            pauseNs *= 2;
        }
        pauseNs = Math.min(pauseNs, longestNs);
        if (failures++ == 0) {
            failingSinceNs = nowNs;
        }
        dialAtNs = nowNs + pauseNs / 2 + ThreadLocalRandom.current().nextLong(pauseNs / 2 + 1);
    }

    void end(String reason, long nowNs) {
        ended = true;
        if (connection != null) {
            connection.close(reason, nowNs);
        }
    }

    @Override
    public void opened(BrokerConnection from, long nowNs) {
        untried.clear();
        if (publisher != null) {
            failures = 0;
        }
        owner.opened(from, nowNs);
    }

    @Override
    public void answered(BrokerConnection from, boolean ok, long nowNs) {
        if (ok) {
            // Only now is a connection of use to a consumer: a broker may refuse the channel after the handshake.
            failures = 0;
        }
        owner.answered(from, ok, nowNs);
    }

    @Override
    public void failed(BrokerConnection from, String error, long nowNs) {
        lastFailure = from.endpoint() + ": " + error;
        owner.failed(from, error, nowNs);
    }

    @Override
    public void delivered(BrokerConnection from, long timestampNs, int attempts, String id, byte[] body, long nowNs) {
        owner.delivered(from, timestampNs, attempts, id, body, nowNs);
    }

    @Override
    public void homeTold(BrokerConnection from, String topic, Endpoint home, long nowNs) {
        owner.homeTold(from, topic, home, nowNs);
    }

    @Override
    public void closed(BrokerConnection from, String reason, long nowNs) {
        connection = null;
        failed(from.endpoint() + ": " + reason, nowNs);
        owner.closed(from, reason, nowNs);
    }
}

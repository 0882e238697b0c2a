package io.weir.supervisor.node.http;

import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The HTTP server's connections. One is idle while no request of it is being answered, also before the first and while
 * half of one has come.
 *
 * <p>Who comes finds a place unless every connection is busy: where an address has too many, the one of it that is idle
 * the longest is closed; where the server has, the longest idle of the address that has the most idle ones. So idle
 * connections, however many, keep nobody out, least of all who asks whether the broker is alive. For any thread.
 */
final class HttpConnections {
    /** One connection. */
    final class Connection {
        private final InetAddress address;
        private final Runnable close;
        private long idleSinceNs;
        private int requests;
        private boolean here = true;

        private Connection(InetAddress address, Runnable close, long nowNs) {
            this.address = address;
            this.close = close;
            idleSinceNs = nowNs;
        }

        /** A request has come. */
        void begin() {
            synchronized (HttpConnections.this) {
                requests++;
                if (here) {
                    callers.get(address).idle.remove(this);
                }
            }
        }

        /** It is answered. */
        void end(long nowNs) {
            synchronized (HttpConnections.this) {
                requests--;
                idleSinceNs = nowNs;
                if (here && requests == 0) {
                    callers.get(address).idle.add(this);
                }
            }
        }

        /** The connection has ended. May be called more than once. */
        void gone() {
            synchronized (HttpConnections.this) {
                remove(this);
            }
        }
    }

    /** One address's connections; the idle ones by when they began to be. */
    private static final class Caller {
        private int connections;
        private final Set<Connection> idle = new LinkedHashSet<>();
    }

    private final int most;
    private final int mostByAddress;
    private final Map<InetAddress, Caller> callers = new HashMap<>();
    private final Set<Connection> connections = new HashSet<>();

    HttpConnections(int most, int mostByAddress) {
        this.most = most;
        this.mostByAddress = mostByAddress;
    }

    /**
     * One more, perhaps in the place of an idle one; empty if there is no place.
     *
     * @param close ends the connection; may be called by whoever brings the next
     */
    Optional<Connection> came(InetAddress address, Runnable close, long nowNs) {
        Optional<Connection> leaving = Optional.empty();
        Connection newcomer;
        synchronized (this) {
            Caller caller = callers.get(address);
            if (caller != null && caller.connections >= mostByAddress) {
                leaving = longestIdle(caller);
            } else if (connections.size() >= most) {
                leaving = callers.values().stream()
                        .max(Comparator.comparingInt(each -> each.idle.size()))
                        .flatMap(HttpConnections::longestIdle);
            } else {
                return Optional.of(add(address, close, nowNs));
            }
            if (leaving.isEmpty()) {
                return Optional.empty();
            }
            remove(leaving.get());
            newcomer = add(address, close, nowNs);
        }
        leaving.get().close.run();
        return Optional.of(newcomer);
    }

    private Connection add(InetAddress address, Runnable close, long nowNs) {
        Connection connection = new Connection(address, close, nowNs);
        Caller caller = callers.computeIfAbsent(address, none -> new Caller());
        caller.connections++;
        caller.idle.add(connection);
        connections.add(connection);
        return connection;
    }

    private static Optional<Connection> longestIdle(Caller caller) {
        Iterator<Connection> idle = caller.idle.iterator();
        return idle.hasNext() ? Optional.of(idle.next()) : Optional.empty();
    }

    private void remove(Connection connection) {
        if (!connection.here) {
            return;
        }
        connection.here = false;
        connections.remove(connection);
        notifyAll();
        Caller caller = callers.get(connection.address);
        caller.idle.remove(connection);
        caller.connections--;
        if (caller.connections == 0) {
            callers.remove(connection.address);
        }
    }

    /** Closes those that are idle since then or longer; answers how many. */
    int closeIdleSince(long sinceNs) {
        List<Connection> leaving = new ArrayList<>();
        synchronized (this) {
            for (Caller caller : callers.values()) {
                Iterator<Connection> idle = caller.idle.iterator();
                Connection next = idle.hasNext() ? idle.next() : null;
                while (next != null && next.idleSinceNs - sinceNs <= 0) {
                    leaving.add(next);
                    next = idle.hasNext() ? idle.next() : null;
                }
            }
            leaving.forEach(this::remove);
        }
        leaving.forEach(connection -> connection.close.run());
        return leaving.size();
    }

    /** Ends all of them, those that are busy after their answer, and waits for that, but not for longer. */
    void closeAll(Duration patience) throws InterruptedException {
        List<Connection> all;
        synchronized (this) {
            all = List.copyOf(connections);
        }
        all.forEach(connection -> connection.close.run());
        long untilNs = System.nanoTime() + patience.toNanos();
        synchronized (this) {
            long leftMs = TimeUnit.NANOSECONDS.toMillis(untilNs - System.nanoTime());
            while (!connections.isEmpty() && leftMs > 0) {
                wait(leftMs);
                leftMs = TimeUnit.NANOSECONDS.toMillis(untilNs - System.nanoTime());
            }
        }
    }

    synchronized int connections() {
        return connections.size();
    }
}

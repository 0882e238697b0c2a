package io.weir.transport.gateway;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Who is connected from where. A connection is a stranger's until the client has said what the broker asks of it: the
 * protocol's magic, TLS where that is required, AUTH where that is.
 *
 * <p>Who comes finds a place, unless all are taken by clients that are no strangers: where an address has too many
 * connections, or the broker has, the stranger that came first gives way. So whoever takes places and says nothing
 * displaces nobody but himself and other strangers, and a client that says at once what is asked of it keeps its place.
 * For the loop's thread.
 */
final class Callers {
    /** One address's connections. */
    private static final class Caller {
        private int connections;
        private final Set<Connection> strangers = new LinkedHashSet<>(4);
    }

    private static final int IPV6_NETWORK_BYTES = 8;

    private final int most;
    private final int mostByAddress;
    private final int mostStrangersByAddress;
    private final Consumer<Connection> displace;
    private final Map<Long, Caller> byAddress = new HashMap<>();
    private final Set<Connection> strangers = new LinkedHashSet<>();
    private int connections;

    /** @param displace closes a connection, soon; it does not count here any more */
    Callers(GatewaySettings settings, Consumer<Connection> displace) {
        most = settings.maxConnections();
        mostByAddress = settings.maxConnectionsByAddress();
        mostStrangersByAddress = settings.maxStrangersByAddress();
        this.displace = displace;
    }

    /** One caller's connections are counted together. An IPv6 network of 64 bits is one caller's. */
    static long addressOf(InetAddress address) {
        byte[] bytes = address.getAddress();
        return bytes.length > IPV6_NETWORK_BYTES
                ? ByteBuffer.wrap(bytes).getLong()
                : ByteBuffer.wrap(bytes).getInt();
    }

    /** Makes room for one more from there if need be; false if there is none. */
    boolean makeRoom(long address) {
        Caller caller = byAddress.get(address);
        if (caller != null && caller.strangers.size() >= mostStrangersByAddress) {
            displaceFirst(caller.strangers);
        }
        // What was displaced may have been its last: then nothing is left to count.
        boolean room = caller == null || caller.connections < mostByAddress || displaceFirst(caller.strangers);
        return room && (connections < most || displaceFirst(strangers));
    }

    private boolean displaceFirst(Set<Connection> ofThese) {
        Iterator<Connection> first = ofThese.iterator();
        if (!first.hasNext()) {
            return false;
        }
        Connection leaving = first.next();
        left(leaving);
        displace.accept(leaving);
        return true;
    }

    /** A stranger, as everybody at first. */
    void came(Connection connection) {
        Caller caller = byAddress.computeIfAbsent(connection.address(), none -> new Caller());
        caller.connections++;
        caller.strangers.add(connection);
        strangers.add(connection);
        connections++;
        connection.counted = true;
    }

    void known(Connection connection) {
        if (connection.counted) {
            byAddress.get(connection.address()).strangers.remove(connection);
            strangers.remove(connection);
        }
    }

    void left(Connection connection) {
        if (!connection.counted) {
            return;
        }
        known(connection);
        connection.counted = false;
        connections--;
        Caller caller = byAddress.get(connection.address());
        caller.connections--;
        if (caller.connections == 0) {
            byAddress.remove(connection.address());
        }
    }

    int connections() {
        return connections;
    }

    int strangers() {
        return strangers.size();
    }
}

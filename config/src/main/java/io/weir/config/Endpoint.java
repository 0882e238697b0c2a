package io.weir.config;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** A host and a port. */
public record Endpoint(String host, int port) {
    /** Parses {@code host:port}; an IPv6 address stands in brackets. */
    public static Endpoint parse(String text) {
        int colon = text.lastIndexOf(':');
        if (colon <= 0 || colon == text.length() - 1) {
            throw new IllegalArgumentException("'" + text + "' is not HOST:PORT");
        }
        int port;
        try {
            port = Integer.parseInt(text.substring(colon + 1));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("'" + text + "' is not HOST:PORT: the port is not a number");
        }
        if (port < 1 || port > 65_535) {
            throw new IllegalArgumentException("'" + text + "' is not HOST:PORT: the port is not within 1 to 65535");
        }
        String host = text.substring(0, colon);
        return new Endpoint(
                host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host, port);
    }

    /** Whether only this machine can reach it. An unknown name counts as reachable from elsewhere: the safe side. */
    public boolean loopback() {
        try {
            return InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException e) {
            return false;
        }
    }

    /**
     * Where others find what listens here: an address that stands for all of the host's has {@code otherwise} in its
     * place.
     */
    public Endpoint reachedAt(String otherwise) {
        boolean everywhere = host.equals("0.0.0.0") || host.equals("::") || host.equals("0:0:0:0:0:0:0:0");
        return everywhere ? new Endpoint(otherwise, port) : this;
    }

    @Override
    public String toString() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}

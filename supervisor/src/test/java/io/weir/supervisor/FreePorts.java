package io.weir.supervisor;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;

/** Ports on loopback that nobody listens on. */
public final class FreePorts {
    private FreePorts() {}

    /** Held all at once, so that they differ. */
    public static int[] take(int count) {
        List<ServerSocket> held = new ArrayList<>();
        try {
            int[] ports = new int[count];
            for (int i = 0; i < count; i++) {
                held.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
                ports[i] = held.get(i).getLocalPort();
            }
            for (ServerSocket socket : held) {
                socket.close();
            }
            return ports;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

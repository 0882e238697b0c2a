package io.weir.cluster.stage;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A thread of the backstage that lives in the network of one host, where it opens sockets for others: a socket belongs
 * to the network in which it was made, whoever uses it.
 */
final class Resident {
    private static final int CONNECT_MS = 2_000;
    private static final int CHUNK_BYTES = 16 * 1024;
    private static final int BACKLOG = 64;

    /** Opens one side of a relay. */
    private interface Dial {
        Socket open() throws IOException;
    }

    private final String address;
    private final ExecutorService thread;

    Resident(String network, String name, String address) {
        this.address = address;
        thread = Executors.newSingleThreadExecutor(task -> daemon(task, "resident-" + name));
        call(() -> {
            Linux.enterNetwork(network);
            return null;
        });
    }

    /** Done by this thread. */
    <T> T call(Callable<T> work) {
        try {
            return thread.submit(work).get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause().getMessage(), e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    private Socket connect(int port) throws IOException {
        try {
            return call(() -> {
                Socket socket = new Socket();
                socket.connect(new InetSocketAddress(address, port), CONNECT_MS);
                socket.setTcpNoDelay(true);
                return socket;
            });
        } catch (IllegalStateException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    boolean accepts(int port) {
        try (Socket socket = connect(port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    /** A port on loopback outside of the stage that leads to one of this host. */
    int door(int port) throws IOException {
        ServerSocket outside = new ServerSocket(0, BACKLOG, InetAddress.getLoopbackAddress());
        serve(outside, () -> connect(port));
        return outside.getLocalPort();
    }

    /** A port of this host that leads to a server outside of the stage. */
    void outlet(int port, InetSocketAddress server) {
        ServerSocket inside = call(() -> new ServerSocket(port, BACKLOG, InetAddress.getByName(address)));
        serve(inside, () -> {
            Socket socket = new Socket();
            socket.connect(server, CONNECT_MS);
            socket.setTcpNoDelay(true);
            return socket;
        });
    }

    private static void serve(ServerSocket listening, Dial dial) {
        daemon(
                        () -> {
                            try {
                                while (true) {
                                    Socket accepted = listening.accept();
                                    daemon(() -> relay(accepted, dial), "relay").start();
                                }
                            } catch (IOException e) {
                                // Nobody closes it before the process ends.
                                throw new IllegalStateException(e);
                            }
                        },
                        "relay-accept")
                .start();
    }

    private static void relay(Socket accepted, Dial dial) {
        try (Socket near = accepted;
                Socket far = dial.open()) {
            near.setTcpNoDelay(true);
            Thread back = daemon(() -> pump(far, near), "relay-back");
            back.start();
            pump(near, far);
            back.join();
        } catch (IOException e) {
            // The other side is not there: whoever connected sees the connection end.
            return;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void pump(Socket from, Socket to) {
        byte[] chunk = new byte[CHUNK_BYTES];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int count = in.read(chunk); count >= 0; count = in.read(chunk)) {
                out.write(chunk, 0, count);
            }
            to.shutdownOutput();
        } catch (IOException e) {
            closeBoth(from, to);
        }
    }

    /** A connection that broke on one side is broken on the other. */
    private static void closeBoth(Socket one, Socket other) {
        try (one;
                other) {
            one.setSoLinger(true, 0);
            other.setSoLinger(true, 0);
        } catch (IOException e) {
            return;
        }
    }

    private static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }
}

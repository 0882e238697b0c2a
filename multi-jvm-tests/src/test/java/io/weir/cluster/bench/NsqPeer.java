package io.weir.cluster.bench;

import io.weir.config.Endpoint;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Enough of a broker to answer NSQ V2: one queue for everything, a thread a connection, and faults on demand. */
final class NsqPeer implements AutoCloseable {
    private final ServerSocket server = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
    private final List<Client> clients = new ArrayList<>();
    private final Queue<byte[]> waiting = new ArrayDeque<>();
    /** What was published, by its text; only for the small bodies of hands-on tests. */
    private final List<String> published = new ArrayList<>();

    /** Of a generator's messages: when each was meant to be sent. */
    private final List<Long> intendedNs = new ArrayList<>();

    private final List<String> finished = new ArrayList<>();
    private final List<String> lines = new ArrayList<>();
    private long nextId;
    private long publishes;
    private long stallAtPublish = -1;
    private long stallMs;
    private String refuse;
    private byte[] garbageAfterPublish;
    private int closeAfterPublishes = Integer.MAX_VALUE;
    private String secret;

    /** A connection. */
    private final class Client {
        final Socket socket;
        final Map<String, byte[]> inFlight = new LinkedHashMap<>();
        boolean subscribed;
        boolean authorized;
        int ready;

        Client(Socket socket) {
            this.socket = socket;
        }

        void frame(int type, byte[] content) throws IOException {
            OutputStream out = socket.getOutputStream();
            out.write(ByteBuffer.allocate(8 + content.length)
                    .putInt(4 + content.length)
                    .putInt(type)
                    .put(content)
                    .array());
        }
    }

    NsqPeer() throws IOException {
        daemon("nsq-peer", () -> {
            while (true) {
                Client client = new Client(server.accept());
                client.socket.setTcpNoDelay(true);
                daemon("nsq-peer-client", () -> serve(client));
            }
        });
    }

    private interface Task {
        void run() throws IOException;
    }

    private static void daemon(String name, Task task) {
        Thread thread = new Thread(
                () -> {
                    try {
                        task.run();
                    } catch (IOException e) {
                        // The other end, or the test, has closed it.
                    }
                },
                name);
        thread.setDaemon(true);
        thread.start();
    }

    Endpoint endpoint() {
        return new Endpoint("127.0.0.1", server.getLocalPort());
    }

    /** Does nothing at all for so long once that many messages were published. */
    synchronized NsqPeer stallingAt(long publish, long forMs) {
        stallAtPublish = publish;
        stallMs = forMs;
        return this;
    }

    synchronized NsqPeer refusing(String error) {
        refuse = error;
        return this;
    }

    synchronized NsqPeer askingFor(String newSecret) {
        secret = newSecret;
        return this;
    }

    synchronized NsqPeer answeringAPublishWith(byte[] bytes) {
        garbageAfterPublish = bytes;
        return this;
    }

    synchronized NsqPeer closingAfter(int publishesTaken) {
        closeAfterPublishes = publishesTaken;
        return this;
    }

    synchronized List<String> published() {
        return List.copyOf(published);
    }

    synchronized List<Long> intendedNs() {
        return List.copyOf(intendedNs);
    }

    synchronized List<String> finished() {
        return List.copyOf(finished);
    }

    synchronized List<String> lines() {
        return List.copyOf(lines);
    }

    /** Puts a message into the queue as if it had been published. */
    synchronized void enqueue(byte[] body) {
        waiting.add(body);
        deliver();
    }

    synchronized void heartbeat() throws IOException {
        for (Client client : clients) {
            client.frame(0, "_heartbeat_".getBytes(StandardCharsets.US_ASCII));
        }
    }

    /** Ends every connection, but goes on listening. */
    synchronized void hangUp() throws IOException {
        for (Client client : List.copyOf(clients)) {
            client.socket.close();
            forget(client);
        }
    }

    private void serve(Client client) throws IOException {
        synchronized (this) {
            clients.add(client);
        }
        try (Socket socket = client.socket) {
            DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 64 * 1024));
            in.readNBytes(4);
            while (true) {
                String line = line(in);
                if (!onLine(client, line, in)) {
                    return;
                }
            }
        } finally {
            forget(client);
        }
    }

    /** What it did not finish goes to somebody else. */
    private synchronized void forget(Client client) {
        if (clients.remove(client)) {
            waiting.addAll(client.inFlight.values());
        }
    }

    private static String line(DataInputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.readByte(); next != '\n'; next = in.readByte()) {
            line.append((char) next);
        }
        return line.toString();
    }

    private boolean onLine(Client client, String line, DataInputStream in) throws IOException {
        String verb = line.split(" ")[0];
        boolean hasBody = verb.equals("IDENTIFY") || verb.equals("AUTH") || verb.equals("PUB") || verb.equals("MPUB");
        byte[] body = hasBody ? in.readNBytes(in.readInt()) : new byte[0];
        synchronized (this) {
            if (!verb.equals("FIN") && !verb.equals("PUB")) {
                lines.add(line);
            }
            if (secret != null && !client.authorized && !verb.equals("IDENTIFY") && !verb.equals("AUTH")) {
                client.frame(1, ("E_AUTH_FIRST AUTH required before " + verb).getBytes(StandardCharsets.US_ASCII));
                return false;
            }
            switch (verb) {
                case "IDENTIFY" -> client.frame(0, identified(new String(body, StandardCharsets.UTF_8)));
                case "AUTH" -> {
                    client.authorized = new String(body, StandardCharsets.UTF_8).equals(secret);
                    client.frame(
                            client.authorized ? 0 : 1,
                            (client.authorized ? "{\"permission_count\":1}" : "E_AUTH_FAILED AUTH failed")
                                    .getBytes(StandardCharsets.US_ASCII));
                    return client.authorized;
                }
                case "PUB" -> {
                    return onPublish(client, body);
                }
                case "MPUB" -> onBatch(client, ByteBuffer.wrap(body));
                case "SUB" -> {
                    client.subscribed = true;
                    client.frame(0, "OK".getBytes(StandardCharsets.US_ASCII));
                }
                case "RDY" -> client.ready = Integer.parseInt(line.split(" ")[1]);
                case "FIN" -> {
                    byte[] done = client.inFlight.remove(line.split(" ")[1]);
                    if (done.length < 100) {
                        finished.add(new String(done, StandardCharsets.UTF_8));
                    }
                }
                case "CLS" -> client.frame(0, "CLOSE_WAIT".getBytes(StandardCharsets.US_ASCII));
                case "NOP" -> {}
                default -> throw new IOException("what is " + verb);
            }
            deliver();
            return true;
        }
    }

    private byte[] identified(String identity) {
        return (identity.contains("\"feature_negotiation\":true")
                        ? "{\"tls_v1\":false,\"auth_required\":" + (secret != null) + "}"
                        : "OK")
                .getBytes(StandardCharsets.US_ASCII);
    }

    private void onBatch(Client client, ByteBuffer batch) throws IOException {
        for (int left = batch.getInt(); left > 0; left--) {
            byte[] body = new byte[batch.getInt()];
            batch.get(body);
            take(body);
        }
        client.frame(0, "OK".getBytes(StandardCharsets.US_ASCII));
    }

    private void take(byte[] body) {
        if (body.length < 100) {
            published.add(new String(body, StandardCharsets.UTF_8));
        }
        if (body.length >= Load.MIN_BODY_BYTES) {
            intendedNs.add(ByteBuffer.wrap(body).getLong(8));
        }
        waiting.add(body);
    }

    private boolean onPublish(Client client, byte[] body) throws IOException {
        if (++publishes == stallAtPublish) {
            // Under the lock: nobody is served meanwhile.
            long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(stallMs);
            while (System.nanoTime() - untilNs < 0) {
                LockSupport.parkNanos(untilNs - System.nanoTime());
            }
        }
        if (publishes > closeAfterPublishes) {
            return false;
        }
        if (garbageAfterPublish != null) {
            client.socket.getOutputStream().write(garbageAfterPublish);
            return true;
        }
        if (refuse != null) {
            client.frame(1, refuse.getBytes(StandardCharsets.US_ASCII));
            return true;
        }
        client.frame(0, "OK".getBytes(StandardCharsets.US_ASCII));
        take(body);
        deliver();
        return true;
    }

    private void deliver() {
        for (Client client : List.copyOf(clients)) {
            try {
                deliverTo(client);
            } catch (IOException e) {
                forget(client);
            }
        }
    }

    private void deliverTo(Client client) throws IOException {
        while (client.subscribed && client.inFlight.size() < client.ready && !waiting.isEmpty()) {
            byte[] body = waiting.remove();
            String id = String.format("%016x", nextId++);
            client.inFlight.put(id, body);
            client.frame(
                    2,
                    ByteBuffer.allocate(26 + body.length)
                            .putLong(1_000_000_007L)
                            .putShort((short) 1)
                            .put(id.getBytes(StandardCharsets.US_ASCII))
                            .put(body)
                            .array());
        }
    }

    @Override
    public void close() {
        try {
            server.close();
            hangUp();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

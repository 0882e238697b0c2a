package io.weir.transport.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.Endpoint;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;

/**
 * A broker that does what a test says: it speaks NSQ V2, keeps what is published, and answers each publication with
 * what {@link #answering} decides. A thread a connection.
 */
final class ScriptedBroker implements AutoCloseable {
    static final String OK = "OK";
    /** No answer, ever. */
    static final String SILENCE = "";
    /** The connection is closed in place of an answer. */
    static final String HANG_UP = "hang up";

    private final ServerSocket server;
    private final List<Socket> connections = new CopyOnWriteArrayList<>();
    private final List<String> published = new CopyOnWriteArrayList<>();
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final List<String> identities = new CopyOnWriteArrayList<>();
    private final List<String> secrets = new CopyOnWriteArrayList<>();
    private final List<Integer> batches = new CopyOnWriteArrayList<>();
    private volatile Function<List<String>, String> answers = bodies -> OK;
    private final List<Long> subscribedNs = new CopyOnWriteArrayList<>();
    private volatile String subscriptions = OK;
    private volatile SSLContext tls;
    private volatile byte[] saidBeforeTls = {};
    private volatile String saidAfterTls = OK;
    private volatile boolean authRequired;
    private volatile String rightSecret;
    private volatile String identifyAnswer;
    private volatile int messageTimeoutMs = 60_000;
    private volatile Client last;

    ScriptedBroker() throws IOException {
        this(0);
    }

    ScriptedBroker(int port) throws IOException {
        server = new ServerSocket();
        server.setReuseAddress(true);
        server.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port));
        thread(this::acceptAll);
    }

    private static void thread(Runnable task) {
        Thread thread = new Thread(task, "scripted-broker");
        thread.setDaemon(true);
        thread.start();
    }

    Endpoint endpoint() {
        return new Endpoint("127.0.0.1", server.getLocalPort());
    }

    ScriptedBroker answering(Function<List<String>, String> decision) {
        answers = decision;
        return this;
    }

    /** As {@link #answering}, but nothing is answered before the latch is open. */
    ScriptedBroker answeringAfter(CountDownLatch latch, Function<List<String>, String> decision) {
        return answering(bodies -> {
            try {
                assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return decision.apply(bodies);
        });
    }

    /** Tells the connection that came last that the topic's home is at another broker. */
    void tellHome(String topic, ScriptedBroker home) throws IOException {
        send(3, "{\"topic\":\"" + topic + "\",\"broker\":\"b2\",\"tcp\":\"" + home.endpoint() + "\"}");
    }

    ScriptedBroker answeringSubscriptions(String answer) {
        subscriptions = answer;
        return this;
    }

    ScriptedBroker offering(SSLContext context) {
        tls = context;
        return this;
    }

    /** Puts frames right behind the answer to IDENTIFY, in the open, as somebody on the way could. */
    ScriptedBroker sayingBeforeTls(byte[]... frames) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] frame : frames) {
            all.writeBytes(frame);
        }
        saidBeforeTls = all.toByteArray();
        return this;
    }

    ScriptedBroker sayingAfterTls(String answer) {
        saidAfterTls = answer;
        return this;
    }

    ScriptedBroker asksForASecret() {
        authRequired = true;
        return this;
    }

    ScriptedBroker asksForTheSecret(String secret) {
        rightSecret = secret;
        return asksForASecret();
    }

    /** In place of what it would say of itself; null: that. */
    ScriptedBroker answeringIdentify(String answer) {
        identifyAnswer = answer;
        return this;
    }

    ScriptedBroker timingOutAfter(int ms) {
        messageTimeoutMs = ms;
        return this;
    }

    /** Bodies that were answered with OK, or not answered, in the order in which they came. */
    List<String> published() {
        return published;
    }

    List<Integer> batches() {
        return batches;
    }

    List<String> lines() {
        return lines;
    }

    /** When each SUB came. */
    List<Long> subscribedNs() {
        return subscribedNs;
    }

    List<String> identities() {
        return identities;
    }

    List<String> secrets() {
        return secrets;
    }

    int connections() {
        return connections.size();
    }

    /** To the connection that came last. */
    void send(int type, String content) throws IOException {
        last.send(frame(type, content.getBytes(StandardCharsets.UTF_8)));
    }

    /** As they are, to the connection that came last. */
    void sendBytes(byte[] bytes) throws IOException {
        last.send(bytes);
    }

    void deliver(String id, int attempts, String body) throws IOException {
        last.send(message(id, attempts, body));
    }

    static byte[] message(String id, int attempts, String body) {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        return frame(
                2,
                ByteBuffer.allocate(26 + bytes.length)
                        .putLong(42)
                        .putShort((short) attempts)
                        .put(id.getBytes(StandardCharsets.US_ASCII))
                        .put(bytes)
                        .array());
    }

    static byte[] response(String text) {
        return frame(0, text.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] error(String text) {
        return frame(1, text.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] frame(int type, byte[] content) {
        return ByteBuffer.allocate(8 + content.length)
                .putInt(4 + content.length)
                .putInt(type)
                .put(content)
                .array();
    }

    void hangUp() throws IOException {
        for (Socket connection : connections) {
            connection.close();
        }
    }

    private void acceptAll() {
        try {
            while (true) {
                Socket socket = server.accept();
                connections.add(socket);
                thread(() -> serve(socket));
            }
        } catch (IOException e) {
            lines.add("closed");
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            new Client(socket).serve();
        } catch (EOFException | SocketException e) {
            lines.add("gone");
        } catch (IOException e) {
            lines.add("broken: " + e.getMessage());
        }
    }

    private final class Client {
        private Socket socket;
        private DataInputStream in;
        private OutputStream out;

        Client(Socket socket) throws IOException {
            use(socket);
        }

        private void use(Socket through) throws IOException {
            socket = through;
            in = new DataInputStream(new BufferedInputStream(through.getInputStream()));
            out = through.getOutputStream();
        }

        synchronized void send(byte[] bytes) throws IOException {
            out.write(bytes);
            out.flush();
        }

        private void serve() throws IOException {
            in.readNBytes(4);
            while (true) {
                String line = line();
                String verb = line.split(" ")[0];
                switch (verb) {
                    case "IDENTIFY" -> identify();
                    case "AUTH" -> {
                        String secret = text(in.readInt());
                        secrets.add(secret);
                        send(
                                rightSecret == null || rightSecret.equals(secret)
                                        ? response("{\"identity\":\"test\"}")
                                        : error("E_AUTH_FAILED AUTH failed"));
                    }
                    case "PUB" -> {
                        lines.add(line);
                        answer(List.of(text(in.readInt())));
                    }
                    case "MPUB" -> {
                        lines.add(line);
                        in.readInt();
                        int count = in.readInt();
                        List<String> bodies = new ArrayList<>();
                        for (int i = 0; i < count; i++) {
                            bodies.add(text(in.readInt()));
                        }
                        answer(bodies);
                    }
                    case "SUB" -> {
                        lines.add(line);
                        last = this;
                        subscribedNs.add(System.nanoTime());
                        send(subscriptions.startsWith("E_") ? error(subscriptions) : response(subscriptions));
                    }
                    case "CLS" -> {
                        lines.add(line);
                        send(response("CLOSE_WAIT"));
                    }
                    default -> lines.add(line);
                }
            }
        }

        private void identify() throws IOException {
            identities.add(text(in.readInt()));
            String capabilities = "{\"max_rdy_count\":2500,\"msg_timeout\":" + messageTimeoutMs + ",\"tls_v1\":"
                    + (tls != null) + ",\"auth_required\":" + authRequired + "}";
            byte[] answer = response(identifyAnswer == null ? capabilities : identifyAnswer);
            send(ByteBuffer.allocate(answer.length + saidBeforeTls.length)
                    .put(answer)
                    .put(saidBeforeTls)
                    .array());
            if (tls != null) {
                SSLSocket secured = (SSLSocket) tls.getSocketFactory().createSocket(socket, null, true);
                secured.setUseClientMode(false);
                secured.startHandshake();
                use(secured);
                send(response(saidAfterTls));
            }
            last = this;
        }

        private void answer(List<String> bodies) throws IOException {
            String answer = answers.apply(bodies);
            if (answer.equals(HANG_UP)) {
                socket.close();
                throw new EOFException();
            }
            if (answer.startsWith("E_")) {
                send(error(answer));
                return;
            }
            batches.add(bodies.size());
            published.addAll(bodies);
            if (!answer.equals(SILENCE)) {
                send(response(answer));
            }
        }

        private String line() throws IOException {
            StringBuilder line = new StringBuilder();
            int next = in.readUnsignedByte();
            while (next != '\n') {
                line.append((char) next);
                next = in.readUnsignedByte();
            }
            return line.toString();
        }

        private String text(int length) throws IOException {
            return new String(in.readNBytes(length), StandardCharsets.UTF_8);
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
        hangUp();
    }
}

package io.weir.supervisor.cli.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.Endpoint;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * A blocking connection to anything that speaks NSQ V2: what {@code weir pub}, {@code weir sub}, chaos and the demo
 * publish and consume with. One thread reads; any may write.
 *
 * <pre>
 *  int32 size | int32 type (0 response, 1 error, 2 message) | content
 * </pre>
 */
public final class NsqConnection implements AutoCloseable {
    private static final int CONNECT_WITHIN_MS = 5_000;
    /** A broker that sends not even a heartbeat for so long is gone; twice the usual interval. */
    private static final int SILENT_FOR_MS = 60_000;

    private static final int MAX_FRAME_BYTES = 64 << 20;
    private static final int MESSAGE_HEAD_BYTES = 26;
    private static final ObjectMapper JSON = new ObjectMapper();

    /** What the broker sends, apart from heartbeats, which are answered here. */
    sealed interface Frame {
        record Response(String text) implements Frame {}

        record Failure(String text) implements Frame {}

        record Message(long timestampNs, int attempts, String id, byte[] body) implements Frame {}
    }

    /** Replaced by {@link #secure} before any other thread sees this connection. */
    private Socket socket;

    private DataInputStream in;
    private OutputStream out;

    private NsqConnection(Socket socket) throws IOException {
        use(socket);
    }

    private void use(Socket through) throws IOException {
        socket = through;
        in = new DataInputStream(new BufferedInputStream(through.getInputStream(), 64 * 1024));
        out = through.getOutputStream();
    }

    /**
     * @param secret shown to a broker that asks for one
     * @param tls if present the connection is encrypted, or not made
     */
    static NsqConnection open(Endpoint endpoint, Optional<String> secret, Optional<SSLContext> tls) throws IOException {
        NsqConnection connection = open(endpoint, secret, tls, CONNECT_WITHIN_MS);
        connection.waitAtMost(SILENT_FOR_MS);
        return connection;
    }

    /**
     * In the clear and without a secret. The broker counts as gone when it is silent for as long as connecting may
     * take.
     */
    public static NsqConnection open(Endpoint endpoint, int connectWithinMs) throws IOException {
        return open(endpoint, Optional.empty(), Optional.empty(), connectWithinMs);
    }

    private static NsqConnection open(
            Endpoint endpoint, Optional<String> secret, Optional<SSLContext> tls, int connectWithinMs)
            throws IOException {
        InetSocketAddress address = new InetSocketAddress(endpoint.host(), endpoint.port());
        if (address.isUnresolved()) {
            throw new IOException("there is no host " + endpoint.host());
        }
        Socket socket = new Socket();
        try {
            socket.connect(address, connectWithinMs);
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(connectWithinMs);
            NsqConnection connection = new NsqConnection(socket);
            connection.identify(endpoint, secret, tls);
            return connection;
        } catch (IOException e) {
            socket.close();
            String reason = e.getMessage() == null ? "the connection was closed" : e.getMessage();
            throw e instanceof Refusal ? e : new IOException(endpoint + ": " + reason, e);
        }
    }

    private void identify(Endpoint endpoint, Optional<String> secret, Optional<SSLContext> tls) throws IOException {
        write(
                "  V2IDENTIFY\n",
                ("{\"client_id\":\"weir\",\"feature_negotiation\":true,\"tls_v1\":" + tls.isPresent() + "}")
                        .getBytes(StandardCharsets.UTF_8));
        String answer = expectResponse();
        // Something that negotiates nothing says OK.
        JsonNode agreed = answer.equals("OK") ? JSON.createObjectNode() : JSON.readTree(answer);
        if (tls.isPresent()) {
            if (!agreed.path("tls_v1").asBoolean()) {
                throw new Refusal("it does not encrypt, and --tls-ca asks for that");
            }
            secure(endpoint, tls.get());
            expectResponse();
        }
        if (agreed.path("auth_required").asBoolean()) {
            if (secret.isEmpty()) {
                throw new Refusal("it asks for a secret: --secret-file");
            }
            write("AUTH\n", secret.get().getBytes(StandardCharsets.UTF_8));
            expectResponse();
        }
    }

    private void secure(Endpoint endpoint, SSLContext context) throws IOException {
        SSLSocket secured =
                (SSLSocket) context.getSocketFactory().createSocket(socket, endpoint.host(), endpoint.port(), true);
        SSLParameters parameters = secured.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        secured.setSSLParameters(parameters);
        secured.startHandshake();
        use(secured);
    }

    /** From now on the broker counts as gone when it is silent for so long. */
    public void waitAtMost(int silentMs) throws IOException {
        socket.setSoTimeout(silentMs);
    }

    void publish(String topic, byte[] body) throws IOException {
        write("PUB " + topic + "\n", body);
    }

    /** Publishes, and waits for the answer: OK, or the error's text. Only for a connection that is not subscribed. */
    public String publishAndWait(String topic, byte[] body) throws IOException {
        publish(topic, body);
        Frame frame = read();
        if (frame instanceof Frame.Failure failure) {
            return failure.text();
        }
        return answer(frame);
    }

    /** @param bodies each after its length, with their number in front */
    void publishBatch(String topic, byte[] bodies) throws IOException {
        write("MPUB " + topic + "\n", bodies);
    }

    /** Sends lines that have no body: {@code SUB}, {@code RDY}, {@code FIN}, {@code CLS}. */
    synchronized void write(String lines) throws IOException {
        out.write(lines.getBytes(StandardCharsets.UTF_8));
    }

    private synchronized void write(String line, byte[] body) throws IOException {
        byte[] command = line.getBytes(StandardCharsets.UTF_8);
        out.write(ByteBuffer.allocate(command.length + 4 + body.length)
                .put(command)
                .putInt(body.length)
                .put(body)
                .array());
    }

    /** Waits for the answer to a command that has to be answered before anything else comes. */
    String expectResponse() throws IOException {
        Frame frame = read();
        if (frame instanceof Frame.Failure failure) {
            String text = failure.text();
            throw new Refusal(text.contains("TLS required") ? text + ": --tls-ca" : text);
        }
        return answer(frame);
    }

    private static String answer(Frame frame) throws IOException {
        if (frame instanceof Frame.Response response) {
            return response.text();
        }
        throw new IOException("this is not NSQ V2: a message where an answer should be");
    }

    /** The next frame that is not a heartbeat. */
    Frame read() throws IOException {
        while (true) {
            int size = in.readInt();
            if (size < 4 || size > MAX_FRAME_BYTES) {
                throw new IOException("this is not NSQ V2: a frame of " + size + " bytes");
            }
            int type = in.readInt();
            byte[] content = in.readNBytes(size - 4);
            if (content.length < size - 4) {
                throw new IOException("the connection ended within a frame");
            }
            switch (type) {
                case 0 -> {
                    String text = new String(content, StandardCharsets.UTF_8);
                    if (!text.equals("_heartbeat_")) {
                        return new Frame.Response(text);
                    }
                    write("NOP\n");
                }
                case 1 -> {
                    return new Frame.Failure(new String(content, StandardCharsets.UTF_8));
                }
                case 2 -> {
                    return message(content);
                }
                default -> throw new IOException("this is not NSQ V2: a frame of type " + type);
            }
        }
    }

    private static Frame.Message message(byte[] content) throws IOException {
        if (content.length < MESSAGE_HEAD_BYTES) {
            throw new IOException("this is not NSQ V2: a message of " + content.length + " bytes");
        }
        ByteBuffer head = ByteBuffer.wrap(content);
        return new Frame.Message(
                head.getLong(),
                head.getShort() & 0xffff,
                new String(content, 10, 16, StandardCharsets.ISO_8859_1),
                Arrays.copyOfRange(content, MESSAGE_HEAD_BYTES, content.length));
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    /** The broker understood and refused: trying again the same way does not help. */
    static final class Refusal extends IOException {
        Refusal(String text) {
            super(text);
        }
    }
}

package io.weir.supervisor.cli;

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

/**
 * A blocking connection to anything that speaks NSQ V2, for {@code weir pub} and {@code weir sub}. One thread reads; any may write.
 *
 * <pre>
 *  int32 size | int32 type (0 response, 1 error, 2 message) | content
 * </pre>
 */
final class NsqConnection implements AutoCloseable {
    private static final int CONNECT_WITHIN_MS = 5_000;
    /** A broker that sends not even a heartbeat for so long is gone; twice the usual interval. */
    private static final int SILENT_FOR_MS = 60_000;

    private static final int MAX_FRAME_BYTES = 64 << 20;
    private static final int MESSAGE_HEAD_BYTES = 26;

    /** What the broker sends, apart from heartbeats, which are answered here. */
    sealed interface Frame {
        record Response(String text) implements Frame {}

        record Failure(String text) implements Frame {}

        record Message(long timestampNs, int attempts, String id, byte[] body) implements Frame {}
    }

    private final Socket socket;
    private final DataInputStream in;
    private final OutputStream out;

    private NsqConnection(Socket socket) throws IOException {
        this.socket = socket;
        this.in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 64 * 1024));
        this.out = socket.getOutputStream();
    }

    static NsqConnection open(Endpoint endpoint) throws IOException {
        InetSocketAddress address = new InetSocketAddress(endpoint.host(), endpoint.port());
        if (address.isUnresolved()) {
            throw new IOException("there is no host " + endpoint.host());
        }
        Socket socket = new Socket();
        try {
            socket.connect(address, CONNECT_WITHIN_MS);
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(CONNECT_WITHIN_MS);
            NsqConnection connection = new NsqConnection(socket);
            connection.write(
                    "  V2IDENTIFY\n",
                    "{\"client_id\":\"weir\",\"feature_negotiation\":false}".getBytes(StandardCharsets.UTF_8));
            connection.expectResponse();
            socket.setSoTimeout(SILENT_FOR_MS);
            return connection;
        } catch (IOException e) {
            socket.close();
            String reason = e.getMessage() == null ? "the connection was closed" : e.getMessage();
            throw e instanceof Refusal ? e : new IOException(endpoint + ": " + reason, e);
        }
    }

    /** From here on the broker counts as gone when it is silent for so long. */
    void waitAtMost(int silentMs) throws IOException {
        socket.setSoTimeout(silentMs);
    }

    void publish(String topic, byte[] body) throws IOException {
        write("PUB " + topic + "\n", body);
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
    void expectResponse() throws IOException {
        if (read() instanceof Frame.Failure failure) {
            throw new Refusal(failure.text());
        }
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

    /** The broker understood, and said no: to try again the same way is in vain. */
    static final class Refusal extends IOException {
        Refusal(String text) {
            super(text);
        }
    }
}

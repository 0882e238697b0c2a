package io.weir.topics.path;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/** A client of a few lines, for saying exactly which bytes go when. */
public final class NsqSocket implements AutoCloseable {
    /** A frame as it came; of a message, its head is taken apart. */
    public record Frame(int type, int attempts, String id, String text) {}

    private final Socket socket = new Socket();
    private final DataInputStream in;
    private final DataOutputStream out;

    public NsqSocket(InetSocketAddress address) throws IOException {
        socket.connect(address);
        socket.setTcpNoDelay(true);
        socket.setSoTimeout((int) TimeUnit.SECONDS.toMillis(20));
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        out = new DataOutputStream(socket.getOutputStream());
    }

    public static NsqSocket greeted(InetSocketAddress address) throws IOException {
        NsqSocket socket = new NsqSocket(address);
        socket.send("  V2");
        return socket;
    }

    public void send(String text) throws IOException {
        send(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    public void send(byte[] bytes) throws IOException {
        out.write(bytes);
        out.flush();
    }

    public void sendBody(String line, String body) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream data = new DataOutputStream(bytes);
        data.writeBytes(line + "\n");
        data.writeInt(body.length());
        data.writeBytes(body);
        send(bytes.toByteArray());
    }

    public void sendBatch(String topic, String... bodies) throws IOException {
        ByteArrayOutputStream batch = new ByteArrayOutputStream();
        DataOutputStream data = new DataOutputStream(batch);
        data.writeInt(bodies.length);
        for (String body : bodies) {
            data.writeInt(body.length());
            data.writeBytes(body);
        }
        sendBody("MPUB " + topic, batch.toString(StandardCharsets.ISO_8859_1));
    }

    public Frame frame() throws IOException {
        int size = in.readInt();
        int type = in.readInt();
        if (type != 2) {
            return new Frame(type, 0, null, new String(in.readNBytes(size - 4), StandardCharsets.ISO_8859_1));
        }
        in.readLong();
        int attempts = in.readUnsignedShort();
        String id = new String(in.readNBytes(16), StandardCharsets.US_ASCII);
        return new Frame(type, attempts, id, new String(in.readNBytes(size - 30), StandardCharsets.ISO_8859_1));
    }

    /** The text of the next frame that is no heartbeat. */
    public String answer() throws IOException {
        String text = frame().text();
        return text.equals("_heartbeat_") ? answer() : text;
    }

    public boolean ended() throws IOException {
        return in.read() < 0;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}

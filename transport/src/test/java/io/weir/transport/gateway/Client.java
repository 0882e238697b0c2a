package io.weir.transport.gateway;

import io.airlift.compress.snappy.SnappyFramedInputStream;
import io.airlift.compress.snappy.SnappyFramedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PushbackInputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;

/** A client that can put on the layers it negotiates, by other means than the gateway's. */
public final class Client implements AutoCloseable {
    /** A frame as it came. */
    public record Frame(int type, byte[] payload) {
        public String text() {
            return new String(payload, StandardCharsets.ISO_8859_1);
        }

        /** Of a message: what comes after timestamp, attempts and id. */
        public byte[] body() {
            return Arrays.copyOfRange(payload, 26, payload.length);
        }

        String id() {
            return new String(payload, 10, 16, StandardCharsets.US_ASCII);
        }
    }

    private final InetSocketAddress address;
    private Socket socket;
    private InputStream in;
    private OutputStream out;

    private Client(InetSocketAddress address) throws IOException {
        this.address = address;
        socket = new Socket(address.getAddress(), address.getPort());
        socket.setSoTimeout(30_000);
        socket.setTcpNoDelay(true);
        in = socket.getInputStream();
        out = socket.getOutputStream();
    }

    static Client silent(GatewayLoop loop) throws IOException {
        return new Client(loop.address());
    }

    public static Client greeted(GatewayLoop loop) throws IOException {
        Client client = silent(loop);
        client.send("  V2");
        return client;
    }

    Client send(String text) throws IOException {
        return send(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    Client send(byte[] bytes) throws IOException {
        out.write(bytes);
        out.flush();
        return this;
    }

    static byte[] command(String line, byte[] body) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream data = new DataOutputStream(bytes);
        data.writeBytes(line + "\n");
        data.writeInt(body.length);
        data.write(body);
        return bytes.toByteArray();
    }

    static byte[] command(String line, String body) throws IOException {
        return command(line, body.getBytes(StandardCharsets.UTF_8));
    }

    public Frame frame() throws IOException {
        DataInputStream data = new DataInputStream(in);
        int size = data.readInt();
        int type = data.readInt();
        byte[] payload = new byte[size - 4];
        data.readFully(payload);
        return new Frame(type, payload);
    }

    public String answer() throws IOException {
        return frame().text();
    }

    /** Whether nothing more comes. */
    public boolean ended() throws IOException {
        return in.read() < 0;
    }

    String identify(String json) throws IOException {
        send(command("IDENTIFY", json));
        return answer();
    }

    /** A frame as it is, or deflated: the answer to who asked for deflate, be it granted or not. */
    Frame frameOfEither() throws IOException {
        PushbackInputStream raw = new PushbackInputStream(in);
        int first = raw.read();
        raw.unread(first);
        // A frame's size begins with a zero, a deflated block that holds something does not.
        in = first == 0 ? raw : new InflaterInputStream(raw, new Inflater(true), 1);
        return frame();
    }

    /** Another handshake on the connection that is encrypted already. */
    void renegotiate() throws IOException {
        ((SSLSocket) socket).startHandshake();
    }

    Client tls(SSLContext context, String... versions) throws IOException {
        SSLSocket secured = (SSLSocket)
                context.getSocketFactory().createSocket(socket, address.getHostString(), address.getPort(), true);
        if (versions.length > 0) {
            secured.setEnabledProtocols(versions);
        }
        secured.startHandshake();
        socket = secured;
        in = secured.getInputStream();
        out = secured.getOutputStream();
        return this;
    }

    Client snappy() throws IOException {
        return snappyOut().snappyIn();
    }

    Client snappyOut() throws IOException {
        out = new SnappyFramedOutputStream(out);
        return this;
    }

    Client snappyIn() {
        // It reads the stream's first bytes when it is made, so it is made when they are wanted.
        InputStream raw = in;
        in = new InputStream() {
            private InputStream decoded;

            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
            }

            @Override
            public int read(byte[] to, int at, int length) throws IOException {
                if (decoded == null) {
                    decoded = new SnappyFramedInputStream(raw);
                }
                return decoded.read(to, at, length);
            }
        };
        return this;
    }

    Client deflate() {
        return deflateOut().deflateIn();
    }

    Client deflateOut() {
        out = new DeflaterOutputStream(out, new Deflater(6, true), 512, true);
        return this;
    }

    Client deflateIn() {
        in = new InflaterInputStream(in, new Inflater(true));
        return this;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}

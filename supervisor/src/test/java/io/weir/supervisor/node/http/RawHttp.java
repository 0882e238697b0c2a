package io.weir.supervisor.node.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.weir.supervisor.node.BrokerUnderTest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;

/**
 * A connection to a broker's HTTP port whose bytes the test writes itself: what no HTTP client would send, or not so
 * slowly.
 */
final class RawHttp implements AutoCloseable {
    private final Socket socket;
    private final BufferedReader in;

    RawHttp(BrokerUnderTest broker) throws IOException {
        URI address = URI.create(broker.http());
        socket = new Socket(address.getHost(), address.getPort());
        socket.setSoTimeout(30_000);
        in = new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8));
    }

    void write(String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(UTF_8));
    }

    /** The next line of the answer without its end, or null at the end. */
    String line() throws IOException {
        return in.readLine();
    }

    /** The rest of the answer's head; the body comes after it. */
    String head() throws IOException {
        StringBuilder head = new StringBuilder();
        for (String line = line(); line != null && !line.isEmpty(); line = line()) {
            head.append(line).append('\n');
        }
        return head.toString();
    }

    /** As much of the body as is there. */
    String body() throws IOException {
        char[] read = new char[10_000];
        int length = in.read(read);
        return length < 0 ? "" : new String(read, 0, length);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}

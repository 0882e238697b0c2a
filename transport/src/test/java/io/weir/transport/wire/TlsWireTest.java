package io.weir.transport.wire;

import static io.weir.transport.Awaiting.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class TlsWireTest {
    @TempDir
    private static Path dir;

    @Test
    void shouldHandOverWhatCameTogetherWithTheEnd() throws Exception {
        SSLContext context = TestCertificate.forBothEnds(dir, "ip:127.0.0.1");
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
                SocketChannel channel = SocketChannel.open(server.getLocalSocketAddress());
                Socket accepted = server.accept()) {
            channel.configureBlocking(false);
            CountDownLatch established = new CountDownLatch(1);
            CompletableFuture<Void> said = CompletableFuture.runAsync(() -> sayAndEnd(context, accepted, established));
            SSLEngine engine = context.createSSLEngine();
            engine.setUseClientMode(true);
            TlsWire wire = TlsWire.connect(
                    new SocketWire(channel), engine, new Buffers(16 * 1024, 1 << 20, what -> {}).purse());
            ByteBuffer in = ByteBuffer.allocate(1 << 16);
            await("the handshake", () -> read(wire, in) == 0 && wire.established());
            established.countDown();
            // Both are here before anything is read.
            said.join();

            AtomicInteger last = new AtomicInteger();
            AtomicInteger bytes = new AtomicInteger();
            await("the end", () -> {
                last.set(read(wire, in));
                bytes.addAndGet(Math.max(0, last.get()));
                return last.get() < 0;
            });
            assertThat(bytes).hasValue("last words".length());
            assertThat(new String(in.array(), 0, in.position(), StandardCharsets.UTF_8))
                    .isEqualTo("last words");
        }
    }

    private static void sayAndEnd(SSLContext context, Socket socket, CountDownLatch established) {
        try (SSLSocket secured = (SSLSocket) context.getSocketFactory().createSocket(socket, null, true)) {
            secured.setUseClientMode(false);
            secured.startHandshake();
            established.await();
            secured.getOutputStream().write("last words".getBytes(StandardCharsets.UTF_8));
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static int read(TlsWire wire, ByteBuffer in) {
        try {
            return wire.read(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

package io.weir.cluster.stage;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32;

/**
 * A process on a host that sends numbered packets to others, says which it got, and moves bytes over TCP. {@link #main}
 * is the process, the rest its remote control.
 */
final class Probe implements AutoCloseable {
    static final int UDP = 5_000;
    static final int TCP = 5_001;
    private static final int RECEIVE_BYTES = 4 * 1024 * 1024;
    private static final long WITHIN_S = 20;
    private static final int CONNECT_MS = 2_000;
    private static final long PACE_NS = 100_000;

    private final Process process;
    private final BlockingQueue<String> said = new LinkedBlockingQueue<>();

    Probe(Stage stage, String host) throws IOException {
        process = new ProcessBuilder(stage.inside(
                        host,
                        List.of(
                                Path.of(System.getProperty("java.home"), "bin", "java")
                                        .toString(),
                                "-XX:+UseSerialGC",
                                "-XX:TieredStopAtLevel=1",
                                "-XX:-UsePerfData",
                                "-cp",
                                Path.of("target", "test-classes")
                                        .toAbsolutePath()
                                        .toString(),
                                Probe.class.getName())))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        Thread listening = new Thread(() -> process.inputReader().lines().forEach(said::add), "probe-" + host);
        listening.setDaemon(true);
        listening.start();
        expect("ready");
    }

    /** Sends the numbers to each of the addresses in turn; returns when they are sent. */
    void send(int from, int count, String... addresses) throws IOException {
        order("send " + from + " " + count + " " + String.join(" ", addresses));
        expect("sent");
    }

    /** Goes on sending until {@link #stop}. */
    void sendOn(String... addresses) throws IOException {
        order("send-on " + String.join(" ", addresses));
    }

    void stop() throws IOException {
        order("stop");
        expect("sent");
    }

    /** What came so far, in the order it came, and is forgotten now. */
    List<Integer> received() throws IOException {
        order("received");
        String numbers = answer().strip();
        return numbers.isEmpty()
                ? List.of()
                : Arrays.stream(numbers.split(" ")).map(Integer::parseInt).toList();
    }

    /** Moves bytes over a new TCP connection; whether the other side got the same. */
    boolean transfer(String address, int port, int bytes) throws IOException {
        order("transfer " + address + " " + port + " " + bytes);
        return answer().equals("same");
    }

    private void order(String line) throws IOException {
        process.outputWriter().write(line + "\n");
        process.outputWriter().flush();
    }

    private void expect(String what) {
        String got = answer();
        if (!got.equals(what)) {
            throw new AssertionError("the probe said '" + got + "' instead of '" + what + "'");
        }
    }

    private String answer() {
        try {
            String line = said.poll(WITHIN_S, TimeUnit.SECONDS);
            if (line == null) {
                throw new AssertionError("the probe said nothing for " + WITHIN_S + " s");
            }
            return line;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    public static void main(String[] args) throws IOException {
        List<Integer> received = new ArrayList<>();
        DatagramSocket socket = new DatagramSocket(UDP);
        socket.setReceiveBufferSize(RECEIVE_BYTES);
        start(() -> receive(socket, received));
        ServerSocket server = new ServerSocket(TCP);
        start(() -> serve(server));
        OutputStream out = new FileOutputStream(FileDescriptor.out);
        say(out, "ready");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "send" -> {
                    int from = Integer.parseInt(words[1]);
                    int count = Integer.parseInt(words[2]);
                    for (int number = from; number < from + count; number++) {
                        send(socket, number, Arrays.copyOfRange(words, 3, words.length));
                    }
                    say(out, "sent");
                }
                case "send-on" -> {
                    for (int number = 0; !orders.ready(); number++) {
                        send(socket, number, Arrays.copyOfRange(words, 1, words.length));
                        // Slow enough that no buffer on the way overflows.
                        LockSupport.parkNanos(PACE_NS);
                    }
                    orders.readLine();
                    say(out, "sent");
                }
                case "received" -> {
                    synchronized (received) {
                        say(
                                out,
                                String.join(
                                        " ",
                                        received.stream().map(String::valueOf).toList()));
                        received.clear();
                    }
                }
                default -> say(out, transferTo(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3])));
            }
        }
    }

    private static void say(OutputStream out, String line) throws IOException {
        out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    interface Work {
        void run() throws IOException;
    }

    static void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private static void send(DatagramSocket socket, int number, String... addresses) throws IOException {
        byte[] body = ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
        for (String address : addresses) {
            socket.send(new DatagramPacket(body, body.length, InetAddress.getByName(address), UDP));
        }
    }

    private static void receive(DatagramSocket socket, List<Integer> received) throws IOException {
        DatagramPacket packet = new DatagramPacket(new byte[Integer.BYTES], Integer.BYTES);
        while (true) {
            socket.receive(packet);
            synchronized (received) {
                received.add(ByteBuffer.wrap(packet.getData()).getInt());
            }
        }
    }

    /** Until it is closed. */
    static void serve(ServerSocket server) throws IOException {
        while (!server.isClosed()) {
            try (Socket accepted = server.accept()) {
                InputStream in = accepted.getInputStream();
                CRC32 sum = new CRC32();
                byte[] chunk = new byte[64 * 1024];
                for (int count = in.read(chunk); count >= 0; count = in.read(chunk)) {
                    sum.update(chunk, 0, count);
                }
                accepted.getOutputStream()
                        .write(ByteBuffer.allocate(Long.BYTES)
                                .putLong(sum.getValue())
                                .array());
            } catch (IOException e) {
                if (!server.isClosed()) {
                    throw e;
                }
            }
        }
    }

    private static String transferTo(String address, int port, int bytes) {
        byte[] body = new byte[bytes];
        new Random(bytes).nextBytes(body);
        CRC32 sum = new CRC32();
        sum.update(body);
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(address, port), CONNECT_MS);
            socket.getOutputStream().write(body);
            socket.shutdownOutput();
            byte[] answer = socket.getInputStream().readNBytes(Long.BYTES);
            return ByteBuffer.wrap(answer).getLong() == sum.getValue() ? "same" : "different";
        } catch (IOException e) {
            return e.getMessage();
        }
    }
}

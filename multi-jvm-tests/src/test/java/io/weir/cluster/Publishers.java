package io.weir.cluster;

import io.weir.config.Endpoint;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * Publishers over TCP, as NSQ's clients are: a few connections for each broker and topic, on each one message at a time, the next
 * when the last is acknowledged and due. A connection that breaks, because its broker was killed, is made again.
 */
final class Publishers implements PublisherLoad, AutoCloseable {
    private static final int CONNECTIONS = 4;
    private static final int SILENT_MS = 5_000;
    private static final long AGAIN_NS = 200_000_000L;
    private static final long LONGEST_BACKLOG_NS = 1_000_000_000L;
    private static final byte[] BODY = "x".repeat(32).getBytes(StandardCharsets.US_ASCII);

    private record Where(String broker, String topic) {}

    private final Function<String, Endpoint> tcp;
    private final Map<Where, List<Publisher>> pressing = new ConcurrentHashMap<>();

    /** @param tcp a broker's gateway */
    Publishers(Function<String, Endpoint> tcp) {
        this.tcp = tcp;
    }

    @Override
    public void press(String broker, String topic, double perSecond) {
        List<Publisher> before = pressing.remove(new Where(broker, topic));
        if (before != null) {
            before.forEach(Publisher::end);
        }
        if (perSecond > 0) {
            List<Publisher> now = new ArrayList<>();
            for (int i = 0; i < CONNECTIONS; i++) {
                Publisher publisher = new Publisher(tcp.apply(broker), topic, (long) (1e9 * CONNECTIONS / perSecond));
                publisher.setDaemon(true);
                publisher.start();
                now.add(publisher);
            }
            pressing.put(new Where(broker, topic), now);
        }
    }

    @Override
    public void close() {
        pressing.values().forEach(all -> all.forEach(Publisher::end));
        pressing.clear();
    }

    private static final class Publisher extends Thread {
        private final Endpoint broker;
        private final String topic;
        private final long intervalNs;
        private volatile boolean ended;
        private volatile Socket socket;

        Publisher(Endpoint broker, String topic, long intervalNs) {
            super("publisher-" + broker + "-" + topic);
            this.broker = broker;
            this.topic = topic;
            this.intervalNs = intervalNs;
        }

        void end() {
            ended = true;
            Socket open = socket;
            if (open != null) {
                try {
                    open.close();
                } catch (IOException e) {
                    // It is as closed as it gets.
                }
            }
        }

        @Override
        public void run() {
            while (!ended) {
                try (Socket opened = new Socket()) {
                    socket = opened;
                    opened.connect(new InetSocketAddress(broker.host(), broker.port()), SILENT_MS);
                    opened.setSoTimeout(SILENT_MS);
                    opened.setTcpNoDelay(true);
                    publish(
                            new DataInputStream(new BufferedInputStream(opened.getInputStream())),
                            new DataOutputStream(opened.getOutputStream()));
                } catch (IOException e) {
                    LockSupport.parkNanos(AGAIN_NS);
                }
            }
        }

        private void publish(DataInputStream in, DataOutputStream out) throws IOException {
            byte[] line = ("PUB " + topic + "\n").getBytes(StandardCharsets.US_ASCII);
            byte[] command = new byte[line.length + 4 + BODY.length];
            System.arraycopy(line, 0, command, 0, line.length);
            command[line.length + 3] = (byte) BODY.length;
            System.arraycopy(BODY, 0, command, line.length + 4, BODY.length);
            out.write("  V2".getBytes(StandardCharsets.US_ASCII));
            long dueNs = System.nanoTime();
            while (!ended) {
                long nowNs = System.nanoTime();
                if (nowNs - dueNs > LONGEST_BACKLOG_NS) {
                    dueNs = nowNs;
                }
                if (dueNs - nowNs > 0) {
                    LockSupport.parkNanos(dueNs - nowNs);
                }
                out.write(command);
                awaitAnswer(in, out);
                dueNs += intervalNs;
            }
        }

        private static void awaitAnswer(DataInputStream in, DataOutputStream out) throws IOException {
            while (true) {
                byte[] frame = new byte[in.readInt()];
                in.readFully(frame);
                if (!new String(frame, 4, frame.length - 4, StandardCharsets.US_ASCII).equals("_heartbeat_")) {
                    return;
                }
                out.write("NOP\n".getBytes(StandardCharsets.US_ASCII));
            }
        }
    }
}

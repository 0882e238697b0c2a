package io.weir.cluster.chaos.client;

import io.weir.cluster.chaos.client.ClientPlan.Publishing;
import io.weir.cluster.history.HistoryWriter.Outcome;
import io.weir.config.Endpoint;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Publishes over one connection, one message at a time, and records of each that it was sent and what became of it: acknowledged (ok),
 * certainly not published (fail), or nobody knows (info), as when the connection broke before the answer. It speaks NSQ V2 by
 * itself rather than through Weir's client, whose publisher goes wherever a topic's home is.
 */
public final class RecordingPublisher extends Thread {
    private static final int CONNECT_WITHIN_MS = 2_000;
    private static final int SILENT_MS = 15_000;
    private static final long AGAIN_NS = TimeUnit.MILLISECONDS.toNanos(300);
    private static final long LONGEST_PARK_NS = TimeUnit.MILLISECONDS.toNanos(100);
    /** Who was held up does not make up for all of it at once. */
    private static final long LONGEST_BACKLOG_NS = TimeUnit.SECONDS.toNanos(1);

    private static final int MAX_FRAME_BYTES = 1 << 20;
    private static final int RESPONSE = 0;

    private final Publishing plan;
    private final ClientRecord record;
    private final Endpoint endpoint;
    private volatile double factor;
    private volatile boolean ended;
    private volatile Socket socket;

    public RecordingPublisher(Publishing plan, ClientRecord record) {
        super("publisher-" + plan.broker() + "-" + plan.topic());
        setDaemon(true);
        this.plan = plan;
        this.record = record;
        endpoint = Endpoint.parse(plan.endpoint());
    }

    String topic() {
        return plan.topic();
    }

    /** So many times its middling rate from now on; 0: nothing. */
    public void press(double times) {
        factor = times;
    }

    /** Publishes no more; what has no answer yet stays unknown. */
    public void end() {
        ended = true;
        Socket open = socket;
        if (open != null) {
            try {
                open.close();
            } catch (IOException e) {
                // It is as closed as it gets.
                return;
            }
        }
    }

    @Override
    public void run() {
        while (!ended) {
            try (Socket opened = new Socket()) {
                socket = opened;
                opened.connect(new InetSocketAddress(endpoint.host(), endpoint.port()), CONNECT_WITHIN_MS);
                opened.setSoTimeout(SILENT_MS);
                opened.setTcpNoDelay(true);
                OutputStream out = opened.getOutputStream();
                out.write("  V2".getBytes(StandardCharsets.US_ASCII));
                publish(new DataInputStream(new BufferedInputStream(opened.getInputStream())), out);
            } catch (IOException e) {
                LockSupport.parkNanos(AGAIN_NS);
            }
        }
    }

    private void publish(DataInputStream in, OutputStream out) throws IOException {
        long dueNs = System.nanoTime();
        while (!ended) {
            double perSecond = factor * plan.perSecond() / plan.connections();
            long nowNs = System.nanoTime();
            if (perSecond <= 0 || nowNs - dueNs > LONGEST_BACKLOG_NS) {
                dueNs = nowNs;
            }
            if (perSecond <= 0 || dueNs - nowNs > 0) {
                // Never for long: the tide may turn.
                LockSupport.parkNanos(perSecond <= 0 ? LONGEST_PARK_NS : Math.min(dueNs - nowNs, LONGEST_PARK_NS));
                continue;
            }
            one(in, out);
            dueNs += (long) (1e9 / perSecond);
        }
    }

    private void one(DataInputStream in, OutputStream out) throws IOException {
        long op = record.next();
        record.publish(Outcome.invoke, op, plan.topic(), plan.broker(), null);
        String answer;
        try {
            out.write(command(record.id(op)));
            answer = answer(in, out);
        } catch (IOException e) {
            record.publish(Outcome.info, op, plan.topic(), plan.broker(), String.valueOf(e.getMessage()));
            throw e;
        }
        if (answer.equals("OK")) {
            record.publish(Outcome.ok, op, plan.topic(), plan.broker(), null);
        } else if (answer.endsWith("is not known")) {
            // On the way to its home; the protocol has no word of its own for that.
            record.publish(Outcome.info, op, plan.topic(), plan.broker(), answer);
        } else if (answer.startsWith("E_PUB_FAILED") || answer.startsWith("E_BAD_TOPIC")) {
            record.publish(Outcome.fail, op, plan.topic(), plan.broker(), answer);
        } else {
            record.publish(Outcome.info, op, plan.topic(), plan.broker(), answer);
            throw new IOException(answer);
        }
    }

    private byte[] command(String id) {
        byte[] line = ("PUB " + plan.topic() + "\n").getBytes(StandardCharsets.US_ASCII);
        byte[] body = id.getBytes(StandardCharsets.US_ASCII);
        return ByteBuffer.allocate(line.length + 4 + body.length)
                .put(line)
                .putInt(body.length)
                .put(body)
                .array();
    }

    /** The text of the next frame that is no heartbeat. */
    private static String answer(DataInputStream in, OutputStream out) throws IOException {
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
            String text = new String(content, StandardCharsets.UTF_8);
            if (type != RESPONSE || !text.equals("_heartbeat_")) {
                return text;
            }
            out.write("NOP\n".getBytes(StandardCharsets.US_ASCII));
        }
    }
}

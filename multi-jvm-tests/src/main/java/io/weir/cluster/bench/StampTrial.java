package io.weir.cluster.bench;

import io.weir.cluster.bench.wire.BenchConnection;
import io.weir.cluster.bench.wire.Handshake;
import io.weir.cluster.bench.wire.NsqWire;
import io.weir.cluster.bench.wire.WireException;
import io.weir.cluster.bench.wire.WireProtocol;
import io.weir.config.Endpoint;
import io.weir.transport.gateway.GatewayLoop;
import io.weir.transport.gateway.GatewaySettings;
import io.weir.transport.gateway.MessagePort;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Subscriber;
import io.weir.transport.gateway.Subscription;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * How far a broker's arrival stamps are from when messages came. A gateway's loop, as a broker runs it, takes messages
 * from many connections; behind it stands not a broker but someone who compares the loop's stamp with the time in the
 * body, which the sender wrote just before it handed the message to the system. Both ends read the same clock.
 *
 * <p>The difference is the error from above: the sender's system call, in which the bytes reach the broker's socket, is
 * part of it. A stamp can also be early: what comes after the loop woke, on a socket that was ready already, gets the
 * time of the waking.
 */
final class StampTrial implements WireProtocol.Inbox, AutoCloseable {
    private static final String TOPIC = "stamps";
    private static final int BODY_BYTES = 100;
    private static final int BUFFER_BYTES = 16 * 1024;
    private static final long PARK_NS = 20_000;
    private static final long ANSWERS_WITHIN_NS = TimeUnit.SECONDS.toNanos(10);

    private final Comparer comparer;
    private final GatewayLoop loop;
    private final Selector selector = Selector.open();
    private final NsqWire wire = new NsqWire();
    private final BenchConnection[] connections;
    private final Consumer<SelectionKey> onReady = this::onReady;
    private final long[] writeNs;
    private final byte[] frame;
    private final int bodyAt;
    private long sent;
    private long answered;
    private int writes;

    /** Differences, in the order in which they came; there is room for all that the schedule may bring. */
    private static final class Comparer implements MessagePort {
        final long[] errorNs;
        int count;

        Comparer(int room) {
            errorNs = new long[room];
        }

        @Override
        public boolean publish(PublishRequest request, long nowNs) {
            // The warm-up's messages hold no time.
            long sentNs = request.in().getLong(request.bodyAt());
            if (sentNs != 0 && count < errorNs.length) {
                errorNs[count++] = nowNs - sentNs;
            }
            request.publisher().accepted(request.ticket());
            return true;
        }

        @Override
        public Subscription subscribe(Subscriber subscriber, String topic, String channel, long timeoutNs, long nowNs) {
            return null;
        }

        @Override
        public int doWork(long nowNs) {
            return 0;
        }

        @Override
        public long nextDeadlineNs() {
            return NO_DEADLINE;
        }
    }

    /**
     * What came out; the names are those of {@code -o json}.
     *
     * @param p50Micros of stamp minus time of sending, as the other percentiles
     * @param early stamps that are before the time of sending
     * @param minMicros the earliest of them, or the least late
     * @param writeP50Micros how long the sender's own system call took, which is in the percentiles above
     */
    record Outcome(
            long messages,
            int connections,
            double p50Micros,
            double p95Micros,
            double p99Micros,
            double maxMicros,
            double minMicros,
            long early,
            double writeP50Micros,
            double writeP99Micros) {}

    /** @param room for how many messages of the measured time */
    StampTrial(int connectionCount, int room) throws IOException {
        comparer = new Comparer(room);
        writeNs = new long[room];
        loop = new GatewayLoop(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                GatewaySettings.defaults(),
                System::nanoTime);
        loop.start(comparer);
        WireProtocol.Subject subject = new WireProtocol.Subject(TOPIC, TOPIC, 0, BODY_BYTES, true, false);
        frame = wire.publish(subject);
        bodyAt = wire.bodyAt(subject);
        connections = new BenchConnection[connectionCount];
        Endpoint endpoint = new Endpoint("127.0.0.1", loop.address().getPort());
        try {
            for (int i = 0; i < connectionCount; i++) {
                Handshake handshake = Handshake.with("the gateway", endpoint);
                wire.openPublisher(handshake, subject, 0);
                connections[i] = handshake.connection(wire, false, BUFFER_BYTES, BUFFER_BYTES);
                connections[i].channel.register(selector, SelectionKey.OP_READ, connections[i]);
            }
        } catch (IOException e) {
            close();
            throw e;
        }
    }

    Outcome run(double messagesPerSecond, Duration warmUp, Duration measured, long seed) throws IOException {
        long startNs = System.nanoTime();
        long measureFromNs = startNs + warmUp.toNanos();
        long endNs = measureFromNs + measured.toNanos();
        SendSchedule schedule = new SendSchedule(
                SendSchedule.Distribution.poisson, connections.length, messagesPerSecond, startNs, seed);
        long nowNs = startNs;
        try {
            while (schedule.nextNs() - endNs < 0 || answered < sent && nowNs - endNs < ANSWERS_WITHIN_NS) {
                while (schedule.nextNs() - nowNs <= 0 && schedule.nextNs() - endNs < 0) {
                    send(connections[schedule.nextPublisher()], schedule.nextNs() - measureFromNs >= 0);
                    schedule.advance();
                }
                if (selector.selectNow(onReady) == 0) {
                    pause(schedule.nextNs() - System.nanoTime());
                }
                nowNs = System.nanoTime();
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        if (answered < sent) {
            throw new WireException((sent - answered) + " messages were not answered");
        }
        // Its thread is gone after this, and what it wrote can be read.
        loop.close();
        return outcome();
    }

    private void send(BenchConnection connection, boolean counts) throws IOException {
        ByteBuffer out = connection.out;
        int at = out.position();
        out.put(frame);
        long beforeNs = System.nanoTime();
        out.putLong(at + bodyAt, counts ? beforeNs : 0);
        if (!connection.flush()) {
            throw new WireException("a socket's buffer is full: the rate is too high for this machine");
        }
        sent++;
        if (counts && writes < writeNs.length) {
            writeNs[writes++] = System.nanoTime() - beforeNs;
        }
    }

    private void pause(long untilDueNs) throws IOException {
        if (untilDueNs > TimeUnit.MILLISECONDS.toNanos(1)) {
            selector.select(onReady, 1);
        } else if (untilDueNs > 0) {
            LockSupport.parkNanos(Math.min(untilDueNs, PARK_NS));
        }
    }

    private void onReady(SelectionKey key) {
        BenchConnection connection = (BenchConnection) key.attachment();
        try {
            if (connection.fill() > 0) {
                connection.receive(this);
                connection.flush();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Outcome outcome() {
        long[] errors = Arrays.copyOf(comparer.errorNs, comparer.count);
        long[] ownNs = Arrays.copyOf(writeNs, writes);
        Arrays.sort(errors);
        Arrays.sort(ownNs);
        return new Outcome(
                errors.length,
                connections.length,
                micros(errors, 50),
                micros(errors, 95),
                micros(errors, 99),
                micros(errors, 100),
                micros(errors, 0),
                Arrays.stream(errors).filter(error -> error < 0).count(),
                micros(ownNs, 50),
                micros(ownNs, 99));
    }

    private static double micros(long[] sorted, double percentile) {
        if (sorted.length == 0) {
            return 0;
        }
        int at = (int) Math.ceil(percentile / 100 * sorted.length) - 1;
        return Math.round(sorted[Math.max(at, 0)] / 100.0) / 10.0;
    }

    @Override
    public void acknowledged(BenchConnection from) {
        answered++;
    }

    @Override
    public void refused(BenchConnection from, String text) {
        throw new UncheckedIOException(new WireException("the gateway refused a message: " + text));
    }

    @Override
    public void message(BenchConnection from, int at, int bodyBytes, boolean again) {
        // Nobody subscribed.
    }

    @Override
    public void close() throws IOException {
        loop.close();
        for (SelectionKey key : selector.keys()) {
            key.channel().close();
        }
        selector.close();
    }
}

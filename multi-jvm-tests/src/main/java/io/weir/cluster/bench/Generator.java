package io.weir.cluster.bench;

import io.weir.config.Endpoint;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.Arrays;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * Puts a load on a target and takes it out again at the other end, on one thread: a hand-over between threads would be part of what is
 * measured. Nothing is allocated per message.
 *
 * <p>An open-loop message that finds its connection's buffer full waits in the schedule, and all later ones behind it; its latency counts
 * from the time at which it was due, so a broker that holds back does not look better for it.
 */
final class Generator implements Wire.Inbox, AutoCloseable {
    private static final int OUT_BYTES = 256 * 1024;
    private static final int PUBLISHER_IN_BYTES = 64 * 1024;
    private static final int CONSUMER_IN_BYTES = 512 * 1024;
    private static final long MAX_LATENCY_NS = TimeUnit.HOURS.toNanos(1);
    private static final long PARK_NS = 20_000;
    private static final long START_DELAY_NS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int INTENDED_AT = 8;

    private final Load load;
    private final Wire wire;
    private final Selector selector = Selector.open();
    private final Connection[] publishers;
    private final Connection consumer;
    private final byte[] frame;
    private final int bodyAt;
    /** Tells this run's messages from what an earlier one left on the channel. */
    private final long run = ThreadLocalRandom.current().nextLong();

    private final Histogram latencyNs = new Histogram(MAX_LATENCY_NS, 3);
    private final Consumer<SelectionKey> onReady = this::onReady;

    private long measureFromNs;
    private long endNs;
    private long allSent;
    private long allReceived;
    private long unsent;
    private long measuredSent;
    private long measuredReceived;
    private long acknowledged;
    private long refused;
    private long redelivered;
    private long receivedAtNs;
    private boolean readSomething;

    /** For those who watch from another thread. */
    private volatile long sentSoFar;

    private volatile long receivedSoFar;

    private Generator(Target target, Load load) throws IOException {
        this.load = load;
        this.wire = target.wire();
        Wire.Subject subject = new Wire.Subject(
                load.topic(),
                load.channel(),
                load.credit(),
                load.bodyBytes(),
                load.shape() instanceof Load.Shape.OpenLoop);
        frame = wire.publish(subject);
        bodyAt = wire.bodyAt(subject);
        Arrays.fill(frame, bodyAt, bodyAt + load.bodyBytes(), (byte) 'x');
        publishers = new Connection[load.connections()];
        try {
            // The consumer first: a topic without a channel would keep, or drop, what comes before it.
            consumer = open(target.name(), target.consumeFrom(), subject, true);
            for (int i = 0; i < publishers.length; i++) {
                Endpoint endpoint =
                        target.publishTo().get(i % target.publishTo().size());
                publishers[i] = open(target.name(), endpoint, subject, false);
            }
        } catch (IOException e) {
            close();
            throw e;
        }
    }

    static Generator connect(Target target, Load load) throws IOException {
        return new Generator(target, load);
    }

    private Connection open(String name, Endpoint endpoint, Wire.Subject subject, boolean consumes) throws IOException {
        Handshake handshake = Handshake.with(name, endpoint);
        try {
            if (consumes) {
                wire.openConsumer(handshake, subject);
            } else {
                wire.openPublisher(handshake, subject);
            }
            int inBytes = consumes ? CONSUMER_IN_BYTES + 2 * load.bodyBytes() : PUBLISHER_IN_BYTES;
            int outBytes = consumes ? OUT_BYTES : OUT_BYTES + batch() * frame.length;
            Connection connection = handshake.connection(wire, inBytes, outBytes);
            connection.channel.register(selector, SelectionKey.OP_READ, connection);
            return connection;
        } catch (IOException e) {
            handshake.close();
            throw e;
        }
    }

    private int batch() {
        return load.shape() instanceof Load.Shape.OpenLoop openLoop
                ? openLoop.batch()
                : ((Load.Shape.Pipelined) load.shape()).batch();
    }

    long sentSoFar() {
        return sentSoFar;
    }

    long receivedSoFar() {
        return receivedSoFar;
    }

    /** Runs the load to its end, and a little longer for what is still on its way. */
    void run() throws IOException {
        long startNs = System.nanoTime() + START_DELAY_NS;
        measureFromNs = startNs + load.warmUp().toNanos();
        endNs = measureFromNs + load.measured().toNanos();
        try {
            if (load.shape() instanceof Load.Shape.OpenLoop openLoop) {
                runOpenLoop(openLoop, startNs);
            } else {
                runPipelined((Load.Shape.Pipelined) load.shape());
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private void runOpenLoop(Load.Shape.OpenLoop shape, long startNs) throws IOException {
        Schedule schedule = new Schedule(
                shape.distribution(),
                shape.publishers(),
                shape.messagesPerSecond() / shape.batch(),
                startNs,
                shape.seed());
        long nowNs = System.nanoTime();
        while (schedule.nextNs() - endNs < 0 ? !drained(nowNs) : !settled(nowNs)) {
            boolean worked = false;
            while (schedule.nextNs() - nowNs <= 0 && schedule.nextNs() - endNs < 0) {
                Connection connection = publishers[schedule.nextPublisher() % publishers.length];
                if (connection.out.remaining() < shape.batch() * frame.length) {
                    break;
                }
                for (int i = 0; i < shape.batch(); i++) {
                    publish(connection, schedule.nextNs());
                }
                schedule.advance();
                worked = true;
            }
            worked |= turn();
            nowNs = System.nanoTime();
            if (!worked) {
                pause(schedule.nextNs() - nowNs);
            }
        }
        for (; schedule.nextNs() - endNs < 0; schedule.advance()) {
            unsent += shape.batch();
        }
    }

    private void runPipelined(Load.Shape.Pipelined shape) throws IOException {
        long onTheirWay = (long) shape.window() * publishers.length;
        long nowNs = System.nanoTime();
        while (nowNs - endNs < 0 || !settled(nowNs)) {
            boolean worked = false;
            for (int i = 0; i < publishers.length && nowNs - endNs < 0; i++) {
                Connection connection = publishers[i];
                if (connection.out.position() == 0
                        && connection.unacknowledged + shape.batch() <= shape.window()
                        && allSent - refused - allReceived + shape.batch() <= onTheirWay) {
                    for (int j = 0; j < shape.batch(); j++) {
                        publish(connection, nowNs);
                    }
                    worked = true;
                }
            }
            worked |= turn();
            nowNs = System.nanoTime();
            if (!worked) {
                pause(TimeUnit.MILLISECONDS.toNanos(2));
            }
        }
    }

    private void publish(Connection connection, long intendedNs) {
        ByteBuffer out = connection.out;
        int at = out.position();
        out.put(frame);
        out.putLong(at + bodyAt, run);
        out.putLong(at + bodyAt + INTENDED_AT, intendedNs);
        wire.number(connection, at);
        connection.published++;
        if (wire.acknowledges()) {
            connection.unacknowledged++;
        }
        allSent++;
        if (intendedNs - measureFromNs >= 0 && intendedNs - endNs < 0) {
            measuredSent++;
        }
    }

    /** Writes, reads and answers once; whether anything came. */
    private boolean turn() throws IOException {
        flush();
        readSomething = false;
        selector.selectNow(onReady);
        if (consumer.stalled) {
            receivedAtNs = System.nanoTime();
            consumer.receive(this);
            readSomething = true;
        }
        consumer.flush();
        sentSoFar = allSent;
        receivedSoFar = allReceived;
        return readSomething;
    }

    private void flush() throws IOException {
        for (Connection connection : publishers) {
            if (connection.stalled) {
                connection.receive(this);
            }
            connection.flush();
        }
    }

    private void onReady(SelectionKey key) {
        Connection connection = (Connection) key.attachment();
        try {
            if (connection.fill() > 0) {
                receivedAtNs = System.nanoTime();
                connection.receive(this);
                readSomething = true;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void pause(long untilDueNs) throws IOException {
        if (load.pause() == Load.Pause.yield) {
            Thread.yield();
        } else if (untilDueNs > TimeUnit.MILLISECONDS.toNanos(1)) {
            selector.select(onReady, 1);
        } else {
            LockSupport.parkNanos(Math.min(untilDueNs, PARK_NS));
        }
    }

    /** Whether nothing is on its way any more, or it is too late to wait for it. */
    private boolean settled(long nowNs) {
        boolean all = allReceived >= allSent - refused && (!wire.acknowledges() || acknowledged + refused >= allSent);
        return all || drained(nowNs);
    }

    private boolean drained(long nowNs) {
        return nowNs - endNs - load.drain().toNanos() >= 0;
    }

    @Override
    public void acknowledged(Connection from) {
        from.unacknowledged--;
        acknowledged++;
    }

    @Override
    public void refused(Connection from, String text) {
        from.lastRefusal = text;
        if (from != consumer) {
            from.unacknowledged--;
            refused++;
        }
    }

    @Override
    public void message(Connection from, int at, int bodyBytes, boolean again) {
        ByteBuffer in = from.in;
        if (bodyBytes != load.bodyBytes() || in.getLong(at) != run) {
            return;
        }
        if (again) {
            redelivered++;
            return;
        }
        allReceived++;
        long intendedNs = in.getLong(at + INTENDED_AT);
        // An open-loop message belongs to the time at which it was due; of pipelined ones those count that arrive in
        // time.
        long countsAtNs = load.shape() instanceof Load.Shape.OpenLoop ? intendedNs : receivedAtNs;
        if (countsAtNs - measureFromNs >= 0 && countsAtNs - endNs < 0) {
            measuredReceived++;
            latencyNs.recordValue(Math.min(Math.max(receivedAtNs - intendedNs, 0), MAX_LATENCY_NS));
        }
    }

    /** What was measured; call it after {@link #run}. */
    Result result(Double brokerCpuPercent, Double allocatedBytesPerMessage) {
        double seconds = load.measured().toNanos() / 1e9;
        return new Result(
                measuredSent,
                measuredReceived,
                micros(latencyNs.getValueAtPercentile(50)),
                micros(latencyNs.getValueAtPercentile(95)),
                micros(latencyNs.getValueAtPercentile(99)),
                micros(latencyNs.getValueAtPercentile(99.9)),
                micros(latencyNs.getMaxValue()),
                Math.round(10 * measuredReceived / seconds) / 10.0,
                brokerCpuPercent,
                allocatedBytesPerMessage,
                acknowledged,
                refused,
                redelivered,
                Math.max(0, allSent - refused - allReceived),
                unsent,
                seconds);
    }

    private static double micros(long ns) {
        return Math.round(ns / 100.0) / 10.0;
    }

    @Override
    public void close() throws IOException {
        for (SelectionKey key : selector.keys()) {
            key.channel().close();
        }
        selector.close();
    }
}

package io.weir.cluster.bench;

import io.weir.cluster.bench.wire.BenchConnection;
import io.weir.cluster.bench.wire.Handshake;
import io.weir.cluster.bench.wire.WireException;
import io.weir.cluster.bench.wire.WireProtocol;
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
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * Puts a load on a target and takes it out again at the other end, on one thread: a hand-over between threads would be
 * part of what is measured. Nothing is allocated per message.
 *
 * <p>An open-loop message that finds its connection's buffer full waits in the schedule, and all later ones behind it;
 * its latency counts from the time at which it was due, so a broker that holds back does not look better for it. Only
 * connections with something to write are looked at, so five thousand cost no more than fifty.
 */
public final class Generator implements WireProtocol.Inbox, AutoCloseable {
    private static final int OUT_BYTES = 256 * 1024;
    private static final int PUBLISHER_IN_BYTES = 64 * 1024;
    private static final int LEAST_BUFFER_BYTES = 16 * 1024;
    /** What the buffers of all publishing connections take together, each way, before they get smaller. */
    private static final int PUBLISHERS_BYTES = 128 << 20;

    private static final int CONSUMER_IN_BYTES = 512 * 1024;
    private static final long MAX_LATENCY_NS = TimeUnit.HOURS.toNanos(1);
    private static final long PARK_NS = 20_000;
    private static final long START_DELAY_NS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int INTENDED_AT = 8;

    private final Load load;
    private final WireProtocol wire;
    private final Selector selector = Selector.open();
    private final BenchConnection[] publishers;
    private final BenchConnection[] consumers;
    private final BenchConnection[] dirty;
    private int dirtyCount;
    private final WireProtocol.Publish publish;
    /** A batch is so many publishes. */
    private final int publishes;

    private final int batchBytes;
    /** Marks this run's messages: an earlier run may have left some on the channel. */
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
    /** Publishers of the group whose turn it is that have sent already. */
    private int sentOfGroup;

    /** Null: nobody wants to know. */
    private SendLog log;

    /** For those who watch from another thread. */
    private volatile long sentSoFar;

    private volatile long receivedSoFar;

    /** From those: see {@link #slower}, {@link #measureNow} and {@link #stop}. */
    private volatile int slower = 1;

    private volatile boolean measureNow;

    private volatile boolean stopped;

    private Generator(Target target, Load load) throws IOException {
        this.load = load;
        this.wire = target.wire();
        WireProtocol.Subject subject = new WireProtocol.Subject(
                load.topic(),
                load.channel(),
                load.shape() instanceof Load.Shape.Queued ? 0 : load.credit(),
                load.bodyBytes(),
                load.shape() instanceof Load.Shape.OpenLoop,
                load.consumers() > 1);
        Load.Batch batch = load.shape().batch();
        publish = wire.publish(subject, batch.as() == Load.Batch.As.mpub ? batch.messages() : 1);
        publishes = batch.messages() / publish.messages();
        batchBytes = publishes * publish.bytes().length;
        for (int i = 0; i < publish.messages(); i++) {
            int bodyAt = publish.bodyAt() + i * publish.bodyEvery();
            Arrays.fill(publish.bytes(), bodyAt, bodyAt + load.bodyBytes(), (byte) 'x');
        }
        consumers = new BenchConnection[load.consumers()];
        publishers = new BenchConnection[load.connections()];
        dirty = new BenchConnection[consumers.length + publishers.length];
        int opened = 0;
        try {
            // Consumers first: a topic without a channel would keep, or drop, what comes before it.
            for (int i = 0; i < consumers.length; i++, opened++) {
                Endpoint endpoint =
                        target.consumeFrom().get(i % target.consumeFrom().size());
                consumers[i] = open(target.name(), endpoint, subject, -1);
            }
            for (int i = 0; i < publishers.length; i++, opened++) {
                Endpoint endpoint =
                        target.publishTo().get(i % target.publishTo().size());
                publishers[i] = open(target.name(), endpoint, subject, i);
            }
        } catch (IOException e) {
            close();
            throw opened == 0
                    ? e
                    : new WireException(e.getMessage() + " (after " + opened + " connections of " + dirty.length
                            + ": how many does it allow, and what is its 'ulimit -n'?)");
        }
    }

    public static Generator connect(Target target, Load load) throws IOException {
        return new Generator(target, load);
    }

    /** @param publisher its number; below 0: it consumes */
    private BenchConnection open(String name, Endpoint endpoint, WireProtocol.Subject subject, int publisher)
            throws IOException {
        boolean consumes = publisher < 0;
        Handshake handshake = Handshake.with(name, endpoint);
        try {
            if (consumes) {
                wire.openConsumer(handshake, subject);
            } else {
                wire.openPublisher(handshake, subject, publisher);
            }
            int inBytes = consumes ? CONSUMER_IN_BYTES + 2 * load.bodyBytes() : fair(PUBLISHER_IN_BYTES);
            int outBytes = consumes ? OUT_BYTES : fair(OUT_BYTES) + batchBytes;
            BenchConnection connection = handshake.connection(wire, consumes, inBytes, outBytes);
            connection.channel.register(selector, SelectionKey.OP_READ, connection);
            return connection;
        } catch (IOException e) {
            handshake.close();
            throw e;
        }
    }

    private int fair(int bytes) {
        return Math.max(LEAST_BUFFER_BYTES, Math.min(bytes, PUBLISHERS_BYTES / publishers.length));
    }

    /** Before it runs: where to write down when each message of an open-loop load goes. */
    public void recordIn(SendLog newLog) {
        log = newLog;
    }

    /** For whoever is called by {@link #run(Runnable)}. */
    long acknowledged() {
        return acknowledged;
    }

    long sentSoFar() {
        return sentSoFar;
    }

    long receivedSoFar() {
        return receivedSoFar;
    }

    /**
     * Publishers of an open-loop load leave gaps so many times as long, until it is 1 again. From another thread, too.
     */
    public void slower(int times) {
        slower = times;
    }

    /** Whatever is left of the warm-up, the measured time of an open-loop load begins now. From another thread. */
    public void measureNow() {
        measureNow = true;
    }

    /** The run ends at once, with an exception. From another thread. */
    public void stop() {
        stopped = true;
    }

    /** Runs the load to its end, and a little longer for what is still on its way. */
    public void run() throws IOException {
        run(() -> {});
    }

    /**
     * The same; {@code whenQueued} is called, by this thread, when everything is in that should wait for its consumers.
     */
    public void run(Runnable whenQueued) throws IOException {
        long startNs = System.nanoTime() + START_DELAY_NS;
        measureFromNs = startNs + load.warmUp().toNanos();
        endNs = measureFromNs + load.measured().toNanos();
        try {
            if (load.shape() instanceof Load.Shape.OpenLoop openLoop) {
                runOpenLoop(openLoop, startNs);
            } else if (load.shape() instanceof Load.Shape.Pipelined pipelined) {
                runPipelined(pipelined);
            } else {
                runQueued((Load.Shape.Queued) load.shape(), whenQueued);
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private void runOpenLoop(Load.Shape.OpenLoop shape, long startNs) throws IOException {
        SendSchedule schedule = shape.schedule(startNs);
        long nowNs = System.nanoTime();
        while (schedule.nextNs() - endNs < 0 ? !drained(nowNs) : !settled(nowNs)) {
            boolean worked = false;
            obey(schedule);
            while (schedule.nextNs() - nowNs <= 0 && schedule.nextNs() - endNs < 0) {
                if (!publishGroup(shape, schedule.nextPublisher(), schedule.nextNs())) {
                    break;
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
            int group = schedule.nextPublisher();
            int left = shape.firstOf(group + 1) - shape.firstOf(group) - sentOfGroup;
            unsent += (long) left * shape.batch().messages();
            sentOfGroup = 0;
        }
    }

    /** Every publisher of the group sends; false if one found no room, and then it is that one's turn next time. */
    private boolean publishGroup(Load.Shape.OpenLoop shape, int group, long intendedNs) {
        int end = shape.firstOf(group + 1);
        for (int i = shape.firstOf(group) + sentOfGroup; i < end; i++) {
            BenchConnection connection = publishers[i % publishers.length];
            if (connection.out.remaining() < batchBytes) {
                return false;
            }
            publishBatch(connection, intendedNs);
            if (log != null) {
                log.sent(
                        i % publishers.length,
                        shape.batch().messages(),
                        intendedNs - measureFromNs >= 0,
                        System.nanoTime());
            }
            sentOfGroup++;
        }
        sentOfGroup = 0;
        return true;
    }

    private void runPipelined(Load.Shape.Pipelined shape) throws IOException {
        long onTheirWay = (long) shape.window() * publishers.length;
        int batch = shape.batch().messages();
        long nowNs = System.nanoTime();
        while (nowNs - endNs < 0 || !settled(nowNs)) {
            boolean worked = false;
            for (int i = 0; i < publishers.length && nowNs - endNs < 0; i++) {
                if (allSent - refused - allReceived + batch <= onTheirWay) {
                    worked |= publishWithin(shape.window(), publishers[i], nowNs);
                }
            }
            worked |= turn();
            nowNs = System.nanoTime();
            if (!worked) {
                pause(TimeUnit.MILLISECONDS.toNanos(2));
            }
        }
    }

    private boolean publishWithin(int window, BenchConnection connection, long nowNs) {
        if (connection.out.position() > 0
                || connection.unacknowledged + load.shape().batch().messages() > window) {
            return false;
        }
        publishBatch(connection, nowNs);
        return true;
    }

    /** All of it in, then all of it out, each for as long as it gets on; what could get in comes out in any case. */
    private void runQueued(Load.Shape.Queued shape, Runnable whenQueued) throws IOException {
        measureFromNs = System.nanoTime();
        endNs = measureFromNs + MAX_LATENCY_NS;
        awaitAnswers(measureFromNs, () -> acknowledged + refused >= shape.messages(), shape);
        whenQueued.run();
        for (BenchConnection consumer : consumers) {
            if (!wire.grant(consumer, load.credit())) {
                throw new WireException(wire.name() + " has no consumers that wait: nothing can be queued");
            }
            touch(consumer);
        }
        Load.Shape.Queued nothingMore = new Load.Shape.Queued(0, shape.batch(), shape.window());
        awaitAnswers(System.nanoTime(), () -> allReceived >= allSent - refused, nothingMore);
    }

    private void awaitAnswers(long fromNs, BooleanSupplier done, Load.Shape.Queued shape) throws IOException {
        long nowNs = fromNs;
        long lastNs = fromNs;
        long known = -1;
        while (!done.getAsBoolean() && nowNs - lastNs < load.drain().toNanos()) {
            boolean worked = false;
            for (int i = 0; i < publishers.length && allSent < shape.messages(); i++) {
                worked |= publishWithin(shape.window(), publishers[i], nowNs);
            }
            worked |= turn();
            nowNs = System.nanoTime();
            if (known != acknowledged + refused + allReceived) {
                known = acknowledged + refused + allReceived;
                lastNs = nowNs;
            }
            if (!worked) {
                pause(TimeUnit.MILLISECONDS.toNanos(2));
            }
        }
    }

    private void publishBatch(BenchConnection connection, long intendedNs) {
        for (int i = 0; i < publishes; i++) {
            publish(connection, intendedNs);
        }
        touch(connection);
    }

    private void publish(BenchConnection connection, long intendedNs) {
        ByteBuffer out = connection.out;
        int at = out.position();
        int messages = publish.messages();
        out.put(publish.bytes());
        for (int i = 0; i < messages; i++) {
            int bodyAt = at + publish.bodyAt() + i * publish.bodyEvery();
            out.putLong(bodyAt, run);
            out.putLong(bodyAt + INTENDED_AT, intendedNs);
        }
        wire.number(connection, at);
        connection.published++;
        if (wire.acknowledges()) {
            connection.unacknowledged += messages;
        }
        allSent += messages;
        if (intendedNs - measureFromNs >= 0 && intendedNs - endNs < 0) {
            measuredSent += messages;
        }
    }

    private void touch(BenchConnection connection) {
        if (!connection.dirty) {
            connection.dirty = true;
            dirty[dirtyCount++] = connection;
        }
    }

    /** Writes, reads and answers once; whether anything came. */
    private boolean turn() throws IOException {
        if (stopped) {
            throw new WireException("the load was stopped");
        }
        readSomething = false;
        flush();
        selector.selectNow(onReady);
        flush();
        sentSoFar = allSent;
        receivedSoFar = allReceived;
        return readSomething;
    }

    private void obey(SendSchedule schedule) {
        schedule.stretch(slower);
        if (measureNow) {
            measureNow = false;
            measureFromNs = System.nanoTime();
            endNs = measureFromNs + load.measured().toNanos();
        }
    }

    private void flush() throws IOException {
        int left = 0;
        for (int i = 0; i < dirtyCount; i++) {
            BenchConnection connection = dirty[i];
            boolean written = connection.flush();
            if (written && connection.stalled) {
                receivedAtNs = System.nanoTime();
                connection.receive(this);
                readSomething = true;
                written = connection.flush() && !connection.stalled;
            }
            if (written) {
                connection.dirty = false;
            } else {
                dirty[left++] = connection;
            }
        }
        dirtyCount = left;
    }

    private void onReady(SelectionKey key) {
        BenchConnection connection = (BenchConnection) key.attachment();
        try {
            if (connection.fill() > 0) {
                receivedAtNs = System.nanoTime();
                connection.receive(this);
                readSomething = true;
                if (connection.stalled || connection.out.position() > 0) {
                    touch(connection);
                }
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
    public void acknowledged(BenchConnection from) {
        from.unacknowledged -= publish.messages();
        acknowledged += publish.messages();
    }

    @Override
    public void refused(BenchConnection from, String text) {
        from.lastRefusal = text;
        if (!from.consumes) {
            from.unacknowledged -= publish.messages();
            refused += publish.messages();
        }
    }

    @Override
    public void message(BenchConnection from, int at, int bodyBytes, boolean again) {
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
    public Result result(Result.Broker broker) {
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
                broker.cpuPercent(),
                broker.cpuNanosPerMessage(),
                broker.dataPathNanosPerMessage(),
                broker.allocatedBytesPerMessage(),
                broker.memoryMiB(),
                broker.heapMiB(),
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

package io.weir.supervisor.cli.client;

import io.weir.config.Endpoint;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Measures what one broker carries, from outside: a publisher and a consumer of an ephemeral topic there, which
 * placement leaves alone.
 *
 * <p>Latency is from when a message was to be sent, so that a publisher that is held up does not hide it, to when its
 * consumer has read it. Publisher and consumer take their part of the machine: on one machine with the broker it
 * carries less than alone.
 */
final class Calibration implements AutoCloseable {
    private static final String TOPIC = "weir.calibration#ephemeral";
    private static final int BODY_BYTES = 100;
    private static final int FIN_AT_ONCE = 64;
    private static final int LONE_MESSAGES = 300;
    private static final int MOST_KEPT = 2_000_000;
    private static final long DRAIN_NS = 10_000_000_000L;
    private static final int SINGLES_OPEN = 128;
    private static final int BATCHES_OPEN = 4;

    /** What it found. */
    record Found(double atObjective, double singles, double batched, int batch, double loneNs) {}

    private final NsqConnection publisher;
    private final NsqConnection consumer;
    private final AtomicLong answered = new AtomicLong();
    private final AtomicLong received = new AtomicLong();
    private final long[] latencies = new long[MOST_KEPT];
    private volatile long round;
    private volatile int kept;
    private volatile IOException broken;
    private long sent;
    private long published;

    Calibration(Endpoint broker, ClientAccess access) throws IOException {
        publisher = access.open(broker);
        consumer = access.open(broker);
        consumer.write("SUB " + TOPIC + " calibration#ephemeral\n");
        consumer.expectResponse();
        consumer.write("RDY 2500\n");
        reader("calibration-answers", this::readAnswers);
        reader("calibration-messages", this::readMessages);
    }

    private interface Reading {
        void run() throws IOException;
    }

    private void reader(String name, Reading reading) {
        Thread thread = new Thread(
                () -> {
                    try {
                        reading.run();
                    } catch (IOException e) {
                        broken = e;
                    }
                },
                name);
        thread.setDaemon(true);
        thread.start();
    }

    private void readAnswers() throws IOException {
        while (true) {
            if (publisher.read() instanceof NsqConnection.Frame.Failure failure) {
                throw new IOException(failure.text());
            }
            answered.incrementAndGet();
        }
    }

    private void readMessages() throws IOException {
        StringBuilder finished = new StringBuilder();
        int count = 0;
        while (true) {
            if (consumer.read() instanceof NsqConnection.Frame.Message message) {
                long nowNs = System.nanoTime();
                ByteBuffer body = ByteBuffer.wrap(message.body());
                if (body.getLong(0) == round && kept < MOST_KEPT) {
                    latencies[kept] = nowNs - body.getLong(Long.BYTES);
                    kept++;
                }
                finished.append("FIN ").append(message.id()).append('\n');
                // Far below what the consumer may hold, so that it never waits for these.
                if (++count % FIN_AT_ONCE == 0) {
                    consumer.write(finished.toString());
                    finished.setLength(0);
                }
                received.incrementAndGet();
            }
        }
    }

    /**
     * All of it, some twenty seconds.
     *
     * @param objectiveNs the p99 that is to be met
     * @param progress gets a line about each step
     */
    Found measure(long objectiveNs, long roundNs, Consumer<String> progress) throws IOException {
        progress.accept("warming up");
        saturate(1, roundNs);
        double lone = lone();
        progress.accept("a message on its own takes " + us(lone));
        double singles = saturate(1, roundNs);
        progress.accept(Math.round(singles) + " messages a second at most, one by one");
        int batch = 100;
        double batched = saturate(batch, roundNs);
        progress.accept(Math.round(batched) + " messages a second at most, in batches of " + batch);
        double low = 0;
        double high = singles;
        for (int halving = 0; halving < 7 && high - low > singles / 50; halving++) {
            double rate = (low + high) / 2;
            long p99Ns = p99(rate, roundNs);
            boolean holds = p99Ns <= objectiveNs;
            progress.accept(Math.round(rate) + " messages a second: p99 " + us(p99Ns) + (holds ? "" : ", too slow"));
            if (holds) {
                low = rate;
            } else {
                high = rate;
            }
        }
        if (low == 0) {
            throw new IOException("not even " + Math.round(high) + " messages a second keep a p99 of " + us(objectiveNs)
                    + ": is something else running on this machine? Or set a longer --objective");
        }
        return new Found(low, singles, batched, batch, lone);
    }

    private static String us(double ns) {
        return ns < 1e7 ? Math.round(ns / 1e3) + " µs" : Math.round(ns / 1e6) + " ms";
    }

    private void begin() {
        kept = 0;
        round++;
    }

    private double lone() throws IOException {
        begin();
        for (int i = 0; i < LONE_MESSAGES; i++) {
            send(1, System.nanoTime());
            drain();
        }
        return quantile(0.5);
    }

    /** As fast as it takes them, with so many open that it never waits for more; answers messages a second. */
    private double saturate(int batch, long forNs) throws IOException {
        begin();
        int most = batch == 1 ? SINGLES_OPEN : BATCHES_OPEN;
        long beganNs = System.nanoTime();
        long before = received.get();
        while (System.nanoTime() - beganNs < forNs) {
            if (published - answered.get() < most && sent - received.get() < 50_000) {
                send(batch, System.nanoTime());
            } else {
                check();
                Thread.onSpinWait();
            }
        }
        long count = received.get() - before;
        double seconds = (System.nanoTime() - beganNs) / 1e9;
        drain();
        return Math.max(1, count / seconds);
    }

    /** Poisson messages at that rate. */
    private long p99(double rate, long forNs) throws IOException {
        begin();
        long beganNs = System.nanoTime();
        double nextNs = 0;
        while (nextNs < forNs) {
            long waitNs = beganNs + (long) nextNs - System.nanoTime();
            if (waitNs > 100_000) {
                LockSupport.parkNanos(waitNs - 60_000);
            } else if (waitNs <= 0) {
                send(1, beganNs + (long) nextNs);
                nextNs -= Math.log(1 - ThreadLocalRandom.current().nextDouble()) * 1e9 / rate;
                if (-waitNs > DRAIN_NS) {
                    return -waitNs;
                }
            }
            check();
        }
        drain();
        return (long) quantile(0.99);
    }

    private void send(int batch, long atNs) throws IOException {
        if (batch == 1) {
            publisher.publish(TOPIC, body(atNs));
        } else {
            ByteBuffer bodies =
                    ByteBuffer.allocate(4 + batch * (4 + BODY_BYTES)).putInt(batch);
            for (int i = 0; i < batch; i++) {
                bodies.putInt(BODY_BYTES).put(body(atNs));
            }
            publisher.publishBatch(TOPIC, bodies.array());
        }
        published++;
        sent += batch;
    }

    private byte[] body(long atNs) {
        return ByteBuffer.allocate(BODY_BYTES).putLong(round).putLong(atNs).array();
    }

    private void drain() throws IOException {
        long untilNs = System.nanoTime() + DRAIN_NS;
        while (received.get() < sent) {
            check();
            if (System.nanoTime() - untilNs > 0) {
                throw new IOException("the broker did not deliver " + (sent - received.get()) + " messages within "
                        + DRAIN_NS / 1_000_000_000L + " s");
            }
            LockSupport.parkNanos(20_000);
        }
    }

    private void check() throws IOException {
        if (broken != null) {
            throw broken;
        }
    }

    private double quantile(double q) {
        long[] sorted = Arrays.copyOf(latencies, kept);
        Arrays.sort(sorted);
        return sorted.length == 0 ? 0 : sorted[(int) Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
    }

    @Override
    public void close() throws IOException {
        publisher.close();
        consumer.close();
    }
}

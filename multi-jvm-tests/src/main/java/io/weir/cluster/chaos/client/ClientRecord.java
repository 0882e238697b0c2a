package io.weir.cluster.chaos.client;

import io.weir.cluster.history.HistoryWriter;
import io.weir.cluster.history.HistoryWriter.Outcome;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** What one client process saw, in a file of its own, and how much it was. */
public final class ClientRecord implements AutoCloseable {
    private final String client;
    private final HistoryWriter writer;
    private final AtomicLong operations = new AtomicLong();
    private final LongAdder ok = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final LongAdder unknown = new LongAdder();
    private final LongAdder delivered = new LongAdder();

    public ClientRecord(String client, Path file) throws IOException {
        this.client = client;
        writer = new HistoryWriter(file);
    }

    long next() {
        return operations.incrementAndGet();
    }

    /** A message's body: by it a delivery is matched with its publication. */
    String id(long op) {
        return client + "-" + op;
    }

    void publish(Outcome outcome, long op, String topic, String broker, String reason) {
        writer.publish(System.nanoTime(), client, op, outcome, topic, id(op), broker, reason);
        switch (outcome) {
            case ok -> ok.increment();
            case fail -> failed.increment();
            case info -> unknown.increment();
            default -> {
                // Invocations are the operations' numbers.
            }
        }
    }

    public void deliver(String topic, String channel, String id, int attempts) {
        writer.delivered(System.nanoTime(), client, topic, channel, id, attempts, null);
        delivered.increment();
    }

    public ClientPlan.Status status() {
        return new ClientPlan.Status(operations.get(), ok.sum(), failed.sum(), unknown.sum(), delivered.sum());
    }

    void flush() throws IOException {
        writer.flush();
    }

    @Override
    public void close() throws IOException {
        writer.close();
    }
}

package io.weir.cluster.history;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonGenerator;
import io.weir.limiter.supply.gate.AdmissionHistory;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import io.weir.limiter.supply.gate.AdmissionHistory.Borrowed;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Writes a history, one JSON object a line; {@link History} says what the records are. Times are
 * {@code System.nanoTime} of one machine.
 *
 * <p>Any number of threads may write. A record goes to a buffer and from there to the file, by who finds the buffer
 * full or its content older than a second: a disk that is slow makes its writers wait, and nothing is dropped.
 * Processes each write a file of their own, which {@link #append} joins; one that was killed loses what was in its
 * buffer, at most a second's records.
 */
public final class HistoryWriter implements AutoCloseable {
    /** How a publish went on: invoke, then one of the others. */
    public enum Outcome {
        invoke,
        /** Acknowledged by the broker. */
        ok,
        /** Refused in so many words, so it is certainly not in. */
        fail,
        /** Nobody knows: time-out, connection lost. */
        info
    }

    private static final int BUFFER_BYTES = 1 << 16;
    private static final long FLUSH_NS = 1_000_000_000L;

    /** Fills in a record's fields. */
    @FunctionalInterface
    private interface Fields {
        void write(JsonGenerator to) throws IOException;
    }

    private final OutputStream file;
    private final JsonGenerator json;
    private long flushedNs = System.nanoTime();

    public HistoryWriter(Path path) throws IOException {
        if (path.toAbsolutePath().getParent() != null) {
            Files.createDirectories(path.toAbsolutePath().getParent());
        }
        file = new BufferedOutputStream(Files.newOutputStream(path), BUFFER_BYTES);
        json = new JsonFactoryBuilder()
                .rootValueSeparator((String) null)
                .build()
                .createGenerator(file);
    }

    private synchronized void line(long atNs, String type, Fields fields) {
        try {
            json.writeStartObject();
            json.writeNumberField("t", atNs);
            json.writeStringField("type", type);
            fields.write(json);
            json.writeEndObject();
            json.writeRaw('\n');
            long nowNs = System.nanoTime();
            if (nowNs - flushedNs > FLUSH_NS) {
                flushedNs = nowNs;
                json.flush();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the history can't be written", e);
        }
    }

    /** A record of any type; values are texts, numbers, booleans, or lists and maps of them. */
    public void record(long atNs, String type, Map<String, ?> fields) {
        line(atNs, type, to -> {
            for (Map.Entry<String, ?> field : fields.entrySet()) {
                to.writeFieldName(field.getKey());
                value(to, field.getValue());
            }
        });
    }

    private static void value(JsonGenerator to, Object value) throws IOException {
        if (value instanceof Iterable<?> list) {
            to.writeStartArray();
            for (Object each : list) {
                value(to, each);
            }
            to.writeEndArray();
        } else if (value instanceof Map<?, ?> map) {
            to.writeStartObject();
            for (Map.Entry<?, ?> each : map.entrySet()) {
                to.writeFieldName(each.getKey().toString());
                value(to, each.getValue());
            }
            to.writeEndObject();
        } else {
            to.writeObject(value);
        }
    }

    /**
     * The first line; {@code saturated} among its fields names the topics that are always offered more than their
     * limit.
     */
    public void setup(long atNs, Map<String, ?> fields) {
        record(atNs, "setup", fields);
    }

    /**
     * A limit takes effect: a topic's first, or a raise, at the latest when it was asked for; a lowering when it is
     * done.
     */
    public void limit(long atNs, String topic, double rate, double burst) {
        record(atNs, "limit", Map.of("topic", topic, "rate", rate, "burst", burst));
    }

    public void limitAsked(long atNs, String topic, double rate, double burst) {
        record(atNs, "limit-asked", Map.of("topic", topic, "rate", rate, "burst", burst));
    }

    /** What brokers' gates recorded. */
    public void recorded(AdmissionHistory.Recorded all) {
        all.admissions().forEach(this::admitted);
        all.borrowed().forEach(this::borrowed);
    }

    public void borrowed(Borrowed each) {
        line(each.stampNs(), "borrow", to -> {
            to.writeStringField("topic", each.topic().value());
            to.writeStringField("broker", each.broker().value());
            to.writeNumberField("inc", each.incarnation());
            to.writeNumberField("micros", each.micros());
            to.writeNumberField("leaseLeftNs", each.leaseLeftNs());
        });
    }

    public void admitted(Admission each) {
        line(each.stampNs(), "admit", to -> {
            to.writeStringField("topic", each.topic().value());
            to.writeStringField("broker", each.broker().value());
            to.writeNumberField("inc", each.incarnation());
            to.writeNumberField("cost", each.tokens());
            if (each.kept()) {
                to.writeBooleanField("kept", true);
            }
            if (each.leaseLeftNs() != AdmissionCheck.LEASE_UNKNOWN) {
                to.writeNumberField("leaseLeftNs", each.leaseLeftNs());
            }
        });
    }

    /**
     * @param broker that the client talks to, or null; needed with ok, so that a broker's death excuses its own
     *     messages only
     * @param reason of fail or info, or null
     */
    public void publish(
            long atNs, String client, long op, Outcome phase, String topic, String id, String broker, String reason) {
        line(atNs, "publish", to -> {
            to.writeStringField("client", client);
            to.writeNumberField("op", op);
            to.writeStringField("phase", phase.name());
            to.writeStringField("topic", topic);
            to.writeStringField("id", id);
            if (broker != null) {
                to.writeStringField("broker", broker);
            }
            if (reason != null) {
                to.writeStringField("reason", reason);
            }
        });
    }

    /** @param broker that the client talks to, or null */
    public void delivered(
            long atNs, String client, String topic, String channel, String id, int attempts, String broker) {
        line(atNs, "deliver", to -> {
            to.writeStringField("client", client);
            to.writeStringField("topic", topic);
            to.writeStringField("channel", channel);
            to.writeStringField("id", id);
            to.writeNumberField("attempts", attempts);
            if (broker != null) {
                to.writeStringField("broker", broker);
            }
        });
    }

    /** A channel is there from now on; without such a record it counts from its first delivery. */
    public void channel(long atNs, String topic, String channel) {
        record(atNs, "channel", Map.of("topic", topic, "channel", channel));
    }

    /** @param phase start or end; a fault of an instant has a start only */
    public void nemesis(long atNs, String fault, String phase, String text, List<String> hosts) {
        record(atNs, "nemesis", new TreeMap<>(Map.of("fault", fault, "phase", phase, "text", text, "hosts", hosts)));
    }

    /** A broker's process has ended, by whatever cause, with the messages that it held; or is there again. */
    public void broker(long atNs, String broker, boolean up) {
        record(atNs, "broker", Map.of("broker", broker, "state", up ? "up" : "down"));
    }

    /** @param name warm, chaos, healed (every fault is over) or end (nothing is on its way any more) */
    public void phase(long atNs, String name) {
        record(atNs, "phase", Map.of("name", name));
    }

    /**
     * The store's journals, and its rows as they are now; once, at the end. For C6 the load must be off, and the store
     * be read again until {@link SupplyAudit#unsettled} finds nothing, or a minute has passed.
     *
     * @param atNs when it was read
     */
    public void store(long atNs, StoredSupply stored) {
        for (StoredSupply.Entry entry : stored.entries()) {
            line(entry.atNs(), "supply", to -> SupplyJson.write(to, entry));
        }
        for (Map.Entry<Holder, TreeMap<Long, Ledger.Snapshot>> each :
                stored.snapshots().entrySet()) {
            for (Map.Entry<Long, Ledger.Snapshot> one : each.getValue().entrySet()) {
                line(atNs, "snapshot", to -> SupplyJson.write(to, each.getKey(), one.getKey(), one.getValue()));
            }
        }
        for (LeaseRow row : stored.leases()) {
            line(atNs, "lease", to -> SupplyJson.write(to, row));
        }
        for (LimitRow row : stored.limits()) {
            line(atNs, "limit-row", to -> SupplyJson.write(to, row));
        }
    }

    /** Copies another file's whole lines; a last one that its process could not finish is left out. */
    public synchronized void append(Path other) throws IOException {
        json.flush();
        try (InputStream from = Files.newInputStream(other)) {
            byte[] buffer = new byte[BUFFER_BYTES];
            int held = 0;
            for (int read; (read = from.read(buffer, held, buffer.length - held)) >= 0; ) {
                held += read;
                int end = held;
                while (end > 0 && buffer[end - 1] != '\n') {
                    end--;
                }
                file.write(buffer, 0, end);
                System.arraycopy(buffer, end, buffer, 0, held - end);
                held -= end;
                if (held == buffer.length) {
                    if (held >= History.MAX_LINE_BYTES) {
                        throw new IOException(other + " has a line of more than " + held + " bytes");
                    }
                    buffer = Arrays.copyOf(buffer, 2 * held);
                }
            }
        }
    }

    /** What was written so far is in the file when this returns. */
    public synchronized void flush() throws IOException {
        json.flush();
    }

    @Override
    public synchronized void close() throws IOException {
        json.close();
    }
}

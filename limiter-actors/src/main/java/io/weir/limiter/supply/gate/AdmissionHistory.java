package io.weir.limiter.supply.gate;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.value.Holder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;
import java.util.stream.Stream;

/**
 * What passed one broker's gates, for a checker: a file that is written through shared memory, so that a record
 * survives even if the process is killed in the next instant. When a file is full, the next one begins.
 *
 * <pre>
 *   0      8             16      20       22      23  24              32         40
 *   | stamp ns | incarnation | tokens | name len | what | 0 | lease left ns | micros | topic, zero padded to 136 |
 * </pre>
 *
 * {@code what}: 0 passed by the leased account, 1 by the kept one; 2 is level that was lent ({@code micros} below 0) or
 * borrowed, with no tokens.
 *
 * <p>A stamp of 0 ends the file. Stamps are {@code nanoTime}, which all processes of one machine share on Linux.
 */
public final class AdmissionHistory {
    /** One message, or batch, that passed. */
    public record Admission(
            BrokerId broker,
            long incarnation,
            TopicName topic,
            long stampNs,
            int tokens,
            boolean kept,
            long leaseLeftNs) {}

    /**
     * Level that came from another broker, or went to one, without rate or burst.
     *
     * @param micros below 0 if it was lent
     */
    public record Borrowed(
            BrokerId broker, long incarnation, TopicName topic, long stampNs, long micros, long leaseLeftNs) {}

    /** Everything that was recorded in a directory, in no particular order. */
    public record Recorded(List<Admission> admissions, List<Borrowed> borrowed) {}

    private static final byte LEASED = 0;
    private static final byte KEPT = 1;
    private static final byte LEVEL = 2;
    private static final int HEAD = 40;
    /** The longest topic name, rounded up so that stamps stay aligned. */
    private static final int NAME = 136;

    private static final int RECORD = HEAD + NAME;
    private static final int RECORDS = 200_000;
    private static final String SUFFIX = ".admissions";

    private final Path directory;
    private final BrokerId broker;
    private final LongUnaryOperator trueTime;
    private MappedByteBuffer file;
    private int next = RECORDS;

    AdmissionHistory(Path directory, BrokerId broker) {
        this(directory, broker, LongUnaryOperator.identity());
    }

    /** @param trueTime from the gates' clock, which a test may let run wrong, to {@code nanoTime} */
    public AdmissionHistory(Path directory, BrokerId broker, LongUnaryOperator trueTime) {
        this.trueTime = trueTime;
        this.directory = directory;
        this.broker = broker;
    }

    /** @param gateNs by the gates' clock */
    void admitted(TopicName topic, Holder holder, long gateNs, int tokens, boolean kept, long leaseLeftNs) {
        record(topic, holder, gateNs, tokens, kept ? KEPT : LEASED, 0, leaseLeftNs);
    }

    /**
     * @param gateNs by the gates' clock
     * @param micros below 0 if they were lent, else borrowed
     */
    void lent(TopicName topic, Holder holder, long gateNs, long micros, long leaseLeftNs) {
        record(topic, holder, gateNs, 0, LEVEL, micros, leaseLeftNs);
    }

    private void record(
            TopicName topic, Holder holder, long gateNs, int tokens, byte what, long micros, long leaseLeftNs) {
        long stampNs = trueTime.applyAsLong(gateNs);
        if (next == RECORDS) {
            begin(stampNs);
        }
        int at = next++ * RECORD;
        byte[] name = topic.value().getBytes(StandardCharsets.US_ASCII);
        file.putLong(at + 8, holder.incarnation());
        file.putInt(at + 16, tokens);
        file.putShort(at + 20, (short) name.length);
        file.put(at + 22, what);
        file.putLong(at + 24, leaseLeftNs);
        file.putLong(at + 32, micros);
        file.put(at + HEAD, name);
        // The stamp comes last, so that a record is either whole or not there.
        file.putLong(at, stampNs == 0 ? 1 : stampNs);
    }

    private void begin(long stampNs) {
        try {
            Files.createDirectories(directory);
            Path path = directory.resolve(broker + "@" + ProcessHandle.current().pid() + "-" + stampNs + SUFFIX);
            try (FileChannel channel = FileChannel.open(
                    path, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                file = channel.map(FileChannel.MapMode.READ_WRITE, 0, (long) RECORDS * RECORD);
            }
            next = 0;
        } catch (IOException e) {
            throw new UncheckedIOException("admissions can't be recorded in " + directory, e);
        }
    }

    /** What was admitted. */
    public static List<Admission> read(Path directory) throws IOException {
        return readAll(directory).admissions;
    }

    public static Recorded readAll(Path directory) throws IOException {
        Recorded all = new Recorded(new ArrayList<>(), new ArrayList<>());
        if (!Files.isDirectory(directory)) {
            return all;
        }
        try (Stream<Path> files = Files.list(directory)) {
            for (Path path :
                    files.filter(each -> each.toString().endsWith(SUFFIX)).toList()) {
                String name = path.getFileName().toString();
                BrokerId from = new BrokerId(name.substring(0, name.indexOf('@')));
                try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
                    read(from, channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()), all);
                }
            }
        }
        return all;
    }

    private static void read(BrokerId from, ByteBuffer file, Recorded all) {
        byte[] bytes = new byte[NAME];
        for (int at = 0; at < file.capacity() && file.getLong(at) != 0; at += RECORD) {
            int length = file.getShort(at + 20);
            file.get(at + HEAD, bytes, 0, length);
            TopicName topic = new TopicName(new String(bytes, 0, length, StandardCharsets.US_ASCII));
            long stampNs = file.getLong(at);
            long incarnation = file.getLong(at + 8);
            long leaseLeftNs = file.getLong(at + 24);
            byte what = file.get(at + 22);
            if (what == LEVEL) {
                all.borrowed.add(new Borrowed(from, incarnation, topic, stampNs, file.getLong(at + 32), leaseLeftNs));
            } else {
                all.admissions.add(new Admission(
                        from, incarnation, topic, stampNs, file.getInt(at + 16), what == KEPT, leaseLeftNs));
            }
        }
    }
}

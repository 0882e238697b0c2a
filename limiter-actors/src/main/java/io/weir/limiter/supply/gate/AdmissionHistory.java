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
 *   0      8             16      20       22       23      24                 32
 *   | stamp ns | incarnation | tokens | name len | account | 0 | lease left ns | topic, zero padded to 136 |
 * </pre>
 *
 * A stamp of 0 ends the file. Stamps are {@code nanoTime}, which all processes of one machine share on Linux.
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

    private static final int HEAD = 32;
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
        long stampNs = trueTime.applyAsLong(gateNs);
        if (next == RECORDS) {
            begin(stampNs);
        }
        int at = next++ * RECORD;
        byte[] name = topic.value().getBytes(StandardCharsets.US_ASCII);
        file.putLong(at + 8, holder.incarnation());
        file.putInt(at + 16, tokens);
        file.putShort(at + 20, (short) name.length);
        file.put(at + 22, (byte) (kept ? 1 : 0));
        file.putLong(at + 24, leaseLeftNs);
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

    /** Everything that was recorded in a directory so far, in no particular order. */
    public static List<Admission> read(Path directory) throws IOException {
        List<Admission> all = new ArrayList<>();
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

    private static void read(BrokerId from, ByteBuffer file, List<Admission> all) {
        byte[] name = new byte[NAME];
        for (int at = 0; at < file.capacity() && file.getLong(at) != 0; at += RECORD) {
            int length = file.getShort(at + 20);
            file.get(at + HEAD, name, 0, length);
            all.add(new Admission(
                    from,
                    file.getLong(at + 8),
                    new TopicName(new String(name, 0, length, StandardCharsets.US_ASCII)),
                    file.getLong(at),
                    file.getInt(at + 16),
                    file.get(at + 22) == 1,
                    file.getLong(at + 24)));
        }
    }
}

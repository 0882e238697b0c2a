package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.cluster.stage.Stage;
import io.weir.cluster.stage.StagedCluster;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A3 of the embedded store: what it acknowledged is there, whatever happens to its process and its disk. Several
 * connections commit at once, as brokers do: events into a journal, as Akka Persistence JDBC writes them, and renewals
 * of a row, as leases are. Each notes what was acknowledged to it, and opens another connection after an error, as a
 * pool does. On a store that closed and opened its database in a full disk's wake, with commits that were not synced,
 * half of the cycles with a full disk lost rows.
 */
@SideBySide
class StoreLossIT {
    private static final Logger LOG = LoggerFactory.getLogger(StoreLossIT.class);
    private static final int JOURNALS = 6;
    private static final int LEASES = 2;
    /**
     * Enough for what a cycle writes beside what is not vacuumed yet: else the disk is full of its own rows, and stays
     * so.
     */
    private static final int DISK_MIB = 400;

    private static final long EACH = 1_000_000;
    private static final int FEW = Integer.getInteger("weir.loss.cycles", 4);
    private static final int MANY = Integer.getInteger("weir.loss.cycles", 200);
    private static final long SEED = Long.getLong("weir.loss.seed", 1);
    private static final Duration UP_WITHIN = Duration.ofSeconds(60);

    /** What befalls the store while it is written to. */
    enum Blow {
        KILL,
        FULL,
        FULL_AND_KILL
    }

    /** One connection's work, and what was acknowledged to it. */
    private static final class Writer extends Thread {
        private final String url;
        private final int number;
        private final long from;
        private final Set<Long> acknowledged = new HashSet<>();
        private final String payload;
        private volatile boolean stopped;

        Writer(String url, int number, long from) {
            super("writer-" + number);
            this.url = url;
            this.number = number;
            this.from = from;
            // Random, so that no store makes it small.
            payload = new Random(number)
                    .ints(1_200, 33, 126)
                    .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                    .toString();
        }

        boolean renews() {
            return number >= JOURNALS;
        }

        @Override
        public void run() {
            long next = from;
            while (!stopped) {
                next = writeUntilItFails(next) + 1;
                pause();
            }
        }

        /** The last number that was tried: what became of it nobody knows. */
        private long writeUntilItFails(long begin) {
            long next = begin;
            try (Connection connection = DriverManager.getConnection(url)) {
                connection.setAutoCommit(false);
                try (PreparedStatement write = connection.prepareStatement(
                        renews()
                                ? "UPDATE lease SET renewed = ?, text = ? WHERE writer = ?"
                                : "INSERT INTO journal (number, text, writer) VALUES (?, ?, ?)")) {
                    for (; !stopped; next++) {
                        write.setLong(1, next);
                        write.setString(2, payload);
                        write.setInt(3, number);
                        write.executeUpdate();
                        connection.commit();
                        acknowledged.add(next);
                    }
                }
            } catch (SQLException e) {
                LOG.debug("{}: {}", getName(), e.getMessage());
            }
            return next;
        }

        private static void pause() {
            try {
                TimeUnit.MILLISECONDS.sleep(20);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private final Random random = new Random(SEED);

    @BeforeAll
    static void hasDisks() {
        Optional<String> obstacle = Stage.obstacle();
        assumeTrue(obstacle.isEmpty(), obstacle.orElse(""));
    }

    @ParameterizedTest
    @EnumSource(Blow.class)
    @Timeout(300)
    void shouldHaveWhatItAcknowledged(Blow blow) throws IOException, SQLException, InterruptedException {
        strike(blow, FEW);
    }

    @Tag("chaos")
    @ParameterizedTest
    @EnumSource(Blow.class)
    @Timeout(3_000)
    void shouldHaveWhatItAcknowledgedAfterMany(Blow blow) throws IOException, SQLException, InterruptedException {
        strike(blow, MANY);
    }

    private void strike(Blow blow, int cycles) throws IOException, SQLException, InterruptedException {
        List<String> losses = new ArrayList<>();
        long acknowledged = 0;
        int ended = 0;
        try (Stage stage = Stage.of(List.of(StagedCluster.STORE));
                StagedCluster cluster = StagedCluster.on(stage)
                        .from(BuiltDistribution.installation())
                        .in(BuiltDistribution.emptyDirectory("store-loss-" + blow))
                        .withStoreDisk(DISK_MIB)
                        .build()) {
            cluster.startStore();
            awaitAnswer(cluster);
            execute(
                    cluster.storeUrl(),
                    "CREATE TABLE journal (ordering BIGINT GENERATED BY DEFAULT AS IDENTITY, writer INT, number BIGINT,"
                            + " text VARCHAR(4000), PRIMARY KEY (writer, number))");
            execute(
                    cluster.storeUrl(),
                    "CREATE TABLE lease (writer INT PRIMARY KEY, renewed BIGINT, text VARCHAR(4000))");
            for (int lease = 0; lease < LEASES; lease++) {
                execute(cluster.storeUrl(), "INSERT INTO lease VALUES (" + (JOURNALS + lease) + ", 0, '')");
            }
            for (int cycle = 0; cycle < cycles; cycle++) {
                List<Writer> writers = begin(cluster, cycle);
                strike(blow, cluster);
                end(writers);
                if (!cluster.isStoreAlive()) {
                    ended++;
                    cluster.startStore();
                }
                awaitAnswer(cluster);
                for (Writer writer : writers) {
                    acknowledged += writer.acknowledged.size();
                    lost(cluster, writer, cycle).ifPresent(losses::add);
                }
                // Its own log may have filled what was left of the disk: then it ends, recovers, and has room again.
                SupplyWatch.await(
                        "the store has room again",
                        UP_WITHIN,
                        () -> truncated(cluster),
                        () -> "it has not, see " + cluster.log(StagedCluster.STORE));
            }
        }
        LOG.info(
                "{}: {} cycles, {} commits acknowledged, {} writers lost some; the store had ended in {} cycles",
                blow,
                cycles,
                acknowledged,
                losses.size(),
                ended);
        assertThat(acknowledged).isGreaterThan(cycles);
        assertThat(losses).as("acknowledged and lost, seed " + SEED).isEmpty();
    }

    private List<Writer> begin(StagedCluster cluster, int cycle) {
        List<Writer> writers = new ArrayList<>();
        for (int number = 0; number < JOURNALS + LEASES; number++) {
            writers.add(new Writer(cluster.storeUrl(), number, (cycle + 1) * EACH));
        }
        writers.forEach(Thread::start);
        SupplyWatch.letPass(Duration.ofMillis(200 + random.nextInt(400)));
        return writers;
    }

    private void strike(Blow blow, StagedCluster cluster) {
        if (blow != Blow.KILL) {
            cluster.fillStoreDisk();
            SupplyWatch.letPass(Duration.ofMillis(50 + random.nextInt(450)));
        }
        if (blow != Blow.FULL) {
            kill(cluster);
        }
        if (blow != Blow.KILL) {
            cluster.freeStoreDisk();
            // What is acknowledged right after it counts most: by a store that lost its footing, and ends a second
            // later.
            SupplyWatch.letPass(Duration.ofMillis(1_200));
        }
    }

    /** Either its own process alone, whose children then end by themselves, or all at once. */
    private void kill(StagedCluster cluster) {
        if (random.nextBoolean()) {
            cluster.killStore();
        } else {
            cluster.killStoreWithItsChildren();
        }
    }

    private static void end(List<Writer> writers) throws InterruptedException {
        writers.forEach(writer -> writer.stopped = true);
        for (Writer writer : writers) {
            writer.join();
        }
    }

    private static void awaitAnswer(StagedCluster cluster) {
        SupplyWatch.await(
                "the store answers",
                UP_WITHIN,
                () -> {
                    try (Connection connection = DriverManager.getConnection(cluster.storeUrl())) {
                        return connection.isValid(1);
                    } catch (SQLException e) {
                        if (!cluster.isStoreAlive()) {
                            cluster.startStore();
                        }
                        return false;
                    }
                },
                () -> "it does not, see " + cluster.log(StagedCluster.STORE));
    }

    private static boolean truncated(StagedCluster cluster) {
        try {
            execute(cluster.storeUrl(), "TRUNCATE TABLE journal");
            // Every renewal leaves an old row behind, and there is not always time for the store's own cleaner.
            execute(cluster.storeUrl(), "VACUUM FULL lease");
            return true;
        } catch (SQLException e) {
            LOG.info("the tables can't be emptied yet: {}", e.getMessage());
            awaitAnswer(cluster);
            return false;
        }
    }

    private static void execute(String url, String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.createStatement().execute(sql);
        }
    }

    private static Optional<String> lost(StagedCluster cluster, Writer writer, int cycle) {
        Set<Long> missing = new HashSet<>(writer.acknowledged);
        String sql = writer.renews()
                ? "SELECT renewed FROM lease WHERE writer = " + writer.number
                : "SELECT number FROM journal WHERE writer = " + writer.number;
        for (long found : numbers(cluster, sql)) {
            if (writer.renews()) {
                missing.removeIf(number -> number <= found);
            } else {
                missing.remove(found);
            }
        }
        return missing.isEmpty()
                ? Optional.empty()
                : Optional.of("cycle " + cycle + ": " + missing.size() + " of the " + writer.acknowledged.size()
                        + " of " + writer.getName());
    }

    /** A store whose own log has filled the disk ends also while it is read; it recovers and is read again. */
    private static List<Long> numbers(StagedCluster cluster, String sql) {
        List<Long> numbers = new ArrayList<>();
        SupplyWatch.await(
                "the store can be read",
                UP_WITHIN,
                () -> {
                    numbers.clear();
                    try (Connection connection = DriverManager.getConnection(cluster.storeUrl());
                            ResultSet rows = connection.createStatement().executeQuery(sql)) {
                        while (rows.next()) {
                            numbers.add(rows.getLong(1));
                        }
                        return true;
                    } catch (SQLException e) {
                        LOG.info("it can't be read yet: {}", e.getMessage());
                        awaitAnswer(cluster);
                        return false;
                    }
                },
                () -> "it can't, see " + cluster.log(StagedCluster.STORE));
        return numbers;
    }
}

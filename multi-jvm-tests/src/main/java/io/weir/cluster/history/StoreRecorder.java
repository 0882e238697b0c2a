package io.weir.cluster.history;

import io.weir.cluster.history.StoredSupply.Entry;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.wire.SupplyCodec;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a store's journals again and again and keeps what it has seen, because brokers delete the events that a
 * snapshot covers: each holder keeps its last four hundred, so a reading every few seconds misses none.
 *
 * <p>A reading is one transaction that sees one moment, whatever brokers write meanwhile.
 *
 * <p>An event that was seen and is gone, while an earlier one of its journal is still there, was not deleted by its
 * broker, which deletes from the beginning on: the store has taken it back. PostgreSQL shows a commit only after it is
 * on the disk, so none does; a store that shows more would lose such rows in a crash, and their numbers are then given
 * to other events. What was taken back is forgotten here, because no broker may rest on it, and kept apart, because
 * some broker may have.
 */
public final class StoreRecorder implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(StoreRecorder.class);
    private static final String JOURNAL_PREFIX = "supply|";
    private static final long PAUSE_MS = 2_000;
    /** What a stamp in whole milliseconds leaves out. */
    private static final long MS = 1_000_000L;

    private final String url;
    private final Map<Long, Entry> entries = new TreeMap<>();
    private final List<Entry> takenBack = new ArrayList<>();
    private final Map<Holder, TreeMap<Long, Ledger.Snapshot>> snapshots = new HashMap<>();
    private final Thread reader;
    private volatile boolean closed;
    private Connection connection;
    /** When the last reading that succeeded began; what it did not show was not there yet. */
    private long lastReadingNs = Long.MIN_VALUE;

    private StoredSupply last;

    /** @param url of the store, with user and password; its tables are there */
    public StoreRecorder(String url) throws SQLException {
        this.url = url;
        connection = connect();
        reader = new Thread(this::keepReading, "store-recorder");
        reader.setDaemon(true);
        reader.start();
    }

    private Connection connect() throws SQLException {
        Connection made = DriverManager.getConnection(url);
        made.setAutoCommit(false);
        made.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        return made;
    }

    private void keepReading() {
        try {
            while (!closed) {
                readIfItAnswers();
                Thread.sleep(PAUSE_MS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A store that is away for a while writes nothing meanwhile either, so nothing is missed. */
    private void readIfItAnswers() {
        try {
            now();
        } catch (SQLException e) {
            LOG.debug("The store does not answer: {}", e.getMessage());
        }
    }

    /** The store as it is now, with the events that it has forgotten. */
    public synchronized StoredSupply now() throws SQLException {
        if (connection == null) {
            connection = connect();
        }
        try {
            last = read();
            connection.rollback();
            return last;
        } catch (SQLException e) {
            discard();
            throw e;
        }
    }

    /** As it was when it answered last. */
    public synchronized Optional<StoredSupply> last() {
        return Optional.ofNullable(last);
    }

    /** Events that the store had shown and then lost; a store that keeps its word has none. */
    public synchronized List<Entry> takenBack() {
        return List.copyOf(takenBack);
    }

    /** When the last reading that was answered began. */
    public synchronized long lastReadingNs() {
        return lastReadingNs;
    }

    private void discard() {
        try {
            connection.close();
        } catch (SQLException e) {
            LOG.debug("A broken connection can't be closed: {}", e.getMessage());
        }
        connection = null;
    }

    private StoredSupply read() throws SQLException {
        long beginNs = System.nanoTime();
        readEvents();
        lastReadingNs = beginNs;
        readSnapshots();
        Map<Holder, TreeMap<Long, Ledger.Snapshot>> seen = new HashMap<>();
        snapshots.forEach((holder, all) -> seen.put(holder, new TreeMap<>(all)));
        List<Entry> inOrder = new ArrayList<>(entries.values());
        inOrder.sort(Comparator.comparingLong(Entry::ordering));
        return new StoredSupply(inOrder, seen, leases(), limits());
    }

    private void readEvents() throws SQLException {
        ClockReading wall = ClockReading.read(System::nanoTime, System::currentTimeMillis);
        Set<Long> there = new HashSet<>();
        Map<Holder, Long> lowest = new HashMap<>();
        // Deleted ones too: the highest is only marked, and its number still counts.
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(
                        "SELECT ordering, persistence_id, sequence_number, write_timestamp, event_payload"
                                + " FROM event_journal WHERE persistence_id LIKE '" + JOURNAL_PREFIX + "%'")) {
            while (rows.next()) {
                long ordering = rows.getLong(1);
                there.add(ordering);
                lowest.merge(holder(rows.getString(2)), rows.getLong(3), Math::min);
                if (!entries.containsKey(ordering)) {
                    entries.put(
                            ordering,
                            entry(
                                    ordering,
                                    holder(rows.getString(2)),
                                    rows.getLong(3),
                                    rows.getLong(4),
                                    wall,
                                    SupplyCodec.event(rows.getBytes(5))));
                }
            }
        }
        List<Entry> gone = entries.values().stream()
                .filter(entry -> !there.contains(entry.ordering())
                        && entry.sequence() >= lowest.getOrDefault(entry.holder(), Long.MAX_VALUE))
                .toList();
        takenBack.addAll(gone);
        gone.forEach(entry -> entries.remove(entry.ordering()));
    }

    /**
     * A broker whose wall clock is wrong stamps its events with it; when they were seen first tells the time all the
     * same.
     */
    private Entry entry(
            long ordering, Holder holder, long sequence, long writtenMs, ClockReading wall, SupplyEvent event) {
        long nowNs = System.nanoTime();
        long stampNs = wall.nanoTime(writtenMs);
        long slackNs = Math.max(Entry.CLOCKS_APART_NS, wall.errorNs() + MS);
        boolean early = lastReadingNs != Long.MIN_VALUE && stampNs < lastReadingNs - slackNs;
        boolean late = stampNs > nowNs + slackNs;
        if (lastReadingNs == Long.MIN_VALUE || !early && !late) {
            return new Entry(ordering, holder, sequence, stampNs, slackNs, event);
        }
        long halfNs = (nowNs - lastReadingNs) / 2;
        return new Entry(ordering, holder, sequence, lastReadingNs + halfNs, halfNs + slackNs, event);
    }

    private void readSnapshots() throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT persistence_id, sequence_number, snapshot_payload"
                        + " FROM snapshot WHERE persistence_id LIKE '" + JOURNAL_PREFIX + "%'")) {
            while (rows.next()) {
                snapshots
                        .computeIfAbsent(holder(rows.getString(1)), holder -> new TreeMap<>())
                        .put(rows.getLong(2), SupplyCodec.snapshot(rows.getBytes(3)));
            }
        }
    }

    private static Holder holder(String persistenceId) {
        int split = persistenceId.lastIndexOf('|');
        return new Holder(
                new BrokerId(persistenceId.substring(JOURNAL_PREFIX.length(), split)),
                Long.parseLong(persistenceId.substring(split + 1)));
    }

    private List<LeaseRow> leases() throws SQLException {
        List<LeaseRow> leases = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT broker, incarnation, state, renew_seq,"
                        + " leased_heir_broker, leased_heir_incarnation, leased_done,"
                        + " kept_heir_broker, kept_heir_incarnation, kept_done FROM weir_lease")) {
            while (rows.next()) {
                leases.add(new LeaseRow(
                        holder(rows, 1).orElseThrow(),
                        LeaseRow.State.valueOf(rows.getString(3)),
                        rows.getLong(4),
                        new LeaseRow.Legacy(holder(rows, 5), rows.getBoolean(7)),
                        new LeaseRow.Legacy(holder(rows, 8), rows.getBoolean(10))));
            }
        }
        return leases;
    }

    private List<LimitRow> limits() throws SQLException {
        List<LimitRow> limits = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT topic, version, rate_micros, burst_micros,"
                        + " floor_permille, sharing, minter_broker, minter_incarnation, done, indicator"
                        + " FROM weir_limit ORDER BY topic, version")) {
            while (rows.next()) {
                LimitRow row = new LimitRow(
                        new TopicName(rows.getString(1)),
                        rows.getLong(2),
                        new Share(rows.getLong(3), rows.getLong(4)),
                        rows.getInt(5),
                        Sharing.valueOf(rows.getString(6)),
                        holder(rows, 7),
                        rows.getBoolean(9));
                limits.add(row.by(Indicator.valueOf(rows.getString(10))));
            }
        }
        return limits;
    }

    private static Optional<Holder> holder(ResultSet rows, int column) throws SQLException {
        String broker = rows.getString(column);
        return broker == null
                ? Optional.empty()
                : Optional.of(new Holder(new BrokerId(broker), rows.getLong(column + 1)));
    }

    @Override
    public void close() throws SQLException {
        closed = true;
        reader.interrupt();
        try {
            reader.join(PAUSE_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        synchronized (this) {
            if (connection != null) {
                connection.close();
            }
        }
    }
}

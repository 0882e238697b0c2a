package io.weir.supervisor.store;

import io.weir.config.WeirSettings.StoreSettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.actor.SupplyLedger;
import io.weir.limiter.supply.actor.SupplyStore;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The supply protocol's rows in the store's tables {@code weir_lease} and {@code weir_limit}. What the record methods
 * of {@link LeaseRow} and {@link LimitRow} ask for stands in the statements' WHERE, so the database decides and writes
 * in one step.
 *
 * <p>Every change of a limit takes its number from one row of {@code weir_counter}, first of all. That row stays locked
 * until the commit, so the numbers become visible in their order, and who has read up to n misses nothing by asking for
 * more than n. It also makes changes of limits wait for each other, which are rare. A change that does nothing takes
 * its number back.
 *
 * <p>The tables must be there: {@link BrokerRegistry#awaitStore}. Each instance has a {@link StoreConnection} of its
 * own and throws {@link StoreException} after the time-out.
 */
public final class SupplyTables implements SupplyStore, AutoCloseable {
    private static final String LEASE_COLUMNS = "broker, incarnation, state, renew_seq,"
            + " leased_heir_broker, leased_heir_incarnation, leased_done, kept_heir_broker, kept_heir_incarnation, kept_done";
    private static final String LIMIT_COLUMNS = "topic, version, rate_micros, burst_micros, floor_permille, sharing,"
            + " minter_broker, minter_incarnation, done, change_no, indicator";

    private static final String[] LIMIT_TYPES = {
        "text", "bigint", "bigint", "bigint", "integer", "text", "text", "bigint", "boolean", "bigint", "text"
    };

    private static final String FIRST = "NOT EXISTS (SELECT 1 FROM weir_limit b"
            + " WHERE b.topic = weir_limit.topic AND b.version = weir_limit.version - 1)";

    private static final Null NO_BROKER = new Null(Types.VARCHAR);
    private static final Null NO_INCARNATION = new Null(Types.BIGINT);

    /** PostgreSQL must know the type of a parameter that is null. */
    private record Null(int type) {}

    private final StoreConnection store;

    /** @param timeout that every call keeps; for renewing leases well below a quarter of the lease */
    public SupplyTables(StoreSettings settings, Duration timeout) {
        store = new StoreConnection(settings, "weir-supply-rows", timeout);
    }

    @Override
    public LeaseRow register(Holder holder) {
        try {
            update(
                    "INSERT INTO weir_lease (" + LEASE_COLUMNS + ")"
                            + " SELECT ?, ?, 'LIVE', 0, NULL, NULL, FALSE, NULL, NULL, FALSE"
                            + " WHERE NOT EXISTS (SELECT 1 FROM weir_lease WHERE broker = ? AND incarnation = ?)",
                    holder.broker().value(),
                    holder.incarnation(),
                    holder.broker().value(),
                    holder.incarnation());
        } catch (StoreException e) {
            // The same holder registers twice at once: the other's row is just as good.
            if (!(e.getCause() instanceof SQLException refused) || !StoreConnection.isDuplicate(refused)) {
                throw e;
            }
        }
        return row(holder)
                .orElseThrow(() -> new StoreException("the store has lost the row of " + holder + ", just registered"));
    }

    @Override
    public boolean renew(Holder holder) {
        return update(
                "UPDATE weir_lease SET renew_seq = renew_seq + 1"
                        + " WHERE broker = ? AND incarnation = ? AND state = 'LIVE'",
                holder.broker().value(),
                holder.incarnation());
    }

    @Override
    public boolean fence(Holder victim, long observedRenewSeq) {
        return update(
                "UPDATE weir_lease SET state = 'FENCED'"
                        + " WHERE broker = ? AND incarnation = ? AND state = 'LIVE' AND renew_seq = ?",
                victim.broker().value(),
                victim.incarnation(),
                observedRenewSeq);
    }

    @Override
    public void stop(Holder holder) {
        update(
                "UPDATE weir_lease SET state = 'STOPPED' WHERE broker = ? AND incarnation = ?",
                holder.broker().value(),
                holder.incarnation());
    }

    @Override
    public boolean claim(Holder victim, Account account, Optional<Holder> expectedHeir, Holder heir) {
        String sql = account == Account.LEASED
                ? "UPDATE weir_lease SET leased_heir_broker = ?, leased_heir_incarnation = ?"
                        + " WHERE broker = ? AND incarnation = ? AND state <> 'LIVE' AND NOT leased_done"
                        + " AND leased_heir_broker IS NOT DISTINCT FROM ? AND leased_heir_incarnation IS NOT DISTINCT FROM ?"
                : "UPDATE weir_lease SET kept_heir_broker = ?, kept_heir_incarnation = ?"
                        + " WHERE broker = ? AND incarnation = ? AND state = 'STOPPED' AND NOT kept_done"
                        + " AND kept_heir_broker IS NOT DISTINCT FROM ? AND kept_heir_incarnation IS NOT DISTINCT FROM ?";
        return update(
                sql,
                heir.broker().value(),
                heir.incarnation(),
                victim.broker().value(),
                victim.incarnation(),
                brokerOf(expectedHeir),
                incarnationOf(expectedHeir));
    }

    @Override
    public void inherited(Holder victim, Account account) {
        update(
                "UPDATE weir_lease SET " + (account == Account.LEASED ? "leased_done" : "kept_done") + " = TRUE"
                        + " WHERE broker = ? AND incarnation = ?",
                victim.broker().value(),
                victim.incarnation());
    }

    @Override
    public List<LeaseRow> rows() {
        return leases("WHERE NOT (state = 'STOPPED' AND leased_done AND kept_done) ORDER BY broker, incarnation");
    }

    @Override
    public Optional<LeaseRow> row(Holder holder) {
        return leases("WHERE broker = ? AND incarnation = ?", holder.broker().value(), holder.incarnation()).stream()
                .findFirst();
    }

    @Override
    public LimitChanges limitsAfter(long after) {
        return limits("WHERE change_no > ? ORDER BY change_no LIMIT " + MOST_AT_ONCE, after, after);
    }

    @Override
    public List<LimitRow> limits(TopicName topic) {
        return limits("WHERE topic = ? ORDER BY version", 0, topic.value()).rows();
    }

    @Override
    public boolean insert(LimitRow row) {
        if (row.done() || row.version() < 1) {
            throw new IllegalArgumentException(
                    row + " can't be inserted: versions count from 1, and only minting makes one done");
        }
        return store.call(opened -> {
            boolean there = insert(opened, List.of(row)).contains(row.topic());
            opened.commit();
            return there;
        });
    }

    /** {@link #insert(LimitRow)} for rows of different keys, which the caller commits; answers the keys that are in. */
    static Set<TopicName> insert(Connection opened, List<LimitRow> rows) throws SQLException {
        Set<TopicName> there = new HashSet<>();
        if (rows.isEmpty()) {
            return there;
        }
        Set<String> inserted = new HashSet<>();
        try (PreparedStatement statement =
                opened.prepareStatement("INSERT INTO weir_limit (" + LIMIT_COLUMNS + ") SELECT v.* FROM unnest("
                        + "?::text[], ?::bigint[], ?::bigint[], ?::bigint[], ?::integer[], ?::text[], ?::text[], ?::bigint[],"
                        + " ?::boolean[], ?::bigint[], ?::text[]) AS v (" + LIMIT_COLUMNS + ")"
                        + " WHERE NOT EXISTS (SELECT 1 FROM weir_limit l WHERE l.topic = v.topic AND l.version >= v.version)"
                        + " AND (EXISTS (SELECT 1 FROM weir_limit l"
                        + " WHERE l.topic = v.topic AND l.version = v.version - 1 AND l.done)"
                        + " OR (v.rate_micros > 0 OR v.burst_micros > 0)"
                        + " AND NOT EXISTS (SELECT 1 FROM weir_limit l WHERE l.topic = v.topic))"
                        + " RETURNING topic")) {
            long last = nextChange(opened, rows.size());
            Object[][] columns = new Object[11][rows.size()];
            for (int i = 0; i < rows.size(); i++) {
                LimitRow row = rows.get(i);
                Object[] values = {
                    row.topic().value(),
                    row.version(),
                    row.limit().rateMicros(),
                    row.limit().burstMicros(),
                    row.floorPermille(),
                    row.sharing().name(),
                    row.minter().map(minter -> minter.broker().value()).orElse(null),
                    row.minter().map(Holder::incarnation).orElse(null),
                    false,
                    last - rows.size() + 1 + i,
                    row.indicator().name()
                };
                for (int column = 0; column < values.length; column++) {
                    columns[column][i] = values[column];
                }
            }
            for (int column = 0; column < columns.length; column++) {
                statement.setArray(column + 1, opened.createArrayOf(LIMIT_TYPES[column], columns[column]));
            }
            try (ResultSet keys = statement.executeQuery()) {
                while (keys.next()) {
                    inserted.add(keys.getString(1));
                }
            }
        }
        for (LimitRow row : rows) {
            String topic = row.topic().value();
            if (inserted.contains(topic) || isThere(opened, row) || row.limit().isNone() && hasNone(opened, topic)) {
                there.add(row.topic());
            }
        }
        return there;
    }

    private static boolean hasNone(Connection opened, String topic) throws SQLException {
        try (PreparedStatement select = opened.prepareStatement("SELECT 1 FROM weir_limit WHERE topic = ?")) {
            bind(select, topic);
            try (ResultSet rows = select.executeQuery()) {
                return !rows.next();
            }
        }
    }

    private static boolean isThere(Connection opened, LimitRow row) throws SQLException {
        try (PreparedStatement select =
                opened.prepareStatement("SELECT 1 FROM weir_limit WHERE topic = ? AND version = ?"
                        + " AND rate_micros = ? AND burst_micros = ? AND floor_permille = ? AND sharing = ?"
                        + " AND indicator = ?")) {
            bind(
                    select,
                    row.topic().value(),
                    row.version(),
                    row.limit().rateMicros(),
                    row.limit().burstMicros(),
                    row.floorPermille(),
                    row.sharing().name(),
                    row.indicator().name());
            try (ResultSet rows = select.executeQuery()) {
                return rows.next();
            }
        }
    }

    @Override
    public boolean claimMint(TopicName topic, long version, Optional<Holder> expectedMinter, Holder minter) {
        return change(
                "minter_broker = ?, minter_incarnation = ?",
                "NOT done AND minter_broker IS NOT DISTINCT FROM ? AND minter_incarnation IS NOT DISTINCT FROM ?",
                List.of(minter.broker().value(), minter.incarnation()),
                topic,
                version,
                brokerOf(expectedMinter),
                incarnationOf(expectedMinter));
    }

    /**
     * A version that is done already gets no new number: it is reported again and again, and no reader needs to see it
     * again.
     */
    @Override
    public void finished(Map<TopicName, Long> versions) {
        store.call(opened -> {
            List<TopicName> topics = List.copyOf(versions.keySet());
            long last = nextChange(opened, topics.size());
            Object[] numbers = new Object[topics.size()];
            Arrays.setAll(numbers, i -> last - i);
            try (PreparedStatement update = opened.prepareStatement(
                    "UPDATE weir_limit l SET done = TRUE,"
                            + " change_no = v.change_no FROM unnest(?::text[], ?::bigint[], ?::bigint[])"
                            + " AS v (topic, version, change_no) WHERE l.topic = v.topic AND l.version = v.version AND NOT l.done")) {
                update.setArray(
                        1,
                        opened.createArrayOf(
                                "text", topics.stream().map(TopicName::value).toArray()));
                update.setArray(
                        2,
                        opened.createArrayOf(
                                "bigint", topics.stream().map(versions::get).toArray()));
                update.setArray(3, opened.createArrayOf("bigint", numbers));
                if (update.executeUpdate() > 0) {
                    opened.commit();
                } else {
                    opened.rollback();
                }
            }
            return null;
        });
    }

    @Override
    public List<Holder> closed(int most) {
        return leases("WHERE state = 'STOPPED' AND leased_done AND kept_done ORDER BY broker, incarnation LIMIT "
                        + most)
                .stream()
                .map(LeaseRow::holder)
                .toList();
    }

    /** In one transaction, so that a holder is either known whole or not at all. */
    @Override
    public boolean forget(Holder closed) {
        String broker = closed.broker().value();
        long incarnation = closed.incarnation();
        return store.call(opened -> {
            boolean removed = execute(
                            opened,
                            "DELETE FROM weir_lease WHERE broker = ? AND incarnation = ?"
                                    + " AND state = 'STOPPED' AND leased_done AND kept_done"
                                    + " AND NOT EXISTS (SELECT 1 FROM weir_lease v WHERE"
                                    + " v.leased_heir_broker = ? AND v.leased_heir_incarnation = ? AND NOT v.leased_done"
                                    + " OR v.kept_heir_broker = ? AND v.kept_heir_incarnation = ? AND NOT v.kept_done)"
                                    + " AND NOT EXISTS (SELECT 1 FROM weir_limit m WHERE"
                                    + " m.minter_broker = ? AND m.minter_incarnation = ? AND NOT m.done)",
                            broker,
                            incarnation,
                            broker,
                            incarnation,
                            broker,
                            incarnation,
                            broker,
                            incarnation)
                    == 1;
            if (removed) {
                String journal = SupplyLedger.journalOf(closed).id();
                execute(opened, "DELETE FROM snapshot WHERE persistence_id = ?", journal);
                execute(
                        opened,
                        "DELETE FROM event_tag WHERE event_id IN"
                                + " (SELECT ordering FROM event_journal WHERE persistence_id = ?)",
                        journal);
                execute(opened, "DELETE FROM event_journal WHERE persistence_id = ?", journal);
            }
            opened.commit();
            return removed;
        });
    }

    @Override
    public boolean forgetVersions(TopicName topic, long below) {
        return forgetLimits(
                topic,
                "version < ? AND EXISTS (SELECT 1 FROM weir_limit l WHERE l.topic = ? AND l.version = ? AND l.done)"
                        + " AND EXISTS (SELECT 1 FROM weir_limit l WHERE l.topic = ? AND l.version > ?)",
                topic.value(),
                below,
                topic.value(),
                below,
                topic.value(),
                below);
    }

    /** With the last of its limits, a deleted topic's definition goes too. */
    @Override
    public boolean forgetName(TopicName topic, long version) {
        return forgetLimits(
                topic,
                "EXISTS (SELECT 1 FROM weir_limit l WHERE l.topic = ? AND l.version = ?"
                        + " AND l.rate_micros = 0 AND l.burst_micros = 0 AND l.done)"
                        + " AND NOT EXISTS (SELECT 1 FROM weir_limit l WHERE l.topic = ? AND l.version > ?)",
                topic.value(),
                topic.value(),
                version,
                topic.value(),
                version);
    }

    /** Takes a number first, so that no version is inserted between the look and the removal. */
    private boolean forgetLimits(TopicName topic, String condition, Object... values) {
        return store.call(opened -> {
            // In this order, as those who write definitions and limits together.
            TopicTable.number(
                    opened, "UPDATE weir_counter SET number = number + 1 WHERE name = 'topic' RETURNING number");
            nextChange(opened, 1);
            boolean removed = execute(opened, "DELETE FROM weir_limit WHERE topic = ? AND " + condition, values) > 0;
            if (removed) {
                TopicTable.forgetGone(opened, topic.topic());
                opened.commit();
            } else {
                opened.rollback();
            }
            return removed;
        });
    }

    @Override
    public void close() {
        store.close();
    }

    private boolean change(
            String set, String condition, List<Object> setTo, TopicName topic, long version, Object... expected) {
        return store.call(opened -> {
            List<Object> values = new ArrayList<>();
            values.add(nextChange(opened, 1));
            values.addAll(setTo);
            values.add(topic.value());
            values.add(version);
            values.addAll(Arrays.asList(expected));
            boolean changed = execute(
                            opened,
                            "UPDATE weir_limit SET change_no = ?, " + set + " WHERE topic = ? AND version = ? AND "
                                    + condition,
                            values.toArray())
                    == 1;
            if (changed) {
                opened.commit();
            } else {
                opened.rollback();
            }
            return changed;
        });
    }

    /** The update comes first: its lock is what keeps the order; see above. Answers the last of so many numbers. */
    private static long nextChange(Connection opened, int changes) throws SQLException {
        try (PreparedStatement update = opened.prepareStatement("UPDATE weir_counter SET number = number + " + changes
                        + " WHERE name = 'limit' RETURNING number");
                ResultSet rows = update.executeQuery()) {
            if (!rows.next()) {
                throw new StoreException("the store has no counter of limits' changes: its tables are not Weir's");
            }
            return rows.getLong(1);
        }
    }

    private boolean update(String sql, Object... values) {
        return store.call(opened -> {
            int rows = execute(opened, sql, values);
            opened.commit();
            return rows == 1;
        });
    }

    private static int execute(Connection opened, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = opened.prepareStatement(sql)) {
            bind(statement, values);
            return statement.executeUpdate();
        }
    }

    private List<LeaseRow> leases(String where, Object... values) {
        return store.call(opened -> {
            List<LeaseRow> leases = new ArrayList<>();
            try (PreparedStatement select =
                    opened.prepareStatement("SELECT " + LEASE_COLUMNS + " FROM weir_lease " + where)) {
                bind(select, values);
                try (ResultSet rows = select.executeQuery()) {
                    while (rows.next()) {
                        leases.add(new LeaseRow(
                                holder(rows, 1).orElseThrow(),
                                LeaseRow.State.valueOf(rows.getString(3)),
                                rows.getLong(4),
                                new LeaseRow.Legacy(holder(rows, 5), rows.getBoolean(7)),
                                new LeaseRow.Legacy(holder(rows, 8), rows.getBoolean(10))));
                    }
                }
            }
            opened.commit();
            return leases;
        });
    }

    private LimitChanges limits(String where, long after, Object... values) {
        return store.call(opened -> {
            List<LimitRow> limits = new ArrayList<>();
            long upTo = after;
            try (PreparedStatement select =
                    opened.prepareStatement("SELECT " + LIMIT_COLUMNS + ", " + FIRST + " FROM weir_limit " + where)) {
                bind(select, values);
                try (ResultSet rows = select.executeQuery()) {
                    while (rows.next()) {
                        limits.add(new LimitRow(
                                new TopicName(rows.getString(1)),
                                rows.getLong(2),
                                new Share(rows.getLong(3), rows.getLong(4)),
                                rows.getInt(5),
                                Sharing.valueOf(rows.getString(6)),
                                Indicator.valueOf(rows.getString(11)),
                                holder(rows, 7),
                                rows.getBoolean(9),
                                rows.getBoolean(12)));
                        upTo = Math.max(upTo, rows.getLong(10));
                    }
                }
            }
            opened.commit();
            return new LimitChanges(upTo, limits);
        });
    }

    /** The holder in two columns, if there is one. */
    private static Optional<Holder> holder(ResultSet rows, int column) throws SQLException {
        String broker = rows.getString(column);
        return broker == null
                ? Optional.empty()
                : Optional.of(new Holder(new BrokerId(broker), rows.getLong(column + 1)));
    }

    private static Object brokerOf(Optional<Holder> holder) {
        return holder.<Object>map(known -> known.broker().value()).orElse(NO_BROKER);
    }

    private static Object incarnationOf(Optional<Holder> holder) {
        return holder.<Object>map(Holder::incarnation).orElse(NO_INCARNATION);
    }

    private static void bind(PreparedStatement statement, Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            if (values[i] instanceof Null none) {
                statement.setNull(i + 1, none.type());
            } else {
                statement.setObject(i + 1, values[i]);
            }
        }
    }
}

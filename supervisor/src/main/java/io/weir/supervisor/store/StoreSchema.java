package io.weir.supervisor.store;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/**
 * The tables that Weir keeps, made where they are missing. Every statement may run again, and several brokers may run
 * them at once on a new store: they wait for each other.
 */
final class StoreSchema {
    /** Goes up with every change that an older broker could not live with. */
    static final int VERSION = 8;

    private static final int ATTEMPTS = 5;
    // Any number will do, as long as nothing else in the database locks it.
    private static final long ADVISORY_LOCK = 0x57454952L;
    private static final String ANY_INDEX = "^CREATE (UNIQUE )?INDEX (CONCURRENTLY )?(IF NOT EXISTS )?";
    private static final String REPEATABLE_INDEX = "CREATE $1INDEX IF NOT EXISTS ";
    private static final List<String> OWN_TABLES = List.of(
            "CREATE TABLE IF NOT EXISTS weir_broker (id VARCHAR(64) PRIMARY KEY, incarnation BIGINT NOT NULL,"
                    + " tcp VARCHAR(255) NOT NULL, http VARCHAR(255) NOT NULL, cluster_address VARCHAR(255) NOT NULL,"
                    + " link VARCHAR(1024) NOT NULL, pid BIGINT NOT NULL, running BOOLEAN NOT NULL)",
            "CREATE TABLE IF NOT EXISTS weir_founding (cluster VARCHAR(64) PRIMARY KEY, number BIGINT NOT NULL,"
                    + " broker VARCHAR(64) NOT NULL, incarnation BIGINT NOT NULL)",
            "CREATE TABLE IF NOT EXISTS weir_lease (broker VARCHAR(64) NOT NULL, incarnation BIGINT NOT NULL,"
                    + " state VARCHAR(16) NOT NULL, renew_seq BIGINT NOT NULL,"
                    + " leased_heir_broker VARCHAR(64), leased_heir_incarnation BIGINT, leased_done BOOLEAN NOT NULL,"
                    + " kept_heir_broker VARCHAR(64), kept_heir_incarnation BIGINT, kept_done BOOLEAN NOT NULL,"
                    + " PRIMARY KEY (broker, incarnation))",
            "CREATE TABLE IF NOT EXISTS weir_limit (topic VARCHAR(129) NOT NULL, version BIGINT NOT NULL,"
                    + " rate_micros BIGINT NOT NULL, burst_micros BIGINT NOT NULL, floor_permille INTEGER NOT NULL,"
                    + " sharing VARCHAR(16) NOT NULL, minter_broker VARCHAR(64), minter_incarnation BIGINT,"
                    + " done BOOLEAN NOT NULL, change_no BIGINT NOT NULL,"
                    + " indicator VARCHAR(32) NOT NULL DEFAULT 'FILL_RATIO', PRIMARY KEY (topic, version))",
            "CREATE INDEX IF NOT EXISTS weir_limit_change ON weir_limit (change_no)",
            "CREATE TABLE IF NOT EXISTS weir_counter (name VARCHAR(64) PRIMARY KEY, number BIGINT NOT NULL)",
            "INSERT INTO weir_counter SELECT 'limit', 0"
                    + " WHERE NOT EXISTS (SELECT 1 FROM weir_counter WHERE name = 'limit')",
            "INSERT INTO weir_counter SELECT 'topic', 0"
                    + " WHERE NOT EXISTS (SELECT 1 FROM weir_counter WHERE name = 'topic')",
            "CREATE TABLE IF NOT EXISTS weir_topic (name VARCHAR(64) PRIMARY KEY, revision BIGINT NOT NULL,"
                    + " definition TEXT NOT NULL, change_no BIGINT NOT NULL, gone BOOLEAN NOT NULL DEFAULT FALSE,"
                    + " owner TEXT NOT NULL DEFAULT '')",
            "CREATE INDEX IF NOT EXISTS weir_topic_change ON weir_topic (change_no)",
            "INSERT INTO weir_counter SELECT 'placement', 0"
                    + " WHERE NOT EXISTS (SELECT 1 FROM weir_counter WHERE name = 'placement')",
            "CREATE TABLE IF NOT EXISTS weir_placement (topic VARCHAR(64) PRIMARY KEY, revision BIGINT NOT NULL,"
                    + " decided_by VARCHAR(128) NOT NULL, decision TEXT NOT NULL, change_no BIGINT NOT NULL)",
            "CREATE INDEX IF NOT EXISTS weir_placement_change ON weir_placement (change_no)",
            "CREATE TABLE IF NOT EXISTS weir_capacity (broker VARCHAR(64) PRIMARY KEY, rate DOUBLE PRECISION NOT NULL,"
                    + " objective_ns BIGINT NOT NULL, measured_at BIGINT NOT NULL, singles DOUBLE PRECISION NOT NULL,"
                    + " batched DOUBLE PRECISION NOT NULL, batch INTEGER NOT NULL, lone_ns BIGINT NOT NULL)",
            "CREATE TABLE IF NOT EXISTS weir_objective (topic VARCHAR(64) PRIMARY KEY, objective_ns BIGINT NOT NULL)",
            "CREATE TABLE IF NOT EXISTS weir_policy (topic VARCHAR(64) PRIMARY KEY, policy VARCHAR(16) NOT NULL)",
            "CREATE TABLE IF NOT EXISTS weir_registration (topic VARCHAR(64) NOT NULL, publisher BIGINT NOT NULL,"
                    + " rate DOUBLE PRECISION NOT NULL, correlation VARCHAR(64) NOT NULL, asked BOOLEAN NOT NULL,"
                    + " renewed_at BIGINT NOT NULL, PRIMARY KEY (topic, publisher))",
            "INSERT INTO weir_counter SELECT 'registration', 0"
                    + " WHERE NOT EXISTS (SELECT 1 FROM weir_counter WHERE name = 'registration')",
            "CREATE TABLE IF NOT EXISTS weir_schema (version INTEGER PRIMARY KEY)");

    /** Up to version 2 it held topics' names only, no channels' keys. */
    private static final String UP_TO_2 = "ALTER TABLE weir_limit ALTER COLUMN topic SET DATA TYPE VARCHAR(129)";

    /** Up to version 5 all topics went by the fill ratio. */
    private static final String UP_TO_5 =
            "ALTER TABLE weir_limit ADD COLUMN IF NOT EXISTS indicator VARCHAR(32) NOT NULL DEFAULT 'FILL_RATIO'";

    /**
     * Up to version 7 a topic's definition was also an event in a journal of its own; what the row says is what counts
     * now. Revisions and versions began at 1 for every name; now they begin above the counter of changes, which must
     * not be below any that there was.
     */
    private static final List<String> UP_TO_7 = List.of(
            "ALTER TABLE weir_topic ADD COLUMN IF NOT EXISTS gone BOOLEAN NOT NULL DEFAULT FALSE",
            "ALTER TABLE weir_topic ADD COLUMN IF NOT EXISTS owner TEXT NOT NULL DEFAULT ''",
            "UPDATE weir_topic SET gone = TRUE WHERE CAST(CAST(definition AS json) ->> 'deleted' AS BOOLEAN)",
            "UPDATE weir_counter SET number = GREATEST(number, (SELECT MAX(revision) FROM weir_topic),"
                    + " (SELECT MAX(version) FROM weir_limit)) WHERE name = 'topic'",
            "DELETE FROM event_tag WHERE event_id IN"
                    + " (SELECT ordering FROM event_journal WHERE persistence_id LIKE 'topic|%')",
            "DELETE FROM event_journal WHERE persistence_id LIKE 'topic|%'",
            "DELETE FROM snapshot WHERE persistence_id LIKE 'topic|%'");

    /** What needs the columns that older stores get by the above. */
    private static final List<String> LAST = List.of(
            "CREATE INDEX IF NOT EXISTS weir_topic_owner ON weir_topic (owner) WHERE owner <> '' AND NOT gone",
            "INSERT INTO weir_counter SELECT 'topics', (SELECT COUNT(*) FROM weir_topic WHERE NOT gone)"
                    + " WHERE NOT EXISTS (SELECT 1 FROM weir_counter WHERE name = 'topics')");

    private StoreSchema() {}

    static void ensure(Connection connection) throws SQLException {
        for (int attempt = 1; ; attempt++) {
            try {
                int recorded = recordedVersion(connection);
                if (recorded == VERSION) {
                    return;
                }
                create(connection, recorded);
                return;
            } catch (SQLException e) {
                connection.rollback();
                if (attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    private static int recordedVersion(Connection connection) throws SQLException {
        try (ResultSet tables = connection
                .getMetaData()
                .getTables(null, connection.getSchema(), "%", new String[] {"TABLE", "BASE TABLE"})) {
            boolean found = false;
            while (tables.next()) {
                found |= tables.getString("TABLE_NAME").equalsIgnoreCase("weir_schema");
            }
            if (!found) {
                return 0;
            }
        }
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT MAX(version) FROM weir_schema")) {
            int version = rows.next() ? rows.getInt(1) : 0;
            if (version > VERSION) {
                throw new StoreException("the store is of version " + version + ", this Weir knows version " + VERSION
                        + ": use the newer Weir that wrote it");
            }
            return version;
        } finally {
            connection.rollback();
        }
    }

    private static void create(Connection connection, int recorded) throws SQLException {
        List<String> statements = new ArrayList<>(persistenceTables());
        statements.addAll(OWN_TABLES);
        if (recorded == 1 || recorded == 2) {
            statements.add(UP_TO_2);
        }
        if (recorded >= 1 && recorded <= 5) {
            statements.add(UP_TO_5);
        }
        if (recorded >= 1 && recorded <= 7) {
            statements.addAll(UP_TO_7);
        }
        statements.addAll(LAST);
        try (Statement statement = connection.createStatement()) {
            statement.execute("SELECT pg_advisory_xact_lock(" + ADVISORY_LOCK + ")");
            for (String sql : statements) {
                statement.execute(sql);
            }
            statement.execute("INSERT INTO weir_schema SELECT " + VERSION
                    + " WHERE NOT EXISTS (SELECT 1 FROM weir_schema WHERE version = " + VERSION + ")");
        }
        connection.commit();
    }

    /**
     * Akka Persistence JDBC ships its tables as a script. It names PostgreSQL's default schema, where the connection's
     * own is meant; some of its indexes lack the words that let them run twice, others are built concurrently, which
     * can't be done in a transaction: on empty tables nobody waits.
     */
    private static List<String> persistenceTables() {
        String resource = "schema/postgres/postgres-create-schema.sql";
        try (InputStream in = StoreSchema.class.getClassLoader().getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalStateException(resource + " is not on the class path");
            }
            String script = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            List<String> statements = new ArrayList<>();
            for (String sql : script.split(";")) {
                if (!sql.isBlank()) {
                    statements.add(sql.strip().replace(" public.", " ").replaceFirst(ANY_INDEX, REPEATABLE_INDEX));
                }
            }
            return statements;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

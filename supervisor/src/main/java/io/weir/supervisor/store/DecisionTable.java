package io.weir.supervisor.store;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.WeirSettings.StoreSettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.Decision;
import io.weir.supervisor.placement.Decisions;
import io.weir.supervisor.placement.algorithm.Policy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Placement's tables: {@code weir_placement}, a row a topic with the decision as JSON, {@code weir_capacity},
 * {@code weir_objective}, {@code weir_policy} and {@code weir_registration}, a row a publisher. Changes are numbered as
 * {@link SupplyTables} numbers those of limits, by a counter of their own.
 */
public final class DecisionTable implements Decisions, AutoCloseable {
    private static final ObjectMapper JSON =
            new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);

    private final StoreConnection store;

    public DecisionTable(StoreSettings settings, Duration timeout) {
        store = new StoreConnection(settings, "weir-placement-rows", timeout);
    }

    @Override
    public boolean replace(long expectedRevision, Decision decision) {
        if (decision.revision() <= expectedRevision) {
            throw new IllegalArgumentException("revision " + decision.revision() + " of topic " + decision.topic()
                    + " does not come after " + expectedRevision);
        }
        String json = write(decision);
        return store.call(opened -> {
            // Also orders writers: the counter's row is locked until the commit, so a reader never skips a change.
            execute(opened, "UPDATE weir_counter SET number = number + 1 WHERE name = 'placement'");
            int written = expectedRevision == 0
                    ? insert(opened, decision, json)
                    : execute(
                            opened,
                            "UPDATE weir_placement SET revision = ?, decided_by = ?, decision = ?,"
                                    + " change_no = (SELECT number FROM weir_counter WHERE name = 'placement')"
                                    + " WHERE topic = ? AND revision = ?",
                            decision.revision(),
                            decision.decidedBy(),
                            json,
                            decision.topic().value(),
                            expectedRevision);
            if (written == 1) {
                opened.commit();
            } else {
                opened.rollback();
            }
            return written == 1;
        });
    }

    private static int insert(Connection opened, Decision decision, String json) throws SQLException {
        return execute(
                opened,
                "INSERT INTO weir_placement (topic, revision, decided_by, decision, change_no)"
                        + " SELECT CAST(? AS VARCHAR(64)), CAST(? AS BIGINT), CAST(? AS VARCHAR(128)), CAST(? AS TEXT), number"
                        + " FROM weir_counter WHERE name = 'placement'"
                        + " AND NOT EXISTS (SELECT 1 FROM weir_placement WHERE topic = ?)",
                decision.topic().value(),
                decision.revision(),
                decision.decidedBy(),
                json,
                decision.topic().value());
    }

    @Override
    public Changes after(long after) {
        return store.call(opened -> {
            List<Decision> decisions = new ArrayList<>();
            long upTo = after;
            try (PreparedStatement select = opened.prepareStatement(
                    "SELECT decision, change_no FROM weir_placement WHERE change_no > ? ORDER BY change_no")) {
                select.setLong(1, after);
                try (ResultSet rows = select.executeQuery()) {
                    while (rows.next()) {
                        decisions.add(read(rows.getString(1)));
                        upTo = rows.getLong(2);
                    }
                }
            }
            opened.commit();
            return new Changes(upTo, decisions);
        });
    }

    @Override
    public Optional<Decision> get(TopicName topic) {
        return store.call(opened -> {
            try (PreparedStatement select =
                    opened.prepareStatement("SELECT decision FROM weir_placement WHERE topic = ?")) {
                select.setString(1, topic.value());
                try (ResultSet rows = select.executeQuery()) {
                    Optional<Decision> found = rows.next() ? Optional.of(read(rows.getString(1))) : Optional.empty();
                    opened.commit();
                    return found;
                }
            }
        });
    }

    @Override
    public void calibrated(Capacity capacity) {
        store.call(opened -> {
            execute(
                    opened,
                    "DELETE FROM weir_capacity WHERE broker = ?",
                    capacity.broker().value());
            execute(
                    opened,
                    "INSERT INTO weir_capacity (broker, rate, objective_ns, measured_at, singles, batched, batch, lone_ns)"
                            + " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    capacity.broker().value(),
                    capacity.messagesPerSecond(),
                    capacity.objectiveNs(),
                    capacity.measuredAtMs(),
                    capacity.singlesPerSecond(),
                    capacity.batchedPerSecond(),
                    capacity.batch(),
                    capacity.loneNs());
            opened.commit();
            return null;
        });
    }

    @Override
    public List<Capacity> capacities() {
        return store.call(opened -> {
            List<Capacity> capacities = new ArrayList<>();
            try (PreparedStatement select = opened.prepareStatement(
                            "SELECT broker, rate, objective_ns, measured_at, singles, batched, batch, lone_ns"
                                    + " FROM weir_capacity ORDER BY broker");
                    ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    capacities.add(new Capacity(
                            new BrokerId(rows.getString(1)),
                            rows.getDouble(2),
                            rows.getLong(3),
                            rows.getLong(4),
                            rows.getDouble(5),
                            rows.getDouble(6),
                            rows.getInt(7),
                            rows.getLong(8)));
                }
            }
            opened.commit();
            return capacities;
        });
    }

    @Override
    public void objective(TopicName topic, long objectiveNs) {
        store.call(opened -> {
            execute(opened, "DELETE FROM weir_objective WHERE topic = ?", topic.value());
            if (objectiveNs > 0) {
                execute(
                        opened,
                        "INSERT INTO weir_objective (topic, objective_ns) VALUES (?, ?)",
                        topic.value(),
                        objectiveNs);
            }
            opened.commit();
            return null;
        });
    }

    @Override
    public Map<TopicName, Long> objectives() {
        return store.call(opened -> {
            Map<TopicName, Long> objectives = new HashMap<>();
            try (PreparedStatement select = opened.prepareStatement("SELECT topic, objective_ns FROM weir_objective");
                    ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    objectives.put(new TopicName(rows.getString(1)), rows.getLong(2));
                }
            }
            opened.commit();
            return objectives;
        });
    }

    @Override
    public void policy(TopicName topic, Optional<Policy> policy) {
        store.call(opened -> {
            execute(opened, "DELETE FROM weir_policy WHERE topic = ?", topic.value());
            if (policy.isPresent()) {
                execute(
                        opened,
                        "INSERT INTO weir_policy (topic, policy) VALUES (?, ?)",
                        topic.value(),
                        policy.get().label());
            }
            opened.commit();
            return null;
        });
    }

    @Override
    public Map<TopicName, Policy> policies() {
        return store.call(opened -> {
            Map<TopicName, Policy> policies = new HashMap<>();
            try (PreparedStatement select = opened.prepareStatement("SELECT topic, policy FROM weir_policy");
                    ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    policies.put(new TopicName(rows.getString(1)), Policy.of(rows.getString(2)));
                }
            }
            opened.commit();
            return policies;
        });
    }

    @Override
    public void register(List<Registered> put, List<Registered> gone) {
        store.call(opened -> {
            // First, so that two that write at once lock the same row before any other.
            execute(opened, "UPDATE weir_counter SET number = number + 1 WHERE name = 'registration'");
            try (PreparedStatement upsert = opened.prepareStatement(
                    "INSERT INTO weir_registration (topic, publisher, rate, correlation, asked, renewed_at)"
                            + " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (topic, publisher) DO UPDATE SET"
                            + " rate = EXCLUDED.rate, correlation = EXCLUDED.correlation, asked = EXCLUDED.asked,"
                            + " renewed_at = EXCLUDED.renewed_at")) {
                for (Registered each : put) {
                    upsert.setString(1, each.topic().value());
                    upsert.setLong(2, each.id());
                    upsert.setDouble(3, each.rate());
                    upsert.setString(4, each.group());
                    upsert.setBoolean(5, each.asked());
                    upsert.setLong(6, each.renewedAtMs());
                    upsert.addBatch();
                }
                upsert.executeBatch();
            }
            try (PreparedStatement delete =
                    opened.prepareStatement("DELETE FROM weir_registration WHERE topic = ? AND publisher = ?")) {
                for (Registered each : gone) {
                    delete.setString(1, each.topic().value());
                    delete.setLong(2, each.id());
                    delete.addBatch();
                }
                delete.executeBatch();
            }
            opened.commit();
            return null;
        });
    }

    @Override
    public List<Registered> registrations() {
        return store.call(opened -> {
            List<Registered> registrations = new ArrayList<>();
            try (PreparedStatement select = opened.prepareStatement(
                            "SELECT topic, publisher, rate, correlation, asked, renewed_at FROM weir_registration"
                                    + " ORDER BY topic, publisher");
                    ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    registrations.add(new Registered(
                            new TopicName(rows.getString(1)),
                            rows.getLong(2),
                            rows.getDouble(3),
                            rows.getString(4),
                            rows.getBoolean(5),
                            rows.getLong(6)));
                }
            }
            opened.commit();
            return registrations;
        });
    }

    @Override
    public Optional<RegisteredTopics> registeredTopics(long known) {
        return store.call(opened -> {
            // The number first: what is written between the two is read again the next time.
            long number = registrationNumber(opened);
            Set<TopicName> topics = new HashSet<>();
            if (number != known) {
                try (PreparedStatement select =
                                opened.prepareStatement("SELECT DISTINCT topic FROM weir_registration");
                        ResultSet rows = select.executeQuery()) {
                    while (rows.next()) {
                        topics.add(new TopicName(rows.getString(1)));
                    }
                }
            }
            opened.commit();
            return number == known ? Optional.empty() : Optional.of(new RegisteredTopics(number, topics));
        });
    }

    /** From 1, so that 0 is none. */
    private static long registrationNumber(Connection opened) throws SQLException {
        try (PreparedStatement select =
                        opened.prepareStatement("SELECT number FROM weir_counter WHERE name = 'registration'");
                ResultSet rows = select.executeQuery()) {
            return rows.next() ? rows.getLong(1) + 1 : 1;
        }
    }

    private static int execute(Connection opened, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = opened.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            return statement.executeUpdate();
        }
    }

    private static String write(Decision decision) {
        try {
            return JSON.writeValueAsString(decision);
        } catch (JsonProcessingException e) {
            throw new StoreException("the placement of " + decision.topic() + " can't be written", e);
        }
    }

    private static Decision read(String json) {
        try {
            return JSON.readValue(json, Decision.class);
        } catch (JsonProcessingException e) {
            throw new StoreException("a placement in the store can't be read", e);
        }
    }

    @Override
    public void close() {
        store.close();
    }
}

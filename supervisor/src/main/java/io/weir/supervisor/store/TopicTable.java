package io.weir.supervisor.store;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.WeirSettings.StoreSettings;
import io.weir.config.value.TopicName;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicRows;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The topics' definitions in the store's table {@code weir_topic}, as JSON. Changes are numbered as
 * {@link SupplyTables} numbers those of limits, by a counter of their own.
 */
public final class TopicTable implements TopicRows, AutoCloseable {
    private static final ObjectMapper JSON =
            new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);

    private final StoreConnection store;

    public TopicTable(StoreSettings settings, Duration timeout) {
        store = new StoreConnection(settings, "weir-topic-rows", timeout);
    }

    @Override
    public void put(TopicDefinition definition) {
        String json = write(definition);
        store.call(opened -> {
            execute(opened, "UPDATE weir_counter SET number = number + 1 WHERE name = 'topic'");
            int updated = execute(
                    opened,
                    "UPDATE weir_topic SET revision = ?, definition = ?,"
                            + " change_no = (SELECT number FROM weir_counter WHERE name = 'topic')"
                            + " WHERE name = ? AND revision < ?",
                    definition.revision(),
                    json,
                    definition.name().value(),
                    definition.revision());
            if (updated == 0) {
                updated = execute(
                        opened,
                        "INSERT INTO weir_topic (name, revision, definition, change_no)"
                                + " SELECT CAST(? AS VARCHAR(64)), CAST(? AS BIGINT), CAST(? AS TEXT), number"
                                + " FROM weir_counter WHERE name = 'topic'"
                                + " AND NOT EXISTS (SELECT 1 FROM weir_topic WHERE name = ?)",
                        definition.name().value(),
                        definition.revision(),
                        json,
                        definition.name().value());
            }
            if (updated == 1) {
                opened.commit();
            } else {
                opened.rollback();
            }
            return null;
        });
    }

    @Override
    public Changes after(long after) {
        return store.call(opened -> {
            List<TopicDefinition> definitions = new ArrayList<>();
            long upTo = after;
            try (PreparedStatement select = opened.prepareStatement(
                    "SELECT definition, change_no FROM weir_topic WHERE change_no > ? ORDER BY change_no")) {
                select.setLong(1, after);
                try (ResultSet rows = select.executeQuery()) {
                    while (rows.next()) {
                        definitions.add(read(rows.getString(1)));
                        upTo = rows.getLong(2);
                    }
                }
            }
            opened.commit();
            return new Changes(upTo, definitions);
        });
    }

    @Override
    public Optional<TopicDefinition> get(TopicName topic) {
        return store.call(opened -> {
            try (PreparedStatement select =
                    opened.prepareStatement("SELECT definition FROM weir_topic WHERE name = ?")) {
                select.setString(1, topic.value());
                try (ResultSet rows = select.executeQuery()) {
                    Optional<TopicDefinition> found =
                            rows.next() ? Optional.of(read(rows.getString(1))) : Optional.empty();
                    opened.commit();
                    return found;
                }
            }
        });
    }

    private static int execute(Connection opened, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = opened.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            return statement.executeUpdate();
        }
    }

    private static String write(TopicDefinition definition) {
        try {
            return JSON.writeValueAsString(definition);
        } catch (JsonProcessingException e) {
            throw new StoreException("the definition of " + definition.name() + " can't be written", e);
        }
    }

    private static TopicDefinition read(String json) {
        try {
            return JSON.readValue(json, TopicDefinition.class);
        } catch (JsonProcessingException e) {
            throw new StoreException("a topic's definition in the store can't be read", e);
        }
    }

    @Override
    public void close() {
        store.close();
    }
}

package io.weir.supervisor.store;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.WeirSettings.StoreSettings;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicRows;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntFunction;

/**
 * The topics' definitions in the store's table {@code weir_topic}, as JSON. Changes are numbered as
 * {@link SupplyTables} numbers those of limits, by a counter of their own.
 */
public final class TopicTable implements TopicRows, AutoCloseable {
    private static final ObjectMapper JSON =
            new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);

    private static final Outcome WRITTEN = new Outcome(Kind.WRITTEN, Map.of(), null);
    private static final Outcome CONFLICT = new Outcome(Kind.CONFLICT, Map.of(), null);

    private final StoreConnection store;
    private final TopicQuotas quotas;

    public TopicTable(StoreSettings settings, Duration timeout, TopicQuotas quotas) {
        store = new StoreConnection(settings, "weir-topic-rows", timeout);
        this.quotas = quotas;
    }

    @Override
    public List<Loaded> load(List<TopicName> topics) {
        return store.call(opened -> {
            Map<String, TopicDefinition> definitions = new HashMap<>();
            try (PreparedStatement select =
                    opened.prepareStatement("SELECT definition FROM weir_topic WHERE name = ANY (?)")) {
                select.setArray(
                        1, texts(opened, topics.stream().map(TopicName::value).toList()));
                try (ResultSet rows = select.executeQuery()) {
                    while (rows.next()) {
                        TopicDefinition read = read(rows.getString(1));
                        definitions.put(read.name().value(), read);
                    }
                }
            }
            Map<String, Long> versions = versions(opened, definitions.values());
            long lastChange = number(opened, "SELECT number FROM weir_counter WHERE name = 'topic'");
            opened.commit();
            return topics.stream()
                    .map(topic -> loaded(definitions.get(topic.value()), versions, lastChange))
                    .toList();
        });
    }

    private static Loaded loaded(TopicDefinition definition, Map<String, Long> versions, long lastChange) {
        Map<TopicName, Long> own = new HashMap<>();
        if (definition != null) {
            definition.limitKeys().forEach(key -> {
                Long version = versions.get(key.value());
                if (version != null) {
                    own.put(key, version);
                }
            });
        }
        return new Loaded(Optional.ofNullable(definition), own, lastChange);
    }

    private static Map<String, Long> versions(Connection opened, Collection<TopicDefinition> of) throws SQLException {
        Map<String, Long> versions = new HashMap<>();
        if (of.isEmpty()) {
            return versions;
        }
        List<String> keys = of.stream()
                .flatMap(definition -> definition.limitKeys().stream())
                .map(TopicName::value)
                .toList();
        try (PreparedStatement select = opened.prepareStatement(
                "SELECT topic, MAX(version) FROM weir_limit WHERE topic = ANY (?) GROUP BY topic")) {
            select.setArray(1, texts(opened, keys));
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    versions.put(rows.getString(1), rows.getLong(2));
                }
            }
        }
        return versions;
    }

    /**
     * The counter's row comes first and stays locked until the commit: changes become visible in the order of their
     * numbers, and nobody creates a topic between a quota's check and the insert. The counter goes up by as much as
     * revisions do, so that it is never below any of them ({@link Loaded#lastChange}).
     */
    @Override
    public List<Outcome> write(List<Change> changes) {
        List<String> json = changes.stream().map(change -> write(change.next())).toList();
        return store.call(opened -> {
            Outcome[] outcomes = new Outcome[changes.size()];
            List<Integer> due = new ArrayList<>();
            for (int i = 0; i < outcomes.length; i++) {
                if (changes.get(i).changes()) {
                    due.add(i);
                } else {
                    outcomes[i] = WRITTEN;
                }
            }
            if (!due.isEmpty()) {
                writeRows(opened, changes, json, due, outcomes);
            }
            List<LimitRow> limits = new ArrayList<>();
            for (int i = 0; i < outcomes.length; i++) {
                if (outcomes[i].kind() == Kind.WRITTEN) {
                    limits.addAll(changes.get(i).limits());
                }
            }
            Set<TopicName> inserted = SupplyTables.insert(opened, limits);
            opened.commit();
            for (int i = 0; i < outcomes.length; i++) {
                outcomes[i] = outcome(outcomes[i], changes.get(i).limits(), inserted);
            }
            return List.of(outcomes);
        });
    }

    private static Outcome outcome(Outcome row, List<LimitRow> limits, Set<TopicName> inserted) {
        Map<TopicName, Long> versions = new HashMap<>();
        if (row.kind() == Kind.WRITTEN) {
            limits.stream()
                    .filter(limit -> inserted.contains(limit.topic()))
                    .forEach(limit -> versions.put(limit.topic(), limit.version()));
        }
        return new Outcome(row.kind(), versions, row.problem());
    }

    private void writeRows(
            Connection opened, List<Change> changes, List<String> json, List<Integer> due, Outcome[] outcomes)
            throws SQLException {
        long[] numbers = new long[outcomes.length];
        long more = 0;
        for (int i : due) {
            Change change = changes.get(i);
            more += Math.max(1, change.next().revision() - change.before().revision());
            numbers[i] = more;
        }
        long last = number(
                opened, "UPDATE weir_counter SET number = number + " + more + " WHERE name = 'topic' RETURNING number");
        for (int i : due) {
            numbers[i] += last - more;
        }
        List<Integer> allowed = quotas.allowed(opened, changes, due, outcomes);
        Set<String> written = new HashSet<>();
        written.addAll(insert(opened, changes, json, numbers, allowed));
        written.addAll(update(opened, changes, json, numbers, allowed));
        int net = 0;
        for (int i : allowed) {
            boolean done = written.contains(changes.get(i).next().name().value());
            outcomes[i] = done ? WRITTEN : CONFLICT;
            net += done ? changes.get(i).more() : 0;
        }
        TopicQuotas.count(opened, net);
    }

    private static Set<String> insert(
            Connection opened, List<Change> changes, List<String> json, long[] numbers, List<Integer> of)
            throws SQLException {
        List<Integer> fresh = of.stream().filter(i -> changes.get(i).isNew()).toList();
        return fresh.isEmpty()
                ? Set.of()
                : names(
                        opened,
                        "INSERT INTO weir_topic (name, revision, definition, change_no, gone, owner)"
                                + " SELECT * FROM unnest(?::text[], ?::bigint[], ?::text[], ?::bigint[], ?::boolean[], ?::text[])"
                                + " ON CONFLICT (name) DO NOTHING RETURNING name",
                        texts(
                                opened,
                                each(fresh, i -> changes.get(i).next().name().value())),
                        opened.createArrayOf(
                                "bigint",
                                each(fresh, i -> changes.get(i).next().revision())
                                        .toArray()),
                        texts(opened, each(fresh, json::get)),
                        opened.createArrayOf(
                                "bigint", each(fresh, i -> numbers[i]).toArray()),
                        opened.createArrayOf(
                                "boolean",
                                each(fresh, i -> !changes.get(i).next().exists())
                                        .toArray()),
                        texts(opened, each(fresh, i -> changes.get(i).owner())));
    }

    private static Set<String> update(
            Connection opened, List<Change> changes, List<String> json, long[] numbers, List<Integer> of)
            throws SQLException {
        List<Integer> there = of.stream().filter(i -> !changes.get(i).isNew()).toList();
        return there.isEmpty()
                ? Set.of()
                : names(
                        opened,
                        "UPDATE weir_topic t SET revision = v.revision, definition = v.definition, change_no = v.change_no,"
                                + " gone = v.gone, owner = CASE WHEN v.created THEN v.owner ELSE t.owner END"
                                + " FROM unnest(?::text[], ?::bigint[], ?::bigint[], ?::text[], ?::bigint[], ?::boolean[],"
                                + " ?::boolean[], ?::text[])"
                                + " AS v (name, before, revision, definition, change_no, gone, created, owner)"
                                + " WHERE t.name = v.name AND t.revision = v.before RETURNING t.name",
                        texts(
                                opened,
                                each(there, i -> changes.get(i).next().name().value())),
                        opened.createArrayOf(
                                "bigint",
                                each(there, i -> changes.get(i).before().revision())
                                        .toArray()),
                        opened.createArrayOf(
                                "bigint",
                                each(there, i -> changes.get(i).next().revision())
                                        .toArray()),
                        texts(opened, each(there, json::get)),
                        opened.createArrayOf(
                                "bigint", each(there, i -> numbers[i]).toArray()),
                        opened.createArrayOf(
                                "boolean",
                                each(there, i -> !changes.get(i).next().exists())
                                        .toArray()),
                        opened.createArrayOf(
                                "boolean",
                                each(there, i -> changes.get(i).more() > 0).toArray()),
                        texts(opened, each(there, i -> changes.get(i).owner())));
    }

    private static <T> List<T> each(List<Integer> of, IntFunction<T> value) {
        return of.stream().map(i -> value.apply(i)).toList();
    }

    static Array texts(Connection opened, List<String> values) throws SQLException {
        return opened.createArrayOf("text", values.toArray());
    }

    private static Set<String> names(Connection opened, String sql, Array... columns) throws SQLException {
        Set<String> names = new HashSet<>();
        try (PreparedStatement statement = opened.prepareStatement(sql)) {
            for (int i = 0; i < columns.length; i++) {
                statement.setArray(i + 1, columns[i]);
            }
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    names.add(rows.getString(1));
                }
            }
        }
        return names;
    }

    static long number(Connection opened, String sql) throws SQLException {
        try (PreparedStatement statement = opened.prepareStatement(sql);
                ResultSet rows = statement.executeQuery()) {
            if (!rows.next()) {
                throw new StoreException("the store has no counter of topics: its tables are not Weir's");
            }
            return rows.getLong(1);
        }
    }

    @Override
    public Changes after(long after) {
        return store.call(opened -> {
            List<TopicDefinition> definitions = new ArrayList<>();
            long upTo = after;
            try (PreparedStatement select = opened.prepareStatement(
                    "SELECT definition, change_no FROM weir_topic WHERE change_no > ? ORDER BY change_no LIMIT "
                            + MOST_AT_ONCE)) {
                select.setLong(1, after);
                try (ResultSet rows = select.executeQuery()) {
                    while (rows.next()) {
                        definitions.add(read(rows.getString(1)));
                        upTo = rows.getLong(2);
                    }
                }
            }
            opened.commit();
            return new Changes(upTo, definitions, definitions.size() == MOST_AT_ONCE);
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

    /** Removes a deleted topic's row if the store has no limit of it any more, for a caller that commits. */
    static void forgetGone(Connection opened, TopicName topic) throws SQLException {
        try (PreparedStatement select =
                opened.prepareStatement("SELECT definition FROM weir_topic WHERE name = ? AND gone")) {
            select.setString(1, topic.value());
            try (ResultSet rows = select.executeQuery()) {
                if (!rows.next()
                        || !versions(opened, List.of(read(rows.getString(1)))).isEmpty()) {
                    return;
                }
            }
        }
        try (PreparedStatement delete = opened.prepareStatement("DELETE FROM weir_topic WHERE name = ? AND gone")) {
            delete.setString(1, topic.value());
            delete.executeUpdate();
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

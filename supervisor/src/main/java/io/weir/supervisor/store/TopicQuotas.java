package io.weir.supervisor.store;

import io.weir.topics.definition.TopicRows.Change;
import io.weir.topics.definition.TopicRows.Kind;
import io.weir.topics.definition.TopicRows.Outcome;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * How many topics there may be, ephemeral ones and all. They are counted in the transaction that creates them, with the
 * counter of topics locked, so no two brokers take the last place.
 *
 * @param cluster of the whole cluster
 * @param token of those that came to be by one client's token
 */
public record TopicQuotas(int cluster, int token) {
    /** Those of the changes that may be made; the others' outcomes are set. */
    List<Integer> allowed(Connection opened, List<Change> changes, List<Integer> due, Outcome[] outcomes)
            throws SQLException {
        if (due.stream().noneMatch(i -> changes.get(i).more() > 0)) {
            return due;
        }
        long all = TopicTable.number(opened, "SELECT number FROM weir_counter WHERE name = 'topics'");
        Map<String, Long> byOwner = new HashMap<>();
        List<Integer> allowed = new ArrayList<>();
        for (int i : due) {
            Change change = changes.get(i);
            if (change.more() > 0) {
                String owner = change.owner();
                if (!owner.isEmpty() && !byOwner.containsKey(owner)) {
                    byOwner.put(owner, owned(opened, owner));
                }
                String problem = problem(all, owner, byOwner.getOrDefault(owner, 0L));
                if (problem != null) {
                    outcomes[i] = new Outcome(Kind.OVER_QUOTA, Map.of(), problem);
                    continue;
                }
                all++;
                byOwner.computeIfPresent(owner, (same, before) -> before + 1);
            }
            allowed.add(i);
        }
        return allowed;
    }

    private String problem(long all, String owner, long owned) {
        if (all >= cluster) {
            return "quota of topics: the cluster has " + all + " topics, and weir.topics.max-topics allows " + cluster
                    + ": delete topics that nobody needs, or raise it on every broker";
        }
        if (!owner.isEmpty() && owned >= token) {
            return "quota of topics: " + owned + " topics came to be by the token " + owner
                    + ", and weir.topics.max-topics-per-token allows " + token
                    + ": delete some of them, or raise it on every broker";
        }
        return null;
    }

    private static long owned(Connection opened, String owner) throws SQLException {
        try (PreparedStatement select =
                opened.prepareStatement("SELECT COUNT(*) FROM weir_topic WHERE owner = ? AND NOT gone")) {
            select.setString(1, owner);
            try (ResultSet rows = select.executeQuery()) {
                rows.next();
                return rows.getLong(1);
            }
        }
    }

    /** So many topics more, or fewer. */
    static void count(Connection opened, int more) throws SQLException {
        if (more != 0) {
            TopicTable.number(
                    opened,
                    "UPDATE weir_counter SET number = number + " + more + " WHERE name = 'topics' RETURNING number");
        }
    }
}

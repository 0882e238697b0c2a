package io.weir.topics.definition;

import io.weir.config.value.TopicName;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LimitRow;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * What of a topic's definition is known to be in the store: its revision, and the version of each limit by the limit's
 * key.
 */
final class StoredVersions {
    private final Map<TopicName, Long> limits = new HashMap<>();
    /** Why the last attempt to insert a version failed. */
    private final Map<TopicName, String> inTheWay = new HashMap<>();

    private long revision;

    /** What was there before anything was written; nothing is known of the limits of a name without a row. */
    void loaded(TopicDefinition definition, Map<TopicName, Long> versions) {
        revision = definition.revision();
        limits.clear();
        limits.putAll(versions);
        inTheWay.clear();
        definition.limits().forEach((key, limit) -> {
            if (limit.limit().none() && !versions.containsKey(key)) {
                // It is gone, and so are its rows.
                limits.put(key, limit.version());
            }
        });
    }

    long revision() {
        return revision;
    }

    /**
     * The outcome of an attempt to write. A version never changes its content, so what was inserted counts, whatever
     * was decided meanwhile.
     */
    void written(long newRevision, LimitInserts inserts) {
        revision = Math.max(revision, newRevision);
        limits.putAll(inserts.inserted());
        inTheWay.clear();
        inTheWay.putAll(inserts.notInserted());
    }

    boolean isPending(TopicDefinition now, TopicName key) {
        return !has(key, now.limits().get(key).version());
    }

    /** The key of a limit whose version is not in the store, or null. */
    TopicName firstPending(TopicDefinition now) {
        return now.limits().keySet().stream()
                .filter(key -> isPending(now, key))
                .findFirst()
                .orElse(null);
    }

    boolean has(TopicDefinition definition) {
        return revision >= definition.revision() && firstPending(definition) == null;
    }

    boolean has(long wantedRevision, Map<TopicName, Long> versions) {
        return revision >= wantedRevision
                && versions.entrySet().stream().allMatch(made -> has(made.getKey(), made.getValue()));
    }

    private boolean has(TopicName key, long version) {
        return limits.getOrDefault(key, 0L) >= version;
    }

    String inTheWayOf(TopicName key) {
        return inTheWay.getOrDefault(key, "the store did not answer yet");
    }

    /** The rows of limits that the store does not have; {@code minter} mints what they create. */
    List<LimitRow> missing(TopicDefinition now, Supplier<Holder> minter) {
        List<LimitRow> missing = new ArrayList<>();
        now.limits().forEach((key, limit) -> {
            if (!has(key, limit.version())) {
                LimitRow row = new LimitRow(
                        key,
                        limit.version(),
                        limit.limit().share(),
                        limit.limit().floorPermille(),
                        limit.limit().sharing(),
                        Optional.of(minter.get()),
                        false);
                missing.add(row.by(limit.limit().indicator()));
            }
        });
        return missing;
    }
}

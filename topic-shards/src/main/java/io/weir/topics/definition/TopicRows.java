package io.weir.topics.definition;

import io.weir.config.value.TopicName;
import io.weir.limiter.supply.value.LimitRow;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The topics' definitions in the store, one row a topic, written by the {@link Topic} alone: what is in the row is
 * decided, and all brokers learn it from there. A call blocks for at most the time that the implementation was given
 * and then throws; what it was to write may have been written then.
 */
public interface TopicRows {
    /** At most so many rows are read or written by one call, so that it ends in time however many topics there are. */
    int MOST_AT_ONCE = 1_000;

    /**
     * A page of what changed after some number, oldest first.
     *
     * @param upTo the number to go on with
     * @param more whether there may be further ones
     */
    record Changes(long upTo, List<TopicDefinition> definitions, boolean more) {}

    /**
     * What the store knows of a name.
     *
     * @param definition empty if it has no row: there never was such a topic, or it was forgotten
     * @param versions the last version of each of its limits, by key; those without rows are missing
     * @param lastChange the number of the last change of any topic. No revision and no version of any name was ever
     *     above it, so a name without a row goes on from there and not from 1: whoever still remembers the topic that
     *     had this name takes the new one for newer
     */
    record Loaded(Optional<TopicDefinition> definition, Map<TopicName, Long> versions, long lastChange) {}

    /**
     * A definition to write, and versions of limits to insert with it.
     *
     * @param before what the row must be now. If it is {@code next}, only the limits are meant
     * @param isNew whether there must be no row
     * @param owner the name of the client's token by which the topic came to be, which counts it; empty for others
     */
    record Change(TopicDefinition before, TopicDefinition next, boolean isNew, String owner, List<LimitRow> limits) {
        /** By how many the number of topics changes. */
        public int more() {
            return (next.exists() ? 1 : 0) - (before.exists() ? 1 : 0);
        }

        /** Whether the row is to be written. */
        public boolean changes() {
            return next.revision() != before.revision();
        }
    }

    /** What became of a {@link Change}. */
    enum Kind {
        /** The row is as wanted. */
        WRITTEN,
        /** The row is another one than {@code before}: nothing was done. */
        CONFLICT,
        /** A quota of topics is used up: nothing was done. */
        OVER_QUOTA
    }

    /**
     * What became of a {@link Change}.
     *
     * @param inserted the versions that are in the store now, by key; others' turn has not come
     * @param problem which quota is used up, and what to do about it; else null
     */
    record Outcome(Kind kind, Map<TopicName, Long> inserted, String problem) {}

    /** In one step for all of them, in their order. */
    List<Loaded> load(List<TopicName> topics);

    /** All of them in one transaction; each for itself happens or not. No two are of one topic. */
    List<Outcome> write(List<Change> changes);

    /**
     * Every topic whose definition was written after {@code after}, a number that an earlier answer gave, or 0 for all;
     * {@value #MOST_AT_ONCE} at the most.
     */
    Changes after(long after);

    /** One topic's definition as last written; a deleted topic's too, until it is forgotten. */
    Optional<TopicDefinition> get(TopicName topic);
}

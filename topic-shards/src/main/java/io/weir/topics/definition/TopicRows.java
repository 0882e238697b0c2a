package io.weir.topics.definition;

import io.weir.config.value.TopicName;
import java.util.List;
import java.util.Optional;

/**
 * The store's copy of every topic's definition, from which all brokers learn it: one row a topic, written by the
 * {@link Topic} alone. A call blocks for at most the time that the implementation was given and then throws.
 */
public interface TopicRows {
    /** What changed after {@code after}, oldest first. */
    record Changes(long upTo, List<TopicDefinition> definitions) {}

    /** Writes a definition unless a later revision is there already. */
    void put(TopicDefinition definition);

    /**
     * Every topic whose definition was written after {@code after}, a number that an earlier answer gave, or 0 for all.
     */
    Changes after(long after);

    /** One topic's definition as last written; a deleted topic's too. */
    Optional<TopicDefinition> get(TopicName topic);
}

package io.weir.cluster.history;

import io.weir.config.value.TopicName;
import java.util.Optional;

/**
 * Something that the supply protocol promises never happens, or always ends.
 *
 * @param invariant C1 to C9, as in the protocol's table
 * @param text what was found, with the values
 * @param window where in the history it shows, if it has a time
 */
public record Violation(String invariant, String text, Optional<Window> window) {
    /**
     * From one record's time to another's, both in it.
     *
     * @param topic whose records show it
     * @param messages that it has
     */
    public record Window(TopicName topic, long fromNs, long toNs, long messages) {}

    public Violation(String invariant, String text) {
        this(invariant, text, Optional.empty());
    }

    @Override
    public String toString() {
        return invariant + ": " + text;
    }
}

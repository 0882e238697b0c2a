package io.weir.cluster.history;

/**
 * Something that the supply protocol promises never happens, or always ends.
 *
 * @param invariant C1 to C8, as in the protocol's table
 * @param text what was found, with the values
 */
public record Violation(String invariant, String text) {
    @Override
    public String toString() {
        return invariant + ": " + text;
    }
}

package io.weir.cluster.chaos;

/** Shows what happens while it happens, a line each. */
@FunctionalInterface
interface Story {
    void tell(String line);
}

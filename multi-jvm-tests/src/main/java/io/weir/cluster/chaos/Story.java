package io.weir.cluster.chaos;

/** Is told what happens, a line each, while it happens. */
@FunctionalInterface
interface Story {
    void tell(String line);
}

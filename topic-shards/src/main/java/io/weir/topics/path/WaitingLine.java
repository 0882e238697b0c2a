package io.weir.topics.path;

/** The one place where publications wait for tokens; in which order they leave is a scheduler's choice. */
interface WaitingLine {
    void add(Publication publication);

    /** The next to be served, or null. It stays until it is removed, also while it passes in parts. */
    Publication peek();

    /** Removes what {@link #peek} answered. */
    void remove();

    /** One that arrived no later than {@code arrivedNs} and has not begun to pass, or null; it is removed. */
    Publication expired(long arrivedNs);
}

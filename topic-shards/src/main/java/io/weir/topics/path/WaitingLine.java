package io.weir.topics.path;

/** The order in which publications leave a {@link TokenLine}: a scheduler's choice. */
interface WaitingLine {
    void add(Publication publication);

    /** The next to be served, or null. It stays until it is removed, also while it passes in parts. */
    Publication peek();

    /** Removes what {@link #peek} answered. */
    void remove();

    /** One that has waited since {@code sinceNs} or longer and has not begun to pass, or null; it is removed. */
    Publication expired(long sinceNs);
}

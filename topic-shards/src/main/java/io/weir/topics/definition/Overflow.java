package io.weir.topics.definition;

/** What happens when a queue of messages that wait for consumers is full. */
public enum Overflow {
    /** Publishers wait. */
    HOLD_BACK,
    /** The oldest message makes room, and is counted. */
    DROP_OLDEST
}

package io.weir.topics.definition;

import io.weir.limiter.algorithm.Sharing;

/** Whether a topic's brokers lend each other tokens, so that their parts of the bucket act as one. */
public enum Borrow {
    ON,
    OFF,
    /** As its sharing says: on, but for a static topic, whose parts are apart by definition. */
    AUTO;

    boolean on(Sharing sharing) {
        return this == ON || this == AUTO && sharing != Sharing.STATIC;
    }
}

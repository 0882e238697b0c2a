package io.weir.topics.definition;

/** Which time a topic's bucket goes by: over that time its limit holds. */
public enum BucketClock {
    /**
     * When the message takes its token. What is held up before the gate counts late, and may find a full bucket or an
     * empty one.
     */
    GATE,
    /** When the message came (SRTM 5.2). One that waited for its token, or for room, counts when its wait was over. */
    ARRIVAL
}

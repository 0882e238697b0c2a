package io.weir.supervisor.placement.algorithm;

/** What became of a publisher's registration. */
public sealed interface Registration {
    /**
     * It is known by this index until it leaves; {@code anew} if it was known before and only its rate may have
     * changed.
     */
    record Registered(int publisher, boolean anew) implements Registration {}

    /** It is not, and nothing has changed. */
    record Refused(Cause cause, String text) implements Registration {}

    /** Why it was refused. */
    enum Cause {
        UNKNOWN_TOPIC,
        CONTRADICTORY_GROUP,
        IMPOSSIBLE_RATE,
        NO_ROOM
    }
}

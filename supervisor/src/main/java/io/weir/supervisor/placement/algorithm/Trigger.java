package io.weir.supervisor.placement.algorithm;

/** Why a topic is placed, placed again, or has its decision changed. The names are part of stored decisions. */
public enum Trigger {
    /** The topic is new to {@link ReplanRule}. */
    TOPIC_ARRIVED(true),
    /** A broker that had publishers of the topic died or left. */
    BROKER_GONE(true),
    /** A broker joined or a topic left, and the topic did not fit before. */
    ROOM_APPEARED(true),
    /** A broker broke the topic's objective for long. */
    OBJECTIVE_BROKEN(true),
    /** The topic's first publishers have come. */
    PUBLISHERS_ARRIVED(false),
    /** More publishers came than can simply be given seats. */
    PUBLISHERS_CAME(false),
    /** A few publishers came, and were given seats at the topic's brokers. */
    PUBLISHERS_SEATED(false),
    /** Whoever measured the topic is gone. */
    PUBLISHERS_UNFINISHED(false),
    /** The topic was given another policy. */
    POLICY_CHANGED(false),
    /** Publishers were found to send together, and too many of them are at the same broker. */
    GROUPS_FOUND(false),
    /** The topic is gone. */
    TOPIC_LEFT(false);

    private final boolean givenOnce;

    Trigger(boolean givenOnce) {
        this.givenOnce = givenOnce;
    }

    /**
     * Whether nobody gives this reason again: who can't act on it now must remember it. The others show at every look.
     */
    public boolean givenOnce() {
        return givenOnce;
    }
}

package io.weir.transport.gateway;

import java.nio.channels.SelectableChannel;

/** Work that the loop's thread does between sockets: once a turn, and again when its deadline has come. */
public interface Duty {
    long NO_DEADLINE = Long.MAX_VALUE;

    /** Does what is due, without waiting for anything; answers how much it did. */
    int doWork(long nowNs);

    /**
     * When it wants to be called though nothing else happens, on the clock of {@code nowNs}, or {@link #NO_DEADLINE}.
     */
    long nextDeadlineNs();

    /** What wakes the loop when it is readable; null for none. */
    default SelectableChannel channel() {
        return null;
    }

    /** The channel is readable. What is there has to be read, else it wakes the loop again; the turn's work follows. */
    default void channelReady() {}

    /** The turn's work is done, of all duties and connections, and what came of it is about to be sent. */
    default void endTurn() {}
}

package io.weir.transport.gateway;

/** Work that the loop's thread does between sockets: once a turn, and again when its deadline has come. */
public interface Duty {
    long NO_DEADLINE = Long.MAX_VALUE;

    /** Does what is due, without waiting for anything; answers how much it did. */
    int doWork(long nowNs);

    /** When it wants to be called though nothing else happens, on the clock of {@code nowNs}, or {@link #NO_DEADLINE}. */
    long nextDeadlineNs();
}

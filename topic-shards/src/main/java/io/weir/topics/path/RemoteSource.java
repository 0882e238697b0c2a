package io.weir.topics.path;

/**
 * A channel's second source beside its own queue: messages that other brokers sent on for this channel's consumers. A
 * message is named by its entry, whose {@link Channel#slot} says that it came this way. One implementation a process,
 * so calling it costs no dispatch.
 */
public interface RemoteSource {
    /** Consumers came or left, or their credit changed. */
    void changed();

    /** Offers the first waiting message to {@link Channel#dispatch}; false if none waits or no consumer takes it. */
    boolean handOutNext(long nowNs);

    /** A consumer finished the message; the channel releases it. */
    void finished(long entry);

    /** A consumer gave the message back, it timed out, or its delay is over. */
    void cameBack(long entry, long delayNs, long nowNs);

    /** Messages that are deferred or with consumers. */
    int held();

    /** Drops what waits; its brokers hear that it is finished. */
    void dropWaiting();

    /** The channel is gone, and with it what its consumers held. */
    void close();
}

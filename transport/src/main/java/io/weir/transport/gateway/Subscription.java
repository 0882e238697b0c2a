package io.weir.transport.gateway;

/** A consumer's hold on a channel: what it may still get, and what it has not yet acknowledged. */
public interface Subscription {
    /** So many messages may be unacknowledged at a time. */
    void ready(int messages, long nowNs);

    /** Acknowledges; false if the consumer does not hold that message (any more). */
    boolean finish(long id, long nowNs);

    /** Gives back, to be delivered again after a delay; false as with {@link #finish}. */
    boolean requeue(long id, long delayNs, long nowNs);

    /** Begins the time-out anew; false as with {@link #finish}. */
    boolean touch(long id, long nowNs);

    /** How many messages the consumer holds unacknowledged. */
    int inFlight();

    /** There is room again after {@link Subscriber#deliver} had none. */
    void writable(long nowNs);

    /** The consumer is gone: what it held goes to others. */
    void close(long nowNs);
}

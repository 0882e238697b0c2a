package io.weir.limiter.simulation;

/** Messages that come to brokers, one after the other, by time. */
public interface Arrivals {
    /** What {@link #nextNs} answers when no more come. */
    long NO_MORE = Long.MAX_VALUE;

    /** When the next message comes. */
    long nextNs();

    /** Takes the next message: the broker it comes to. */
    int takeBroker();
}

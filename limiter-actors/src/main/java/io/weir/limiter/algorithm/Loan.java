package io.weir.limiter.algorithm;

/**
 * One message of {@link Borrowing}, a request or its reply. It is filled anew for every message, so that the message
 * path allocates none.
 */
public final class Loan {
    private int peer;
    private long id;
    private long micros;
    private long freeMicros;
    private long restingMicros;

    /** @return this */
    public Loan set(int newPeer, long newId, long newMicros, long newFreeMicros, long newRestingMicros) {
        peer = newPeer;
        id = newId;
        micros = newMicros;
        freeMicros = newFreeMicros;
        restingMicros = newRestingMicros;
        return this;
    }

    /** Whom a request goes to, or a reply answers, by the number that the sender has for it. */
    public int peer() {
        return peer;
    }

    /** Of the request, and of the reply to it. */
    public long id() {
        return id;
    }

    /** What is asked for at most, or what is given. */
    public long micros() {
        return micros;
    }

    /** What the sender has, or in a request has coming, less what waits there. */
    public long freeMicros() {
        return freeMicros;
    }

    /** How much the sender's bucket holds when it is full, if the sender has little use for it itself; else 0. */
    public long restingMicros() {
        return restingMicros;
    }

    @Override
    public String toString() {
        return "loan " + id + " of " + micros + " with " + peer + ", free " + freeMicros
                + (restingMicros > 0 ? ", resting" : "");
    }
}

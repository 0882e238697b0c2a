package io.weir.limiter.algorithm;

/** Borrowing with a rule left out, for a checker to catch. */
public final class BrokenBorrowing {
    private BrokenBorrowing() {}

    /** Own refill goes on while tokens are on their way (for example 12 admitted against b = 10). */
    public static Borrowing withoutReservation(TokenBucket bucket, int peers, long patienceNs, long nowNs) {
        return new Borrowing(bucket, peers, patienceNs, nowNs) {
            @Override
            protected long reserve(long micros, long now) {
                return micros;
            }

            @Override
            protected void release(long micros, long now) {}
        };
    }

    /** Every reply counts, also the second copy and the one whose request was given up. */
    public static Borrowing withoutOnceOnly(TokenBucket bucket, int peers, long patienceNs, long nowNs) {
        return new Borrowing(bucket, peers, patienceNs, nowNs) {
            @Override
            public long onReply(int peer, Loan reply, long now) {
                long added = super.onReply(peer, reply, now);
                return added > 0 ? added : bucket.addMicros(reply.micros(), now);
            }
        };
    }
}

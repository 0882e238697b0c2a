package io.weir.limiter.supply.gate.algorithm;

import io.weir.limiter.algorithm.Borrowing;
import io.weir.limiter.algorithm.Loan;
import io.weir.limiter.algorithm.TokenBucket;
import io.weir.limiter.supply.value.Holder;
import java.util.function.Function;

/**
 * {@link Borrowing} between leased accounts, with the checks that its messages need. A request names the asker's
 * incarnation and the limit's version, and the reply repeats them: it counts only in that life, under that version, and
 * while the request is open. Who answers need not be named: whatever life of a peer it was, it has taken the tokens out
 * of a bucket of its own. It lives as long as the gate, not as an actor, so that request ids never start over within an
 * incarnation.
 *
 * <p>Lending takes tokens out of the bucket as admission does, so it too is refused past the lease. (The first design
 * had no such rule. The bucket of a holder that was fenced during a pause goes on refilling at the rate that its heir
 * already has, and others would borrow those tokens.)
 *
 * <p>Only leased accounts lend: what is kept for a netsplit stays where it is kept.
 */
public class Lending {
    /**
     * Within this a reply comes also on a busy machine and over a slow network, or never: links lose nothing while they
     * stand. Whoever gave up earlier would lose the tokens of every late reply.
     */
    public static final long PATIENCE_NS = 1_000_000_000L;

    /** At most so many peers are asked for a topic's tokens; each has a slot in every topic. */
    public static final int MOST_LENDERS = 8;

    private final Holder me;
    private final Gate gate;
    private final Borrowing borrowing;
    private long version;

    /** @param slots how many peers there can be; the caller assigns each a slot of its own */
    public Lending(Holder me, Gate gate, int slots, long patienceNs, long nowNs) {
        this(me, gate, leased -> new Borrowing(leased, slots, patienceNs, nowNs));
    }

    protected Lending(Holder me, Gate gate, Function<TokenBucket, Borrowing> borrowing) {
        this.me = me;
        this.gate = gate;
        this.borrowing = borrowing.apply(gate.leased());
        gate.lendThrough(this);
    }

    /** Whose requests these are: to be sent along with each, and with the version. */
    public long incarnation() {
        return me.incarnation();
    }

    public long version() {
        return version;
    }

    /** The limit has a new version: requests made under the old one no longer count. */
    public void version(long newVersion, long nowNs) {
        if (newVersion != version) {
            cancel(nowNs);
            version = newVersion;
        }
    }

    /** Whether {@link #ask} may be worth its while. */
    public boolean hasRoom() {
        return borrowing.hasRoom();
    }

    /**
     * @param peers the slots that somebody is in, a bit for each
     * @param request is filled if there is one to be sent
     */
    public boolean ask(long peers, long waitingMicros, long nowNs, Loan request) {
        return gate.lease().usable(nowNs) && borrowing.ask(peers, waitingMicros, nowNs, request);
    }

    /**
     * @param slot the asker's
     * @param reply is filled if there is one to be sent
     */
    public boolean onRequest(int slot, long askersVersion, Loan request, long waitingMicros, long nowNs, Loan reply) {
        if (askersVersion != version || !mayLend(nowNs)) {
            return false;
        }
        gate.endRun();
        return borrowing.onRequest(slot, request, waitingMicros, nowNs, reply);
    }

    /**
     * Answers what was added.
     *
     * @param asker the incarnation that had asked
     */
    public long onReply(int slot, long asker, long askedVersion, Loan reply, long nowNs) {
        if (!mine(asker) || askedVersion != version) {
            return 0;
        }
        gate.endRun();
        return borrowing.onReply(slot, reply, nowNs);
    }

    public void cancel(long nowNs) {
        borrowing.cancel(nowNs);
    }

    /** The request to that peer could not be sent. */
    public void cancel(int slot, long nowNs) {
        borrowing.cancel(slot, nowNs);
    }

    /** Another peer, or another life of it, is in that slot. */
    public void peerChanged(int slot, long nowNs) {
        borrowing.peerChanged(slot, nowNs);
    }

    protected boolean mayLend(long nowNs) {
        return gate.lease().usable(nowNs);
    }

    protected boolean mine(long incarnation) {
        return incarnation == me.incarnation();
    }
}

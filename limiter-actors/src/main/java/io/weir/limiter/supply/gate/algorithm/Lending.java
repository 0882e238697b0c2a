package io.weir.limiter.supply.gate.algorithm;

import io.weir.limiter.algorithm.Borrowing;
import io.weir.limiter.algorithm.TokenBucket;
import io.weir.limiter.supply.value.Holder;
import java.util.Optional;
import java.util.function.Function;

/**
 * {@link Borrowing} between leased accounts, with the checks that its messages need. A request and its reply name both
 * incarnations and the limit's version, and a reply counts only for the open request with exactly these. It lives as
 * long as the gate, not as an actor, so that request ids never start over within an incarnation.
 *
 * <p>Lending takes tokens out of the bucket as admission does, so it too is refused past the lease. (The first design
 * had no such rule. The bucket of a holder that was fenced during a pause goes on refilling at the rate that its heir
 * already has, and others would borrow those tokens.)
 */
public class Lending {
    /** Asks the holder {@code to} for tokens. */
    public record Request(Holder from, Holder to, long version, Borrowing.Request body) {}

    /** Answers a {@link Request}. */
    public record Reply(Holder from, Holder to, long version, Borrowing.Reply body) {}

    private final Holder me;
    private final Gate gate;
    private final Borrowing borrowing;
    private final Holder[] asked;
    private long version;

    /** @param slots how many peers there can be; the caller assigns each a slot of its own */
    public Lending(Holder me, Gate gate, int slots, long patienceNs, long nowNs) {
        this(me, gate, slots, leased -> new Borrowing(leased, slots, patienceNs, nowNs));
    }

    protected Lending(Holder me, Gate gate, int slots, Function<TokenBucket, Borrowing> borrowing) {
        this.me = me;
        this.gate = gate;
        this.borrowing = borrowing.apply(gate.leased());
        asked = new Holder[slots];
        gate.lendThrough(this);
    }

    /** The limit has a new version: requests made under the old one no longer count. */
    public void version(long newVersion, long nowNs) {
        if (newVersion != version) {
            cancel(nowNs);
            version = newVersion;
        }
    }

    /** @param peers the holder in each slot, null where there is none */
    public Optional<Request> ask(Holder[] peers, long waitingMicros, long nowNs) {
        if (!gate.lease().usable(nowNs)) {
            return Optional.empty();
        }
        Optional<Borrowing.Request> request = borrowing.ask(waitingMicros, nowNs);
        if (request.isEmpty()) {
            return Optional.empty();
        }
        Holder peer = peers[request.get().peer()];
        asked[request.get().peer()] = peer;
        return peer == null ? Optional.empty() : Optional.of(new Request(me, peer, version, request.get()));
    }

    /** @param slot the asker's */
    public Optional<Reply> onRequest(int slot, Request request, long waitingMicros, long nowNs) {
        if (!meant(request.to(), request.version()) || !mayLend(nowNs)) {
            return Optional.empty();
        }
        return borrowing
                .onRequest(slot, request.body(), waitingMicros, nowNs)
                .map(body -> new Reply(me, request.from(), version, body));
    }

    /** Answers what was added. */
    public long onReply(int slot, Reply reply, long nowNs) {
        if (!meant(reply.to(), reply.version()) || !reply.from().equals(asked[slot])) {
            return 0;
        }
        return borrowing.onReply(slot, reply.body(), nowNs);
    }

    public void cancel(long nowNs) {
        borrowing.cancel(nowNs);
    }

    protected boolean mayLend(long nowNs) {
        return gate.lease().usable(nowNs);
    }

    private boolean meant(Holder to, long limitVersion) {
        return addressed(to, me) && limitVersion == version;
    }

    protected boolean addressed(Holder to, Holder self) {
        return to.equals(self);
    }
}

package io.weir.topics.federation;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Loan;
import io.weir.limiter.algorithm.Ring;
import io.weir.limiter.supply.gate.Gates;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.topics.path.Shards;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.agrona.DirectBuffer;

/**
 * Tokens that this broker's topics borrow from other brokers and lend to them, over the links. Who wants tokens, and
 * what it may have, is the gates' affair; here are the frames, and who is asked.
 *
 * <p>Gates that may want tokens are asked once, at the end of a turn of the message path's thread; what they and the
 * turn's answers have for a peer goes in one frame. A topic at rest sends nothing. A frame that the link has no room
 * for is dropped: what it asked for is not asked any more, and what it lent is lost, which only admits less.
 *
 * <p>A broker asks all others, as long as they are {@value TopicGate#MOST_LENDERS} at most; in a larger cluster those
 * that {@link Ring#lenders} says.
 */
final class Loans {
    private final Federation federation;
    private final Shards shards;
    private final BrokerId self;
    private final FederationCounters counters;
    private final PeerEnd[] slots = new PeerEnd[TopicGate.MOST_LENDERS];
    private final Gates.Borrower borrower = this::ask;
    private final Loan loan = new Loan();
    private final Loan reply = new Loan();
    /** The slots that somebody is in, a bit for each. */
    private long peers;

    private long askedNs;

    Loans(Federation federation, Shards shards, BrokerId self, FederationCounters counters) {
        this.federation = federation;
        this.shards = shards;
        this.self = self;
        this.counters = counters;
    }

    /** Who is linked has changed. Whoever keeps its slot keeps its open requests. */
    void membersChanged() {
        List<PeerEnd> wanted = lenders();
        for (int slot = 0; slot < slots.length; slot++) {
            if (slots[slot] != null && !wanted.remove(slots[slot])) {
                put(slot, null);
            }
        }
        for (PeerEnd peer : wanted) {
            int free = 0;
            while (slots[free] != null) {
                free++;
            }
            put(free, peer);
        }
    }

    private List<PeerEnd> lenders() {
        List<PeerEnd> linked = federation.peers();
        Set<BrokerId> ids = new HashSet<>();
        linked.forEach(peer -> ids.add(peer.peer().id()));
        ids.add(self);
        List<BrokerId> near = Ring.of(ids).lenders(self, slots.length);
        List<PeerEnd> lenders = new ArrayList<>(linked);
        lenders.removeIf(peer -> !near.contains(peer.peer().id()));
        return lenders;
    }

    private void put(int slot, PeerEnd peer) {
        if (slots[slot] != null) {
            slots[slot].lenderSlot(PeerEnd.NO_LENDER);
        }
        slots[slot] = peer;
        if (peer == null) {
            peers &= ~(1L << slot);
        } else {
            peers |= 1L << slot;
            peer.lenderSlot(slot);
        }
        shards.lenderChanged(slot, peers != 0);
    }

    /** The turn ends: asks for what is wanted, and sends it along with the turn's answers. */
    void endTurn() {
        if (peers == 0) {
            return;
        }
        askedNs = shards.clockNs();
        shards.askAll(borrower);
        for (PeerEnd peer : slots) {
            if (peer != null) {
                peer.flushLoans(askedNs);
            }
        }
    }

    private void ask(TopicGate gate) {
        while (gate.ask(peers, askedNs, loan)) {
            slots[loan.peer()].ask(gate, loan, askedNs);
        }
    }

    /** An ASK or LEND; false if it is malformed. */
    boolean onFrame(PeerEnd peer, boolean asks, DirectBuffer in, int at, int length) {
        int count = FederationFrames.count(in, at);
        long incarnation = FederationFrames.incarnation(in, at);
        int end = at + length;
        int next = at + FederationFrames.HEADER_BYTES;
        for (int i = 0; i < count; i++) {
            if (end - next < FederationFrames.LOAN_BYTES) {
                return false;
            }
            int nameAt = next + FederationFrames.LOAN_BYTES;
            int nameLength = FederationFrames.loanTopicLength(in, next);
            FederationFrames.loan(in, next, peer.lenderSlot(), loan);
            boolean sound = nameLength <= end - nameAt
                    && FederationFrames.isName(in, nameAt, nameLength)
                    && loan.id() > 0
                    && loan.micros() >= 0
                    && loan.micros() <= Limit.MAX_BURST_MICROS
                    && loan.restingMicros() >= 0
                    && loan.restingMicros() <= Limit.MAX_BURST_MICROS
                    // So large that no difference of two overflows.
                    && loan.freeMicros() >= -(Long.MAX_VALUE / 4)
                    && loan.freeMicros() <= Long.MAX_VALUE / 4;
            if (!sound) {
                return false;
            }
            if (peer.lenderSlot() != PeerEnd.NO_LENDER) {
                long version = FederationFrames.limitVersion(in, next);
                if (asks) {
                    onAsk(peer, incarnation, version, in, nameAt, nameLength);
                } else {
                    onLend(peer, incarnation, version, in, nameAt, nameLength);
                }
            }
            next = nameAt + nameLength;
        }
        return next == end;
    }

    private void onAsk(PeerEnd peer, long asker, long version, DirectBuffer in, int nameAt, int nameLength) {
        TopicGate gate = shards.lender(in.byteBuffer(), nameAt + in.wrapAdjustment(), nameLength);
        long nowNs = shards.clockNs();
        if (gate != null && gate.lend(peer.lenderSlot(), version, loan, nowNs, reply)) {
            peer.lend(gate, asker, reply, nowNs);
        }
    }

    private void onLend(PeerEnd peer, long asker, long version, DirectBuffer in, int nameAt, int nameLength) {
        int at = nameAt + in.wrapAdjustment();
        TopicGate gate = shards.gateOf(in.byteBuffer(), at, nameLength);
        if (gate == null) {
            return;
        }
        long added = gate.borrowed(peer.lenderSlot(), asker, version, loan, shards.clockNs());
        if (added > 0) {
            counters.borrowedMicros.lazySet(counters.borrowedMicros.get() + added);
            shards.tokensCame(in.byteBuffer(), at, nameLength);
        }
    }
}

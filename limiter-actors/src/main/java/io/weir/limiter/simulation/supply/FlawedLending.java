package io.weir.limiter.simulation.supply;

import io.weir.limiter.algorithm.Borrowing;
import io.weir.limiter.algorithm.Loan;
import io.weir.limiter.algorithm.TokenBucket;
import io.weir.limiter.supply.gate.algorithm.Gate;
import io.weir.limiter.supply.gate.algorithm.Lending;
import io.weir.limiter.supply.value.Holder;

/** Lending, without the rules that a scenario leaves out; the production one if it leaves out none. */
final class FlawedLending extends Lending {
    private final Scenario scenario;

    FlawedLending(Scenario scenario, Holder me, Gate gate, int slots, long patienceNs, long nowNs) {
        super(me, gate, leased -> borrowing(scenario, leased, slots, patienceNs, nowNs));
        this.scenario = scenario;
    }

    @Override
    protected boolean mayLend(long nowNs) {
        return scenario.has(Flaw.LEND_PAST_LEASE) || super.mayLend(nowNs);
    }

    @Override
    protected boolean mine(long incarnation) {
        return scenario.has(Flaw.BORROW_WITHOUT_INCARNATION) || super.mine(incarnation);
    }

    private static Borrowing borrowing(Scenario scenario, TokenBucket leased, int slots, long patienceNs, long nowNs) {
        return new Borrowing(leased, slots, patienceNs, nowNs) {
            @Override
            protected long reserve(long micros, long now) {
                return scenario.has(Flaw.BORROW_WITHOUT_RESERVATION) ? micros : super.reserve(micros, now);
            }

            @Override
            protected void release(long micros, long now) {
                if (!scenario.has(Flaw.BORROW_WITHOUT_RESERVATION)) {
                    super.release(micros, now);
                }
            }

            @Override
            public long onReply(int peer, Loan reply, long now) {
                long added = super.onReply(peer, reply, now);
                return added == 0 && scenario.has(Flaw.BORROW_WITHOUT_DEDUP)
                        ? leased.addMicros(reply.micros(), now)
                        : added;
            }
        };
    }
}

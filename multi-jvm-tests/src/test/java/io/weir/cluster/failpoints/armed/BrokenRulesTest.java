package io.weir.cluster.failpoints.armed;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.cluster.failpoints.BrokenRule;
import io.weir.cluster.failpoints.Sabotage;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.actor.Failpoints;
import io.weir.limiter.supply.gate.algorithm.Gate;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.protocol.Bookkeeper;
import io.weir.limiter.supply.protocol.Effect;
import io.weir.limiter.supply.protocol.LeaseWatch;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.Transfer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Each rule is kept by failpoints that break none, and broken by those that break it. */
class BrokenRulesTest {
    private static final long SECOND = 1_000_000_000L;
    private static final TopicName TOPIC = new TopicName("orders");
    private static final Holder A = new Holder(new BrokerId("a"), 1);
    private static final Holder B = new Holder(new BrokerId("b"), 1);
    private static final Holder C = new Holder(new BrokerId("c"), 1);
    private static final Holding SOME = Holding.of(new Share(100 * MICROS, 10 * MICROS), 0);
    private static final Transfer TRANSFER = new Transfer(new Transfer.Id(B, A, 1), Map.of(TOPIC, SOME));

    private static Failpoints kept() {
        return failpoints(Sabotage.NONE);
    }

    private static Failpoints broken(BrokenRule rule) {
        return failpoints(Sabotage.NONE.breaking(rule));
    }

    private static Failpoints failpoints(Sabotage sabotage) {
        return new ArmedFailpoints(sabotage, () -> {}, new SkewedClock(1, () -> 0));
    }

    private static int admitted(Failpoints failpoints, boolean closed, long untilNs) {
        Lease lease = failpoints.lease(SECOND);
        lease.renewed(0);
        Gate gate = new Gate(lease, failpoints.driftPpm(1_000), 0);
        gate.add(SOME, 0);
        if (closed) {
            lease.close();
        }
        int passed = 0;
        for (long nowNs = 0; nowNs <= untilNs; nowNs += SECOND / 10_000) {
            long atNs = nowNs;
            passed += gate.admit(1, () -> atNs) == Gate.Verdict.REFUSED ? 0 : 1;
        }
        return passed;
    }

    @Test
    void shouldAdmitPastTheLeaseButNotOnceFencedWhenItIsNotChecked() {
        assertThat(admitted(kept(), false, 3 * SECOND)).isLessThanOrEqualTo(100);
        assertThat(admitted(broken(BrokenRule.NO_LEASE_CHECK), false, 3 * SECOND))
                .isGreaterThan(290);
        assertThat(admitted(broken(BrokenRule.NO_LEASE_CHECK), true, 3 * SECOND))
                .isZero();
        Lease ignored = broken(BrokenRule.NO_LEASE_CHECK).lease(SECOND);
        ignored.renewed(0);
        assertThat(ignored.remainingNs(2 * SECOND)).as("the history tells").isEqualTo(-SECOND);
    }

    @Test
    void shouldRefillAtTheFullRateWhenThereIsNoDeflation() {
        Holding whole = Holding.of(new Share(1_000 * MICROS, 1_000 * MICROS), 0);
        long[] level = new long[2];
        for (int i = 0; i < 2; i++) {
            Failpoints failpoints = i == 0 ? kept() : broken(BrokenRule.NO_DRIFT_DEFLATION);
            Gate gate = new Gate(failpoints.lease(SECOND), failpoints.driftPpm(1_000), 0);
            gate.add(whole, 0);
            level[i] = gate.held(SECOND).leased().levelMicros();
        }
        assertThat(level[0]).isLessThan(1_000 * MICROS * 1_000 / 1_001 + 1);
        assertThat(level[1]).isEqualTo(1_000 * MICROS);
    }

    @Test
    void shouldFenceAHolderThatLivesWhenItClaimsEarly() {
        LeaseRow row = LeaseRow.registered(B);
        long patienceNs = LeaseWatch.patienceNs(6 * SECOND, 1_000, SECOND / 2);
        LeaseWatch patient = new LeaseWatch(kept().patienceNs(patienceNs), SECOND);
        LeaseWatch hasty = new LeaseWatch(broken(BrokenRule.CLAIM_EARLY).patienceNs(patienceNs), SECOND);
        for (long nowNs = 0; nowNs <= 2 * SECOND; nowNs += SECOND / 2) {
            patient.read(List.of(row), nowNs);
            hasty.read(List.of(row), nowNs);
        }
        assertThat(patient.expired(row, 0, 2 * SECOND)).isFalse();
        assertThat(hasty.expired(row, 0, 2 * SECOND)).isTrue();
    }

    /** What reaches the gate when a transfer comes until it is acknowledged. */
    private static int credits(Bookkeeper keeper) {
        int credits = 0;
        for (int sent = 0; sent < 10; sent++) {
            List<Effect> effects = keeper.credit(TRANSFER, B);
            if (!keeper.idle()) {
                effects = keeper.committed();
            }
            credits += (int)
                    effects.stream().filter(Effect.AddAtGate.class::isInstance).count();
            if (effects.stream().anyMatch(Effect.Acknowledge.class::isInstance)) {
                return credits;
            }
        }
        throw new AssertionError("never acknowledged");
    }

    @Test
    void shouldCreditATransferTwiceBeforeItAcknowledges() {
        assertThat(credits(kept().bookkeeper(new Ledger(A)))).isEqualTo(1);
        Bookkeeper twice = broken(BrokenRule.CREDIT_TWICE).bookkeeper(new Ledger(A));
        assertThat(credits(twice)).isEqualTo(2);
        assertThat(twice.ledger().share(TOPIC).share().rateMicros()).isEqualTo(200 * MICROS);
    }

    private static List<Effect> inherit(Failpoints failpoints, Ledger victim) {
        Bookkeeper heir = failpoints.bookkeeper(new Ledger(A));
        heir.inherit(victim, Account.LEASED);
        return heir.committed();
    }

    private static Ledger victim() {
        Ledger victim = new Ledger(B);
        victim.apply(new SupplyEvent.Minted(TOPIC, 1, SOME, Share.NONE));
        victim.apply(new SupplyEvent.Inherited(
                C,
                Account.LEASED,
                Map.of(),
                List.of(new Transfer(new Transfer.Id(C, A, 1), Map.of(TOPIC, SOME))),
                Map.of()));
        victim.apply(new SupplyEvent.Fenced(A));
        return victim;
    }

    @Test
    void shouldInheritFullBucketsWhenTheHeirStartsFull() {
        assertThat(inherit(kept(), victim())).containsExactly(new Effect.AddAtGate(Map.of(TOPIC, SOME.empty())));
        assertThat(inherit(broken(BrokenRule.HEIR_STARTS_FULL), victim()))
                .containsExactly(new Effect.AddAtGate(Map.of(TOPIC, SOME.full())));
    }

    @Test
    void shouldStartFullOnlyWhereItInheritsWhenTheHeirStartsFull() {
        Bookkeeper heir = broken(BrokenRule.HEIR_STARTS_FULL).bookkeeper(new Ledger(A));
        heir.inherit(victim(), Account.LEASED);
        heir.committed();
        heir.credit(TRANSFER, B);
        assertThat(heir.committed()).contains(new Effect.AddAtGate(TRANSFER.holdings()));
    }

    @Test
    void shouldForgetAdoptedTransfers() {
        assertThat(adopted(kept())).containsExactly(new Transfer.Id(C, A, 1));
        assertThat(adopted(broken(BrokenRule.ADOPTED_NOT_INHERITED))).isEmpty();
    }

    private static Set<Transfer.Id> adopted(Failpoints failpoints) {
        Bookkeeper heir = failpoints.bookkeeper(new Ledger(A));
        heir.inherit(victim(), Account.LEASED);
        heir.committed();
        return heir.ledger().openTransfers().stream().map(Transfer::id).collect(Collectors.toSet());
    }

    @Test
    void shouldMintARaiseFull() {
        assertThat(raise(kept())).isZero();
        assertThat(raise(broken(BrokenRule.MINT_FULL))).isEqualTo(10 * MICROS);
    }

    private static long raise(Failpoints failpoints) {
        Bookkeeper minter = failpoints.bookkeeper(new Ledger(A));
        LimitRow row =
                new LimitRow(TOPIC, 2, new Share(20 * MICROS, 20 * MICROS), 0, Sharing.GOSSIP, Optional.of(A), false);
        minter.mint(row, new Share(10 * MICROS, 10 * MICROS));
        return ((Effect.AddAtGate) minter.committed().get(0))
                .more()
                .get(TOPIC)
                .leased()
                .levelMicros();
    }
}

package io.weir.limiter.supply.gate.algorithm;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Loan;
import io.weir.limiter.supply.gate.algorithm.Gate.Verdict;
import io.weir.limiter.supply.protocol.Bookkeeper;
import io.weir.limiter.supply.protocol.Effect;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.Supply;
import java.util.Map;
import java.util.Random;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class GateTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long LEASE = 6 * SECOND;
    private static final long START = Long.MAX_VALUE - SECOND;
    private static final Holder ME = new Holder(new BrokerId("a"), 2);
    private static final Holder PEER = new Holder(new BrokerId("b"), 7);
    private static final TopicName TOPIC = new TopicName("t");
    private static final Supply FULL = new Supply(MICROS, 2 * MICROS, 2 * MICROS);

    private final Lease lease = new Lease(LEASE);
    private final Gate gate = new Gate(lease, 1_000, START);

    @BeforeEach
    void renew() {
        lease.renewed(START);
    }

    @Test
    void shouldAdmitFromTheLeasedAccountFirstAndThenFromTheKeptOne() {
        gate.add(new Holding(FULL, FULL), START);
        assertThat(gate.admit(1, () -> START)).isEqualTo(Verdict.LEASED);
        assertThat(gate.admit(1, () -> START)).isEqualTo(Verdict.LEASED);
        assertThat(gate.admit(1, () -> START)).isEqualTo(Verdict.KEPT);
        assertThat(gate.admit(2, () -> START)).isEqualTo(Verdict.REFUSED);
    }

    @Test
    void shouldRefuseTheLeasedAccountWhenThereWasNoRenewal() {
        Gate fresh = new Gate(new Lease(LEASE), 1_000, START);
        fresh.add(new Holding(FULL, Supply.NONE), START);
        assertThat(fresh.admit(1, () -> START)).isEqualTo(Verdict.REFUSED);
    }

    @Test
    void shouldAdmitFromTheKeptAccountAloneWhenTheLeaseIsOver() {
        gate.add(new Holding(FULL, FULL), START);
        assertThat(gate.admit(1, () -> START + LEASE)).isEqualTo(Verdict.KEPT);
        lease.close();
        assertThat(gate.admit(1, () -> START + LEASE)).isEqualTo(Verdict.REFUSED);
    }

    @Test
    void shouldRefuseWhenTheThreadStoppedBetweenTheTokenAndTheLease() {
        gate.add(new Holding(FULL, Supply.NONE), START);
        long[] clock = {START + LEASE - 1, START + LEASE};
        int[] reads = {0};
        assertThat(gate.admit(1, () -> clock[reads[0]++])).isEqualTo(Verdict.REFUSED);
        assertThat(reads[0]).isEqualTo(2);
    }

    @Test
    void shouldCountAMessageAtTheTimeItsTokenWasTaken() {
        gate.add(new Holding(FULL, Supply.NONE), START);
        long[] clock = {START + 1, START + SECOND};
        int[] reads = {0};
        assertThat(gate.admit(1, () -> clock[reads[0]++])).isEqualTo(Verdict.LEASED);
        assertThat(gate.stampNs()).isEqualTo(START + 1);
    }

    @Test
    void shouldReadTheClockTwiceForAWholeRun() {
        gate.add(new Holding(new Supply(MICROS, 100 * MICROS, 100 * MICROS), Supply.NONE), START);
        assertThat(gate.admit(1, this::tick)).isEqualTo(Verdict.LEASED);
        for (int i = 1; i < Gate.RUN; i++) {
            assertThat(gate.admitNext(1, this::tick)).isEqualTo(Verdict.LEASED);
            assertThat(gate.stampNs()).as("of the run's first").isEqualTo(START + 1);
            assertThat(gate.readNs()).isEqualTo(START + 2);
        }
        assertThat(reads).isEqualTo(2);
        assertThat(gate.admitNext(1, this::tick)).isEqualTo(Verdict.LEASED);
        assertThat(gate.stampNs()).isEqualTo(START + 3);
        assertThat(gate.held(START + 3).leased().levelMicros()).isEqualTo((100 - Gate.RUN - 1) * MICROS);
    }

    private long reads;

    private long tick() {
        return START + ++reads;
    }

    @Test
    void shouldCountABatchAsItsMessagesInARun() {
        gate.add(new Holding(new Supply(MICROS, 100 * MICROS, 100 * MICROS), Supply.NONE), START);
        gate.admit(Gate.RUN - 1, this::tick);
        assertThat(gate.admitNext(2, this::tick)).isEqualTo(Verdict.LEASED);
        assertThat(reads).isEqualTo(4);
    }

    @Test
    void shouldRefuseWithinARunWhenTheLeaseIsClosed() {
        gate.add(new Holding(FULL, FULL), START);
        assertThat(gate.admit(1, () -> START)).isEqualTo(Verdict.LEASED);
        lease.close();
        assertThat(gate.admitNext(1, () -> START)).isEqualTo(Verdict.REFUSED);
    }

    @Test
    void shouldRefuseTheRestOfARunWhoseFirstWasRefused() {
        gate.add(new Holding(new Supply(MICROS, 100 * MICROS, 100 * MICROS), Supply.NONE), START);
        long[] clock = {START + LEASE - 1, START + LEASE};
        assertThat(gate.admit(1, () -> clock[(int) reads++])).isEqualTo(Verdict.REFUSED);
        assertThat(gate.admitNext(1, () -> START + LEASE)).isEqualTo(Verdict.REFUSED);
    }

    @Test
    void shouldReadAgainWhenTheTokensOfTheRunsTimeAreGone() {
        gate.add(new Holding(FULL, Supply.NONE), START);
        gate.admit(1, () -> START);
        gate.admitNext(1, () -> START);
        assertThat(gate.admitNext(1, () -> START)).isEqualTo(Verdict.REFUSED);
        gate.admit(1, () -> START);
        assertThat(gate.admitNext(1, () -> START + 2 * SECOND)).isEqualTo(Verdict.LEASED);
        assertThat(gate.stampNs()).isEqualTo(START + 2 * SECOND);
    }

    @Test
    void shouldNotCountATokenBeforeItCameWhenSupplyChangesWithinARun() {
        gate.add(new Holding(FULL, Supply.NONE), START);
        gate.admit(2, () -> START);
        // Told the time of a turn that began before the message was decided.
        gate.add(new Holding(FULL, Supply.NONE), START - 1);
        assertThat(gate.admitNext(1, () -> START + 5)).isEqualTo(Verdict.LEASED);
        assertThat(gate.stampNs()).isEqualTo(START + 5);
    }

    @Test
    void shouldKeepTheBoundOverItsStampsHoweverRunsGo() {
        for (long seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            Gate each = new Gate(lease, 0, START);
            each.add(new Holding(new Supply(1_000 * MICROS, 40 * MICROS, 40 * MICROS), Supply.NONE), START);
            long[] nowNs = {START};
            // What would be in a bucket that starts full and may fall to nothing, in billionths of a micro-token.
            long room = 40 * MICROS * SECOND;
            long lastNs = START;
            for (int i = 0; i < 2_000; i++) {
                int tokens = random.nextInt(10) == 0 ? 1 + random.nextInt(20) : 1;
                LongSupplier clock = () -> nowNs[0] += random.nextInt(100) == 0 ? SECOND / 50 : random.nextInt(500_000);
                Verdict verdict = random.nextInt(8) == 0 ? each.admit(tokens, clock) : each.admitNext(tokens, clock);
                if (verdict != Verdict.REFUSED) {
                    assertThat(each.stampNs() - lastNs)
                            .as("seed %d, step %d", seed, i)
                            .isNotNegative();
                    room = Math.min(40 * MICROS * SECOND, room + (each.stampNs() - lastNs) * 1_000 * MICROS);
                    room -= tokens * MICROS * SECOND;
                    lastNs = each.stampNs();
                    assertThat(room).as("seed %d, step %d", seed, i).isNotNegative();
                }
            }
        }
    }

    @Test
    void shouldCountALeaseFromBeforeItsRenewalWasSent() {
        lease.renewed(START + SECOND);
        lease.renewed(START);
        assertThat(lease.usable(START + LEASE)).isTrue();
        assertThat(lease.usable(START + SECOND + LEASE)).isFalse();
        assertThat(lease.remainingNs(START + LEASE)).isEqualTo(SECOND);
    }

    @Test
    void shouldRefillMoreSlowlyThanTheShareSaysSoThatAFastClockKeepsTheBound() {
        gate.add(new Holding(new Supply(1001 * MICROS, 5000 * MICROS, 0), Supply.NONE), START);
        assertThat(gate.held(START + SECOND).leased().levelMicros()).isEqualTo(1000 * MICROS);
        assertThat(gate.held(START).leased().rateMicros()).isEqualTo(1001 * MICROS);
    }

    @Test
    void shouldAnswerWhatItRemovedWithTheLevelThatGoesAlong() {
        gate.add(new Holding(new Supply(10 * MICROS, 4 * MICROS, 3 * MICROS), Supply.NONE), START);
        Holding removed = gate.remove(new Holding(new Supply(5 * MICROS, 2 * MICROS, 0), FULL), START);
        assertThat(removed).isEqualTo(new Holding(new Supply(5 * MICROS, 2 * MICROS, 3 * MICROS / 2), Supply.NONE));
        assertThat(gate.held(START).leased()).isEqualTo(new Supply(5 * MICROS, 2 * MICROS, 3 * MICROS / 2));
        Holding rest = gate.remove(new Holding(new Supply(9 * MICROS, 9 * MICROS, 0), Supply.NONE), START);
        assertThat(rest.leased()).isEqualTo(new Supply(5 * MICROS, 2 * MICROS, 3 * MICROS / 2));
    }

    @Test
    void shouldGiveNothingAwayWhenTheStoreIsSilentSoThatACutOffBrokerAdmitsAllThatItKeeps() {
        Supply half = new Supply(100 * MICROS, 50 * MICROS, 0);
        gate.add(new Holding(half, half), START);
        long cutNs = START + LEASE / 2;
        assertThat(gate.release(new Holding(half, half), cutNs - 1)).isNotEqualTo(Holding.NONE);
        gate.add(new Holding(half, half), cutNs - 1);

        Bookkeeper keeper = new Bookkeeper(new Ledger(ME));
        Effect asked =
                keeper.debit(PEER, Map.of(TOPIC, new Holding(half, half))).get(0);
        Holding wanted = ((Effect.RemoveAtGate) asked).wanted().get(TOPIC);
        assertThat(keeper.removed(Map.of(TOPIC, gate.release(wanted, cutNs)))).isEmpty();
        assertThat(keeper.idle())
                .as("nothing was begun that the store would have to keep")
                .isTrue();
        int passed = 0;
        for (long ns = cutNs + LEASE; ns < cutNs + LEASE + 10 * SECOND; ns += SECOND / 1000) {
            long nowNs = ns;
            passed += gate.admit(1, () -> nowNs) == Verdict.KEPT ? 1 : 0;
        }
        assertThat(passed).as("of 50 + 100 a second in 10 s").isBetween(1_047, 1_050);
        lease.renewed(cutNs + LEASE + 10 * SECOND);
        assertThat(gate.release(wanted, cutNs + LEASE + 10 * SECOND).share()).isEqualTo(wanted.share());
    }

    @Test
    void shouldSayWhenToTryAgain() {
        gate.add(new Holding(new Supply(1001 * MICROS, 4 * MICROS, 0), Supply.NONE), START);
        assertThat(gate.retryAfterNs(1, START)).isEqualTo(SECOND / 1000);
        assertThat(gate.retryAfterNs(1, START + LEASE)).isEqualTo(Long.MAX_VALUE);
    }

    private static Loan asked(Lending lending, long nowNs) {
        Loan request = new Loan();
        assertThat(lending.ask(1, 0, nowNs, request)).isTrue();
        return request;
    }

    private static Loan lent(Loan request) {
        return new Loan().set(0, request.id(), MICROS, 0, 0);
    }

    @Test
    void shouldTakeAReplyOnlyForTheSameLifeAndVersionAndOnce() {
        gate.add(new Holding(new Supply(MICROS, 9 * MICROS, 0), Supply.NONE), START);
        Lending lending = new Lending(ME, gate, 1, SECOND, START);
        lending.version(3, START);
        Loan reply = lent(asked(lending, START));
        long me = ME.incarnation();
        assertThat(lending.onReply(0, me - 1, 3, reply, START)).isZero();
        assertThat(lending.onReply(0, me, 2, reply, START)).isZero();
        assertThat(lending.onReply(0, me, 3, reply, START)).isEqualTo(MICROS);
        assertThat(lending.onReply(0, me, 3, reply, START)).isZero();
    }

    @Test
    void shouldGiveUpWhatItAskedForWhenItsBurstFallsOrItsLimitOrThePeerChanges() {
        gate.add(new Holding(new Supply(MICROS, 9 * MICROS, 0), Supply.NONE), START);
        Lending lending = new Lending(ME, gate, 1, SECOND, START);
        long me = ME.incarnation();
        Loan reply = lent(asked(lending, START));
        gate.remove(new Holding(new Supply(0, MICROS, 0), Supply.NONE), START);
        assertThat(lending.onReply(0, me, 0, reply, START)).isZero();
        long nextNs = START + 2 * SECOND;
        Loan next = lent(asked(lending, nextNs));
        lending.version(1, nextNs);
        assertThat(lending.onReply(0, me, 1, next, nextNs)).isZero();
        Loan last = lent(asked(lending, nextNs));
        lending.peerChanged(0, nextNs);
        assertThat(lending.onReply(0, me, 1, last, nextNs)).isZero();
    }

    @Test
    void shouldLendOnlyUnderTheSameVersionAndTheLease() {
        gate.add(new Holding(new Supply(MICROS, 9 * MICROS, 9 * MICROS), Supply.NONE), START);
        Lending lending = new Lending(ME, gate, 1, SECOND, START);
        Loan request = new Loan().set(0, 1, MICROS, 0, 0);
        Loan reply = new Loan();
        assertThat(lending.onRequest(0, 0, request, 0, START + LEASE, reply)).isFalse();
        assertThat(lending.onRequest(0, 1, request, 0, START + LEASE - 1, reply))
                .isFalse();
        assertThat(lending.onRequest(0, 0, request, 0, START + LEASE - 1, reply))
                .isTrue();
        assertThat(reply.micros()).isEqualTo(MICROS);
    }

    @Test
    void shouldNotCountAMessageBeforeTheTokensThatItTookCame() {
        gate.add(new Holding(new Supply(MICROS, 9 * MICROS, MICROS), Supply.NONE), START);
        Lending lending = new Lending(ME, gate, 1, SECOND, START);
        assertThat(gate.admit(1, () -> START)).isEqualTo(Verdict.LEASED);
        Loan reply = lent(asked(lending, START));
        long laterNs = START + SECOND / 10;
        assertThat(lending.onReply(0, ME.incarnation(), 0, reply, laterNs)).isEqualTo(MICROS);
        assertThat(gate.admitNext(1, () -> laterNs)).isEqualTo(Verdict.LEASED);
        assertThat(gate.stampNs()).isEqualTo(laterNs);
    }
}

package io.weir.limiter.supply.protocol;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.Supply;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HoldingTest {
    private static final Bookkeeper KEEPER = new Bookkeeper(new Ledger(new Holder(new BrokerId("b1"), 1)));

    @Test
    void shouldNeverLeaveARateWithoutAMessageOfBurstWhenAnyPartMoves() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 20_000; i++) {
            Share all = new Share(random.nextLong(9 * MICROS), MICROS + random.nextLong(5 * MICROS));
            Holding mine = Holding.of(all, random.nextInt(11) * 100);
            assertThat(mine.lame()).isFalse();
            assertThat(mine.share()).isEqualTo(all);
            Share wanted = new Share(random.nextLong(9 * MICROS), random.nextLong(6 * MICROS));
            Holding moved = mine.cut(wanted);
            assertThat(moved.lame()).as("%s of %s", wanted, mine).isFalse();
            assertThat(mine.minus(moved).lame()).as("%s of %s", wanted, mine).isFalse();
        }
    }

    @Test
    void shouldNeverLeaveARateWithoutAMessageOfBurstOnEitherSideOfAnEdge() {
        SplittableRandom random = new SplittableRandom(3);
        for (int i = 0; i < 20_000; i++) {
            int floorPermille = random.nextInt(11) * 100;
            Holding mine = Holding.of(
                    new Share(random.nextLong(9 * MICROS), MICROS + random.nextLong(5 * MICROS)), floorPermille);
            Holding theirs = Holding.of(
                    new Share(random.nextLong(9 * MICROS), MICROS + random.nextLong(5 * MICROS)), floorPermille);
            Share wanted = new Share(random.nextLong(9 * MICROS), random.nextLong(6 * MICROS));
            Holding moved = mine.cutFor(theirs, wanted);
            assertThat(mine.minus(moved).lame())
                    .as("%s of %s for %s", wanted, mine, theirs)
                    .isFalse();
            assertThat(theirs.plus(moved).lame())
                    .as("%s of %s for %s", wanted, mine, theirs)
                    .isFalse();
        }
    }

    /** Six brokers with a burst of four messages each, all of the demand at the first: seen to keep half of the rate with the others. */
    @ParameterizedTest
    @ValueSource(ints = {0, 500, 1_000})
    void shouldBringTheRateToTheOneBusyBrokerThoughTheOthersHaveHardlyAnyBurst(int floorPermille) {
        int brokers = 6;
        Limit limit = Limit.of(527, 23);
        SupplyEdge edge = new SupplyEdge(limit, brokers, 2, 0.03);
        Holding[] ring = Share.even(limit, brokers).stream()
                .map(share -> Holding.of(share, floorPermille))
                .toArray(Holding[]::new);
        for (int round = 0; round < 500; round++) {
            for (int from = 0; from < brokers; from++) {
                for (int to : new int[] {(from + 1) % brokers, (from + brokers - 1) % brokers}) {
                    Holding moved = Exchange.handedOver(KEEPER, edge, ring[from], demand(from), ring[to], demand(to));
                    ring[from] = ring[from].minus(moved);
                    ring[to] = ring[to].plus(moved);
                }
                if (ring[from].wantsSplit(floorPermille)) {
                    ring[from] = Holding.of(ring[from].share(), floorPermille);
                }
            }
        }
        assertThat(ring[0].share().rateMicros()).isGreaterThan(limit.rateMicros() / 100 * 97);
        assertThat(ring[0].share().burstMicros()).isGreaterThan(limit.burstMicros() / 5 * 2);
        assertThat(ring).noneMatch(Holding::lame);
    }

    /** Seen in the simulation: a topic's one busy broker had nothing of it for good. */
    @Test
    void shouldGiveUpAnAccountWhenAnIdleBrokersSmallBurstLiesInTwo() {
        Limit limit = Limit.of(30, 9);
        SupplyEdge edge = new SupplyEdge(limit, 4, 2, 0.03);
        Supply account = new Supply(5 * MICROS, MICROS * 3 / 2, 0);
        Holding idle = new Holding(account, account);
        assertThat(Exchange.handedOver(KEEPER, edge, idle, demand(1), Holding.NONE, demand(0)))
                .isEqualTo(new Holding(account, Supply.NONE));
        assertThat(Exchange.handedOver(KEEPER, edge, idle, demand(0), Holding.NONE, demand(0)))
                .as("to one that needs it no more than this one")
                .isEqualTo(Holding.NONE);
    }

    private static Demand demand(int broker) {
        return broker == 0 ? new Demand(480 * MICROS, 30 * MICROS) : new Demand(0, 0);
    }

    @Test
    void shouldPutAllInOneAccountWhenAPartCouldNotAdmit() {
        Share small = new Share(MICROS, MICROS);
        assertThat(Holding.of(small, 500).kept()).isEqualTo(Supply.NONE);
        assertThat(Holding.of(small, 1000).leased()).isEqualTo(Supply.NONE);
    }

    @Test
    void shouldEndEveryDebtWhenTheOthersGiveWhatTheyAreAskedFor() {
        SplittableRandom random = new SplittableRandom(2);
        for (int i = 0; i < 500; i++) {
            Share limit = new Share(random.nextLong(20 * MICROS), random.nextLong(6 * MICROS));
            Share remaining = new Share(random.nextLong(20 * MICROS), random.nextLong(6 * MICROS));
            Share all = limit.plus(remaining);
            Holding first = Holding.of(new Share(all.rateMicros() / 3, all.burstMicros() / 3), 500);
            Holding[] others = {first, Holding.of(all.minus(first.share()), 0)};
            Debt debt = new Debt(2, remaining);
            for (int round = 0; round < 400 && !debt.remaining().isNone(); round++) {
                Holding given = debt.contribution(others[round % 2], limit, round / 10);
                others[round % 2] = others[round % 2].minus(given);
                debt = new Debt(
                        2, debt.remaining().minus(given.owed(debt.remaining()).share()));
            }
            assertThat(debt.remaining()).isEqualTo(Share.NONE);
        }
    }

    @Test
    void shouldSplitANewTopicEvenlyAndHandAHomelessShareToWhoeverCanUseIt() {
        assertThat(Exchange.toOthers(new Share(9 * MICROS, 3 * MICROS), 2))
                .containsExactly(new Share(3 * MICROS, MICROS), new Share(3 * MICROS, MICROS));
        assertThat(Exchange.toOthers(new Share(9 * MICROS, 0), 2)).isEmpty();
        Holding homeless = new Holding(new Supply(MICROS, MICROS / 2, 0), Supply.NONE);
        Holding rich = new Holding(new Supply(MICROS, 5 * MICROS, 0), Supply.NONE);
        assertThat(Exchange.handedOver(KEEPER, null, homeless, null, rich, null))
                .isEqualTo(homeless);
        assertThat(Exchange.handedOver(KEEPER, null, homeless, null, homeless, null))
                .isEqualTo(Holding.NONE);
    }
}

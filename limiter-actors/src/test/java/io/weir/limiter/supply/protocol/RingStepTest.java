package io.weir.limiter.supply.protocol;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.Supply;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RingStepTest {
    private static final Bookkeeper KEEPER = new Bookkeeper(new Ledger(new Holder(new BrokerId("b1"), 1)));

    /**
     * Six brokers with a burst of four messages each, all of the demand at the first: seen to keep half of the rate
     * with the others.
     */
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
                    Holding moved = handedOver(edge, ring[from], demand(from), ring[to], demand(to));
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
        assertThat(handedOver(edge, idle, demand(1), Holding.NONE, demand(0)))
                .isEqualTo(new Holding(account, Supply.NONE));
        assertThat(handedOver(edge, idle, demand(0), Holding.NONE, demand(0)))
                .as("to one that needs it no more than this one")
                .isEqualTo(Holding.NONE);
    }

    private static Holding handedOver(SupplyEdge edge, Holding mine, Demand myDemand, Holding theirs, Demand demand) {
        return RingStep.handedOver(KEEPER, edge, mine, myDemand, theirs, demand, SupplyEdge.Floors.NONE);
    }

    private static Demand demand(int broker) {
        return broker == 0 ? new Demand(480 * MICROS, 30 * MICROS) : new Demand(0, 0);
    }

    @Test
    void shouldSplitANewTopicEvenlyAndHandAHomelessShareToWhoeverCanUseIt() {
        assertThat(NewTopicSpread.toOthers(new Share(9 * MICROS, 3 * MICROS), 2))
                .containsExactly(new Share(3 * MICROS, MICROS), new Share(3 * MICROS, MICROS));
        assertThat(NewTopicSpread.toOthers(new Share(9 * MICROS, 0), 2)).isEmpty();
        Holding homeless = new Holding(new Supply(MICROS, MICROS / 2, 0), Supply.NONE);
        Holding rich = new Holding(new Supply(MICROS, 5 * MICROS, 0), Supply.NONE);
        assertThat(handedOver(null, homeless, null, rich, null)).isEqualTo(homeless);
        assertThat(handedOver(null, homeless, null, homeless, null)).isEqualTo(Holding.NONE);
    }
}

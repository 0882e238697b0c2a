package io.weir.limiter.simulation;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.TbAdaptor;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * SRTM's TB adaptor as a node of {@link LimiterWorld}. It calls in what a broker holds above its new share and, once
 * all of that has come, hands it to those below theirs, so that no supply is usable twice and a share is never rate
 * without burst.
 */
final class SimulatedAdaptor {
    private final TbAdaptor adaptor;
    private final Share[] held;
    private final Demand[] demands;
    private List<Share> target;
    private Share pool = Share.NONE;
    private long poolLevelMicros;
    private int awaited;

    SimulatedAdaptor(Limit limit, List<Share> shares) {
        adaptor = new TbAdaptor(limit);
        held = shares.toArray(Share[]::new);
        demands = new Demand[held.length];
    }

    void onTell(int from, Demand demand) {
        demands[from] = demand;
    }

    /** Starts a new round, unless the last one is still under way or a broker has not reported yet. */
    void onPeriod(BiConsumer<Integer, SimulatedBroker.Recall> send) {
        if (awaited > 0) {
            return;
        }
        for (Demand demand : demands) {
            if (demand == null) {
                return;
            }
        }
        if (adaptor.ratesFit(List.of(held), List.of(demands), 0)
                && adaptor.burstsFit(List.of(held), List.of(demands))) {
            return;
        }
        target = adaptor.shares(List.of(held), List.of(demands));
        for (int i = 0; i < held.length; i++) {
            Share surplus = held[i].above(target.get(i));
            if (!surplus.isNone()) {
                awaited++;
                send.accept(i, new SimulatedBroker.Recall(surplus));
            }
        }
    }

    void onTransfer(int from, SimulatedBroker.Transfer transfer, BiConsumer<Integer, SimulatedBroker.Transfer> send) {
        held[from] = held[from].minus(transfer.share());
        pool = pool.plus(transfer.share());
        poolLevelMicros += transfer.levelMicros();
        if (--awaited > 0) {
            return;
        }
        for (int i = 0; i < held.length; i++) {
            Share lack = target.get(i).above(held[i]);
            if (!lack.isNone()) {
                long level = lack.burstMicros() == pool.burstMicros()
                        ? poolLevelMicros
                        : (long) (poolLevelMicros * (lack.burstMicros() / (double) pool.burstMicros()));
                pool = pool.minus(lack);
                poolLevelMicros -= level;
                held[i] = held[i].plus(lack);
                send.accept(i, new SimulatedBroker.Transfer(lack, level));
            }
        }
    }

    Share pool() {
        return pool;
    }

    long poolLevelMicros() {
        return poolLevelMicros;
    }
}

package io.weir.limiter.simulation.supply;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.protocol.Bookkeeper;
import io.weir.limiter.supply.protocol.Effect;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.Transfer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The bookkeeper, without the rules that a scenario leaves out; the production one if it leaves out none. */
final class FlawedBookkeeper extends Bookkeeper {
    private final Scenario scenario;

    FlawedBookkeeper(Scenario scenario, Ledger ledger) {
        super(ledger);
        this.scenario = scenario;
    }

    @Override
    public List<Effect> recover(long life) {
        return scenario.has(Flaw.RECOVER_WITHOUT_BARRIER) && !closed()
                ? List.of(new Effect.ResetGate(new LinkedHashMap<>(ledger().shares())))
                : super.recover(life);
    }

    @Override
    protected boolean seen(Transfer.Id id) {
        return !scenario.has(Flaw.CREDIT_NOT_IDEMPOTENT) && super.seen(id);
    }

    @Override
    protected Holding part(Holding mine, Holding theirs, Share wanted, boolean theyNeedItMore) {
        return scenario.has(Flaw.RATE_STAYS_WITH_SMALL_BURST)
                ? mine.cut(wanted)
                : super.part(mine, theirs, wanted, theyNeedItMore);
    }

    @Override
    protected boolean startsFull(LimitRow row) {
        return scenario.has(Flaw.MINT_FULL) || super.startsFull(row);
    }

    @Override
    protected List<Transfer> legacyTransfers(Ledger victim) {
        return scenario.has(Flaw.ADOPTED_NOT_INHERITED)
                ? victim.openTransfers().stream()
                        .filter(transfer -> transfer.id().from().equals(victim.holder()))
                        .toList()
                : super.legacyTransfers(victim);
    }

    @Override
    protected Map<TopicName, Debt> legacyDebts(Ledger victim) {
        Map<TopicName, Debt> debts = new LinkedHashMap<>(super.legacyDebts(victim));
        if (scenario.has(Flaw.SETTLED_DEBT_FORGOTTEN)) {
            debts.values().removeIf(debt -> debt.remaining().isNone());
        }
        return debts;
    }
}

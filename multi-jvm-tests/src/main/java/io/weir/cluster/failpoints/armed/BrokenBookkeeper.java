package io.weir.cluster.failpoints.armed;

import io.weir.cluster.failpoints.BrokenRule;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.protocol.Bookkeeper;
import io.weir.limiter.supply.protocol.Effect;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.Transfer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The bookkeeper, without the rules that are broken; the production one if none is. */
final class BrokenBookkeeper extends Bookkeeper {
    private final Set<BrokenRule> broken;
    private boolean inheriting;
    private boolean creditingFirst;

    BrokenBookkeeper(Ledger ledger, Set<BrokenRule> broken) {
        super(ledger);
        this.broken = broken;
    }

    /** Nothing repeats a transfer but a lost acknowledgement, so the first one is lost: the flaw shows every time. */
    @Override
    public List<Effect> credit(Transfer transfer, Holder sender) {
        boolean first = !ledger().credited(transfer.id());
        List<Effect> effects = super.credit(transfer, sender);
        creditingFirst = broken.contains(BrokenRule.CREDIT_TWICE) && first && !idle();
        return effects;
    }

    @Override
    protected boolean seen(Transfer.Id id) {
        return !broken.contains(BrokenRule.CREDIT_TWICE) && super.seen(id);
    }

    @Override
    public List<Effect> inherit(Ledger victim, Account account) {
        List<Effect> effects = super.inherit(victim, account);
        inheriting = broken.contains(BrokenRule.HEIR_STARTS_FULL) && !idle();
        return effects;
    }

    @Override
    protected List<Transfer> legacyTransfers(Ledger victim) {
        return broken.contains(BrokenRule.ADOPTED_NOT_INHERITED)
                ? victim.openTransfers().stream()
                        .filter(transfer -> transfer.id().from().equals(victim.holder()))
                        .toList()
                : super.legacyTransfers(victim);
    }

    @Override
    protected boolean startsFull(LimitRow row) {
        return broken.contains(BrokenRule.MINT_FULL) || super.startsFull(row);
    }

    @Override
    public List<Effect> committed() {
        List<Effect> effects = super.committed();
        if (creditingFirst) {
            effects = effects.stream()
                    .filter(effect -> !(effect instanceof Effect.Acknowledge))
                    .toList();
        }
        if (inheriting) {
            effects = effects.stream().map(BrokenBookkeeper::full).toList();
        }
        creditingFirst = false;
        inheriting = false;
        return effects;
    }

    private static Effect full(Effect effect) {
        if (effect instanceof Effect.AddAtGate add) {
            Map<TopicName, Holding> full = new LinkedHashMap<>();
            add.more().forEach((topic, holding) -> full.put(topic, holding.full()));
            return new Effect.AddAtGate(full);
        }
        return effect;
    }
}

package io.weir.cluster.history;

import io.weir.cluster.history.StoredSupply.Entry;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Who had how much of each topic's rate, when, as the journals say. The leased part of a broker that was fenced is
 * nobody's until its heir has it, and so is what is on its way: there the sum falls below the limit for a while.
 */
public final class HeldShares {
    /** What a broker, all its lives together, has from a moment on. */
    public record Change(long atNs, TopicName topic, String broker, double perSecond) {}

    private static final double MICROS = 1e6;

    private final Map<Holder, Ledger> ledgers = new HashMap<>();
    private final Map<Holder, Set<Account>> gone = new HashMap<>();
    private final Set<Holder> unreadable = new HashSet<>();
    private final List<Change> changes = new ArrayList<>();

    private HeldShares() {}

    /** In the order of the store's commits; empty where a history has no journals. */
    public static List<Change> of(History history) {
        HeldShares shares = new HeldShares();
        history.stored().entries().forEach(shares::apply);
        return shares.changes;
    }

    private void apply(Entry entry) {
        Holder holder = entry.holder();
        Ledger ledger = ledgers.computeIfAbsent(holder, Ledger::new);
        Set<TopicName> topics = new HashSet<>(entry.event().topics());
        if (unreadable.contains(holder)) {
            return;
        }
        try {
            ledger.apply(entry.event());
        } catch (IllegalArgumentException | IllegalStateException e) {
            // The audit says what is wrong with it; here it is only not drawn any further.
            unreadable.add(holder);
            return;
        }
        if (entry.event() instanceof SupplyEvent.Fenced) {
            lose(entry.atNs(), holder, Account.LEASED);
        } else if (entry.event() instanceof SupplyEvent.Inherited e) {
            lose(entry.atNs(), e.victim(), e.account());
        } else if (entry.event() instanceof SupplyEvent.Refunded) {
            topics.addAll(ledger.shares().keySet());
        }
        topics.forEach(topic -> changed(entry.atNs(), topic, holder.broker().value()));
    }

    private void lose(long atNs, Holder holder, Account account) {
        gone.computeIfAbsent(holder, key -> EnumSet.noneOf(Account.class)).add(account);
        if (ledgers.containsKey(holder)) {
            ledgers.get(holder)
                    .shares()
                    .keySet()
                    .forEach(topic -> changed(atNs, topic, holder.broker().value()));
        }
    }

    private void changed(long atNs, TopicName topic, String broker) {
        long micros = 0;
        for (Map.Entry<Holder, Ledger> each : ledgers.entrySet()) {
            if (each.getKey().broker().value().equals(broker)) {
                for (Account account : Account.values()) {
                    boolean lost = gone.getOrDefault(each.getKey(), Set.of()).contains(account);
                    micros +=
                            lost ? 0 : each.getValue().share(topic).in(account).rateMicros();
                }
            }
        }
        changes.add(new Change(atNs, topic, broker, micros / MICROS));
    }
}

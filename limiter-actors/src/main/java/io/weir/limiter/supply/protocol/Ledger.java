package io.weir.limiter.supply.protocol;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.SupplyEvent.Burned;
import io.weir.limiter.supply.value.SupplyEvent.Credited;
import io.weir.limiter.supply.value.SupplyEvent.Debited;
import io.weir.limiter.supply.value.SupplyEvent.Delivered;
import io.weir.limiter.supply.value.SupplyEvent.Fenced;
import io.weir.limiter.supply.value.SupplyEvent.Inherited;
import io.weir.limiter.supply.value.SupplyEvent.Minted;
import io.weir.limiter.supply.value.SupplyEvent.Recovered;
import io.weir.limiter.supply.value.SupplyEvent.Refloored;
import io.weir.limiter.supply.value.SupplyEvent.Refunded;
import io.weir.limiter.supply.value.Transfer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What one holder's journal says. {@link #apply} is the only mutation, so a replay of the journal, or of a snapshot and
 * the events after it, gives what the holder had.
 *
 * <table>
 * <caption>what an event does</caption>
 * <tr><th>event</th><th>shares</th><th>open transfers</th><th>besides</th></tr>
 * <tr><td>Minted</td><td>+ minted</td><td></td><td>version is minted here; debt, also of zero</td></tr>
 * <tr><td>Debited</td><td>− transfer</td><td>+, replaces the pair's last</td><td>last sequence sent</td></tr>
 * <tr><td>Credited</td><td>+ transfer</td><td>− if adopted here</td><td>last sequence credited</td></tr>
 * <tr><td>Refunded</td><td>+ transfer</td><td>−</td><td></td></tr>
 * <tr><td>Delivered</td><td></td><td>−</td><td></td></tr>
 * <tr><td>Inherited</td><td>+ victim's account</td><td>+ victim's, as adopted</td><td>victim's debts; victim and account</td></tr>
 * <tr><td>Burned</td><td>− burned</td><td></td><td>debt falls</td></tr>
 * <tr><td>Refloored</td><td>between the accounts</td><td></td><td></td></tr>
 * <tr><td>Recovered</td><td></td><td></td><td></td></tr>
 * <tr><td>Fenced</td><td></td><td></td><td>closed; nothing may follow</td></tr>
 * </table>
 *
 * <p>The snapshot holds more than the first design listed (shares, debts, open transfers, last sequences). Without the
 * minted versions, a closed minter would look as if it had not minted, and the version would be minted twice. Without
 * the inherited victims, a closed heir would look as if it had not inherited, and the victim would be inherited from
 * twice.
 */
public final class Ledger {
    /** An account of a victim that was inherited. */
    public record Legacy(Holder victim, Account account) {}

    /** Everything that a journal says up to {@code sequence}. */
    public record Snapshot(
            Holder holder,
            long sequence,
            Map<TopicName, Holding> shares,
            Map<TopicName, Debt> debts,
            Map<TopicName, Long> minted,
            Map<Holder, Transfer> open,
            Map<Transfer.Id, Transfer> adopted,
            Map<Holder, Long> lastSent,
            Map<Holder, Long> lastCredited,
            Set<Legacy> inherited,
            Optional<Holder> fencedBy) {}

    private final Holder holder;
    private final Map<TopicName, Holding> shares;
    private final Map<TopicName, Debt> debts;
    private final Map<TopicName, Long> minted;
    private final Map<Holder, Transfer> open;
    private final Map<Transfer.Id, Transfer> adopted;
    private final Map<Holder, Long> lastSent;
    private final Map<Holder, Long> lastCredited;
    private final Set<Legacy> inherited;
    private long sequence;
    private Optional<Holder> fencedBy;

    public Ledger(Holder holder) {
        this(new Snapshot(
                holder,
                0,
                Map.of(),
                Map.of(),
                Map.of(),
                Map.of(),
                Map.of(),
                Map.of(),
                Map.of(),
                Set.of(),
                Optional.empty()));
    }

    public Ledger(Snapshot snapshot) {
        holder = snapshot.holder;
        sequence = snapshot.sequence;
        shares = new LinkedHashMap<>(snapshot.shares);
        debts = new LinkedHashMap<>(snapshot.debts);
        minted = new LinkedHashMap<>(snapshot.minted);
        open = new LinkedHashMap<>(snapshot.open);
        adopted = new LinkedHashMap<>(snapshot.adopted);
        lastSent = new LinkedHashMap<>(snapshot.lastSent);
        lastCredited = new LinkedHashMap<>(snapshot.lastCredited);
        inherited = new LinkedHashSet<>(snapshot.inherited);
        fencedBy = snapshot.fencedBy;
    }

    public Snapshot snapshot() {
        return new Snapshot(
                holder,
                sequence,
                new LinkedHashMap<>(shares),
                new LinkedHashMap<>(debts),
                new LinkedHashMap<>(minted),
                new LinkedHashMap<>(open),
                new LinkedHashMap<>(adopted),
                new LinkedHashMap<>(lastSent),
                new LinkedHashMap<>(lastCredited),
                new LinkedHashSet<>(inherited),
                fencedBy);
    }

    public void apply(SupplyEvent event) {
        if (closed()) {
            throw new IllegalStateException(event + " follows Fenced in the journal of " + holder);
        }
        sequence++;
        if (event instanceof Minted e) {
            add(e.topic(), e.minted());
            minted.put(e.topic(), e.version());
            debts.put(e.topic(), new Debt(e.version(), e.debt()));
        } else if (event instanceof Debited e) {
            e.transfer().holdings().forEach(this::subtract);
            open.put(e.transfer().id().to(), e.transfer());
            lastSent.put(e.transfer().id().to(), e.transfer().id().sequence());
        } else if (event instanceof Credited e) {
            e.transfer().holdings().forEach(this::add);
            adopted.remove(e.transfer().id());
            lastCredited.merge(e.transfer().id().from(), e.transfer().id().sequence(), Math::max);
        } else if (event instanceof Refunded e) {
            remove(e.transfer()).holdings().forEach(this::add);
        } else if (event instanceof Delivered e) {
            remove(e.transfer());
        } else if (event instanceof Inherited e) {
            e.shares().forEach((topic, supply) -> add(topic, Holding.of(e.account(), supply)));
            e.openTransfers().forEach(transfer -> adopted.put(transfer.id(), transfer));
            e.debts().forEach((topic, debt) -> debts.merge(topic, debt, Ledger::later));
            inherited.add(new Legacy(e.victim(), e.account()));
        } else if (event instanceof Burned e) {
            subtract(e.topic(), e.burned());
            Share left = debts.get(e.topic()).remaining().minus(e.burned().share());
            debts.put(e.topic(), new Debt(e.version(), left));
        } else if (event instanceof Refloored e) {
            if (!share(e.topic()).share().equals(e.split().share())) {
                throw new IllegalStateException(share(e.topic()) + " cannot be split into " + e.split());
            }
            shares.put(e.topic(), e.split().empty());
        } else if (event instanceof Fenced e) {
            fencedBy = Optional.of(e.by());
        } else if (!(event instanceof Recovered)) {
            throw new IllegalArgumentException("unknown event " + event);
        }
    }

    public Holder holder() {
        return holder;
    }

    /** The last event's sequence number. */
    public long sequence() {
        return sequence;
    }

    /** Whether the journal ends with {@code Fenced}. Nothing may follow, so even a stale read of it is complete. */
    public boolean closed() {
        return fencedBy.isPresent();
    }

    public Optional<Holder> fencedBy() {
        return fencedBy;
    }

    public Map<TopicName, Holding> shares() {
        return shares;
    }

    public Holding share(TopicName topic) {
        return shares.getOrDefault(topic, Holding.NONE);
    }

    public Map<TopicName, Debt> debts() {
        return debts;
    }

    boolean minted(TopicName topic, long version) {
        return minted.getOrDefault(topic, 0L) >= version;
    }

    boolean inherited(Holder victim, Account account) {
        return inherited.contains(new Legacy(victim, account));
    }

    public boolean credited(Transfer.Id id) {
        return id.sequence() <= lastCredited.getOrDefault(id.from(), 0L);
    }

    public Transfer.Id nextTransfer(Holder to) {
        return new Transfer.Id(holder, to, lastSent.getOrDefault(to, 0L) + 1);
    }

    /** Transfers that are not known to have ended: the last one to each destination, and the adopted ones. */
    public List<Transfer> openTransfers() {
        List<Transfer> all = new ArrayList<>(open.values());
        all.addAll(adopted.values());
        return all;
    }

    boolean isOpen(Transfer.Id id) {
        return find(id) != null;
    }

    Transfer find(Transfer.Id id) {
        Transfer own = open.get(id.to());
        return own != null && own.id().equals(id) ? own : adopted.get(id);
    }

    private Transfer remove(Transfer.Id id) {
        Transfer transfer = find(id);
        if (transfer == null) {
            throw new IllegalStateException("transfer " + id + " is not open in the journal of " + holder);
        }
        if (!open.remove(id.to(), transfer)) {
            adopted.remove(id);
        }
        return transfer;
    }

    private void add(TopicName topic, Holding more) {
        shares.merge(topic, more.empty(), Holding::plus);
    }

    private void subtract(TopicName topic, Holding less) {
        Holding left = share(topic).minus(less);
        if (left.isNone()) {
            shares.remove(topic);
        } else {
            shares.put(topic, left);
        }
    }

    /**
     * Forgets that versions of these topics were minted here, and debts that are paid, once the store says that the
     * versions are done: until then, they say that a version must not be minted again, and that it is to be marked
     * done. No event says so. A replay that remembers it again does no harm, and the next snapshot is without it.
     */
    void forgetSettled(Collection<TopicName> topics, KnownLimits limits) {
        for (TopicName topic : topics) {
            Long version = minted.get(topic);
            if (version != null && limits.settled(topic, version)) {
                minted.remove(topic);
            }
            Debt debt = debts.get(topic);
            if (debt != null && debt.remaining().isNone() && limits.settled(topic, debt.version())) {
                debts.remove(topic);
            }
        }
    }

    /** All topics of which it knows anything. */
    Set<TopicName> topics() {
        Set<TopicName> topics = new LinkedHashSet<>(shares.keySet());
        topics.addAll(minted.keySet());
        topics.addAll(debts.keySet());
        return topics;
    }

    /** Version v + 1 begins after v is done, so of two debts the older one is zero. */
    private static Debt later(Debt one, Debt other) {
        Debt older = one.version() < other.version() ? one : other;
        if (!older.remaining().isNone()) {
            throw new IllegalStateException("two debts of one topic: " + one + " and " + other);
        }
        return older == one ? other : one;
    }
}

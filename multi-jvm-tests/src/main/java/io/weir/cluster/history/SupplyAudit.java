package io.weir.cluster.history;

import io.weir.cluster.history.StoredSupply.Entry;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.Supply;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.SupplyEvent.Burned;
import io.weir.limiter.supply.value.SupplyEvent.Credited;
import io.weir.limiter.supply.value.SupplyEvent.Debited;
import io.weir.limiter.supply.value.SupplyEvent.Delivered;
import io.weir.limiter.supply.value.SupplyEvent.Inherited;
import io.weir.limiter.supply.value.SupplyEvent.Minted;
import io.weir.limiter.supply.value.SupplyEvent.Refunded;
import io.weir.limiter.supply.value.Transfer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Replays all journals of a store in the order of its commits and checks after every event what must hold at every
 * moment: that nothing is lost or made (C2), that everything happens once (C3) and in order (C7). Where the oldest
 * events of a journal are not known it begins with a snapshot, and C2 is checked at the end only. What a history has no
 * rows of is not held against it.
 *
 * <p>So a run's history is held against the specification (limiter-actors, {@code src/main/tla}): an event must be one
 * that an action of it could have written in the state that all journals have by then.
 *
 * <table>
 * <caption>what of the specification is checked here</caption>
 * <tr><th>action</th><th>its conditions</th></tr>
 * <tr><td>Supply.WriteDebited</td><td>in the own name, the pair's next number, the pair's last one is credited, enough is there</td></tr>
 * <tr><td>Supply.Credit</td><td>debited before, to this incarnation, with the same content, neither credited nor refunded before</td></tr>
 * <tr><td>Supply.Settle, Deliver</td><td>open here; a refund: destination closed, lacks it; a delivery: destination has it</td></tr>
 * <tr><td>Supply.Close, Claim, Inherit, MarkDone</td><td>closed before, by nobody while the row is LIVE; once; by the heir in the row; all
 * of the account, of the open transfers and of the debts, at level 0; the row allows it; done if it is</td></tr>
 * <tr><td>Limits.ClaimMint, Mint</td><td>claimed, once, in the order of versions, nothing left to burn of an older one, exactly what the
 * rows differ by, full only as a name's first version</td></tr>
 * <tr><td>Limits.Burn, Finish</td><td>a debt of this version, not more than is owed and there; done means exact</td></tr>
 * <tr><td>Supply.Refloor</td><td>the same share, split otherwise</td></tr>
 * <tr><td>Supply.Conserved, OnceOnly; Recovery.FencedIsLast</td><td>after every event</td></tr>
 * </table>
 *
 * <p>Not checked here, because a journal does not show it: what the gates held between two events (UsedOnce,
 * GateWithinBook and GateIsBook; {@link HistoryCheck}'s C1, C4 and C5 see it by what was admitted), renewals and fences
 * of rows over time (Lease.tla: rows are known as they are in the end), which life of a ledger wrote an event and what
 * it knew then (Recovery.tla's Unknown and Recover: {@code Recovered} may stand anywhere), borrowed tokens
 * (Borrow.tla), removed journals and forgotten names (Supply.Remove, Deletion.tla).
 */
public final class SupplyAudit {
    private record Version(TopicName topic, long version) {}

    private final StoredSupply stored;
    private final Map<Holder, Ledger> ledgers = new LinkedHashMap<>();
    private final Map<Ledger.Legacy, Holder> heirs = new HashMap<>();
    private final Map<Version, Holder> minters = new HashMap<>();
    private final List<Minted> mints = new ArrayList<>();
    private final Map<Transfer.Id, Transfer> debited = new HashMap<>();
    private final Set<Transfer.Id> refunded = new HashSet<>();
    private final Map<TopicName, Share> existing = new HashMap<>();
    /** Those whose first events are not known. */
    private final Set<Holder> cutShort = new HashSet<>();

    private final Set<Holder> unreadable = new HashSet<>();
    private final Set<TopicName> outOfBalance = new HashSet<>();
    private final List<Violation> violations = new ArrayList<>();
    private boolean fromTheBeginning = true;

    private SupplyAudit(StoredSupply stored) {
        this.stored = stored;
    }

    /** What must never be: C2, C3 and C7. Holds at any moment, also under load. */
    public static List<Violation> of(StoredSupply stored) {
        SupplyAudit audit = new SupplyAudit(stored);
        audit.replay();
        audit.rows();
        audit.limits();
        return audit.violations;
    }

    /** C6, what must not stay once all faults are over. While supply moves some of it is true for a moment. */
    public static List<Violation> unsettled(StoredSupply stored) {
        SupplyAudit audit = new SupplyAudit(stored);
        audit.replay();
        audit.violations.clear();
        audit.nothingLeftBehind();
        return audit.violations;
    }

    private void violated(String invariant, String text) {
        violations.add(new Violation(invariant, text));
    }

    private void replay() {
        stored.lowestSequences().forEach((holder, lowest) -> {
            if (lowest > 1) {
                cutShort.add(holder);
                beginWithSnapshot(holder);
            }
        });
        for (Entry entry : stored.entries()) {
            Ledger ledger = ledgers.computeIfAbsent(entry.holder(), Ledger::new);
            boolean covered = entry.sequence() <= ledger.sequence();
            if (!unreadable.contains(entry.holder()) && !(covered && cutShort.contains(entry.holder()))) {
                apply(entry, ledger);
            }
        }
    }

    private void beginWithSnapshot(Holder holder) {
        NavigableMap<Long, Ledger.Snapshot> known = stored.snapshots().getOrDefault(holder, new TreeMap<>());
        if (known.isEmpty()) {
            violated("C7", "the journal of " + holder + " lacks its first events, and there is no snapshot of them");
            unreadable.add(holder);
            return;
        }
        fromTheBeginning = false;
        Ledger.Snapshot last = known.lastEntry().getValue();
        ledgers.put(holder, new Ledger(last));
        last.inherited().forEach(legacy -> inherited(legacy, holder));
        last.minted().forEach((topic, version) -> minted(new Version(topic, version), holder));
    }

    private void apply(Entry entry, Ledger ledger) {
        Holder holder = entry.holder();
        SupplyEvent event = entry.event();
        if (ledger.closed()) {
            violated("C7", event + " follows Fenced in the journal of " + holder);
            return;
        }
        if (entry.sequence() != ledger.sequence() + 1) {
            violated(
                    "C7",
                    "the journal of " + holder + " goes from event " + ledger.sequence() + " to " + entry.sequence());
            unreadable.add(holder);
            return;
        }
        check(holder, ledger, event);
        if (unreadable.contains(holder)) {
            return;
        }
        try {
            ledger.apply(event);
        } catch (IllegalArgumentException | IllegalStateException e) {
            violated("C5", "the journal of " + holder + " says what can't be: " + e.getMessage());
            unreadable.add(holder);
            return;
        }
        compareWithSnapshot(ledger);
        if (fromTheBeginning) {
            topicsOf(event, ledger).forEach(this::conserved);
        }
    }

    private void check(Holder holder, Ledger ledger, SupplyEvent event) {
        if (event instanceof Minted e) {
            minted(new Version(e.topic(), e.version()), holder);
            mints.add(e);
            if (fromTheBeginning) {
                mintedInTurn(holder, e);
            }
            existing.merge(e.topic(), e.minted().share(), Share::plus);
        } else if (event instanceof Burned e) {
            Debt debt = ledger.debts().get(e.topic());
            if (debt == null || debt.version() != e.version()) {
                violated(
                        "C7", holder + " burns for version " + e.version() + " of " + e.topic() + ", and owes " + debt);
                unreadable.add(holder);
                return;
            }
            Share burned = e.burned().share();
            Share before = existing.getOrDefault(e.topic(), Share.NONE);
            existing.put(e.topic(), before.above(burned));
            if (!burned.above(before).isNone() && fromTheBeginning) {
                violated("C2", holder + " burns " + burned + " of " + e.topic() + ", of which there is " + before);
            }
        } else if (event instanceof Debited e) {
            debitedInTurn(holder, ledger, e.transfer().id());
            debited.put(e.transfer().id(), e.transfer());
        } else if (event instanceof Delivered e) {
            Ledger destination = ledgers.get(e.transfer().to());
            if (destination == null || !destination.credited(e.transfer())) {
                violated("C7", e.transfer() + " is called delivered by " + holder + ", and nobody has credited it");
            }
        } else if (event instanceof Credited e) {
            credited(holder, ledger, e.transfer());
        } else if (event instanceof Refunded e) {
            Ledger destination = ledgers.get(e.transfer().to());
            if (!refunded.add(e.transfer())) {
                violated("C3", e.transfer() + " is refunded again, by " + holder);
            }
            if (destination == null || !destination.closed()) {
                violated("C7", e.transfer() + " is refunded while the journal of its destination is open");
            } else if (destination.credited(e.transfer())) {
                violated("C3", e.transfer() + " is refunded though it was credited");
            }
        } else if (event instanceof Inherited e) {
            Ledger victim = ledgers.get(e.victim());
            if (victim == null || !victim.closed()) {
                violated("C7", holder + " inherits from " + e.victim() + ", whose journal is open");
            }
            inherited(new Ledger.Legacy(e.victim(), e.account()), holder);
            if (victim != null && victim.closed()) {
                inheritedWhole(holder, victim, e);
            }
        }
    }

    private void debitedInTurn(Holder holder, Ledger ledger, Transfer.Id id) {
        if (!id.from().equals(holder)) {
            violated("C7", id + " is debited by " + holder);
        } else if (!ledger.nextTransfer(id.to()).equals(id)) {
            violated("C7", id + " is debited where " + ledger.nextTransfer(id.to()) + " is next");
        }
        Ledger destination = ledgers.get(id.to());
        for (Transfer transfer : ledger.openTransfers()) {
            Transfer.Id open = transfer.id();
            if (open.from().equals(holder)
                    && open.to().equals(id.to())
                    && (destination == null || !destination.credited(open))) {
                violated("C7", id + " is debited while " + open + " is on its way");
            }
        }
    }

    /** An heir takes all of an account or nothing; what belongs to no account comes with the leased one. */
    private void inheritedWhole(Holder holder, Ledger victim, Inherited event) {
        boolean leased = event.account() == Account.LEASED;
        Map<TopicName, Supply> left = new HashMap<>();
        victim.shares().forEach((topic, holding) -> {
            if (!holding.in(event.account()).isNone()) {
                left.put(topic, holding.in(event.account()));
            }
        });
        if (!event.shares().equals(left)) {
            violated("C2", holder + " inherits " + event.shares() + " where " + victim.holder() + " left " + left);
        }
        Set<Transfer> open = leased ? Set.copyOf(victim.openTransfers()) : Set.of();
        if (!Set.copyOf(event.openTransfers()).equals(open)) {
            violated("C2", holder + " adopts " + event.openTransfers() + " where " + victim.holder() + " left " + open);
        }
        Map<TopicName, Debt> debts = leased ? victim.debts() : Map.of();
        if (!event.debts().equals(debts)) {
            violated("C2", holder + " takes on " + event.debts() + " where " + victim.holder() + " owed " + debts);
        }
    }

    /**
     * Versions come one after the other, each after the one before has nothing left to burn. Not for ledgers that begin
     * with a snapshot: that is of a later time than what the others say.
     */
    private void mintedInTurn(Holder holder, Minted event) {
        for (Version other : minters.keySet()) {
            if (other.topic.equals(event.topic()) && other.version > event.version()) {
                violated(
                        "C7",
                        holder + " mints version " + event.version() + " of " + event.topic() + " after " + other);
            }
        }
        for (Ledger ledger : ledgers.values()) {
            Debt debt = ledger.debts().get(event.topic());
            boolean passed = heirs.containsKey(new Ledger.Legacy(ledger.holder(), Account.LEASED));
            if (debt != null && !passed && !debt.remaining().isNone()) {
                violated("C7", holder + " mints " + event + " while " + ledger.holder() + " owes " + debt);
            }
        }
    }

    private void credited(Holder holder, Ledger ledger, Transfer transfer) {
        Transfer.Id id = transfer.id();
        Transfer sent = debited.get(id);
        if (!id.to().equals(holder)) {
            violated("C3", id + " is credited by " + holder);
        }
        if (ledger.credited(id)) {
            violated("C3", id + " is credited again");
        }
        if (refunded.contains(id)) {
            violated("C3", id + " is credited though it was refunded");
        }
        if (sent == null && !cutShort.contains(id.from())) {
            violated("C7", id + " is credited before it was debited");
        } else if (sent != null && !sent.holdings().equals(transfer.holdings())) {
            violated("C2", id + " debited " + sent.holdings() + " and credited " + transfer.holdings());
        }
    }

    private void minted(Version version, Holder holder) {
        Holder before = minters.put(version, holder);
        if (before != null) {
            violated(
                    "C3",
                    "version " + version.version + " of " + version.topic + " is minted by " + before + " and by "
                            + holder);
        }
    }

    private void inherited(Ledger.Legacy legacy, Holder holder) {
        Holder before = heirs.put(legacy, holder);
        if (before != null) {
            violated("C3", legacy + " is inherited by " + before + " and by " + holder);
        }
    }

    /** A snapshot replaces the events before it, so it must say what they said. */
    private void compareWithSnapshot(Ledger ledger) {
        Ledger.Snapshot snapshot = stored.snapshots()
                .getOrDefault(ledger.holder(), new TreeMap<>())
                .get(ledger.sequence());
        if (snapshot != null && !snapshot.equals(ledger.snapshot())) {
            violated("C2", "the snapshot " + snapshot + " is not what its events say: " + ledger.snapshot());
        }
    }

    private static Set<TopicName> topicsOf(SupplyEvent event, Ledger ledger) {
        if (event instanceof Minted e) {
            return Set.of(e.topic());
        } else if (event instanceof Burned e) {
            return Set.of(e.topic());
        } else if (event instanceof Debited e) {
            return e.transfer().holdings().keySet();
        } else if (event instanceof Credited e) {
            return e.transfer().holdings().keySet();
        }
        return ledger.shares().keySet();
    }

    /** C2: what was minted and not burned is held by somebody, or on its way. */
    private void conserved(TopicName topic) {
        Share found = everywhere(topic);
        Share expected = existing.getOrDefault(topic, Share.NONE);
        // Once it is wrong every further event would say so again.
        if (!found.equals(expected) && outOfBalance.add(topic)) {
            violated(
                    "C2",
                    "of " + topic + " there is " + expected + ", held and on its way is " + found + "; on its way: "
                            + underWay());
        }
    }

    private Share everywhere(TopicName topic) {
        Share all = Share.NONE;
        for (Ledger ledger : ledgers.values()) {
            for (Account account : Account.values()) {
                if (!heirs.containsKey(new Ledger.Legacy(ledger.holder(), account))) {
                    all = all.plus(ledger.share(topic).in(account).share());
                }
            }
        }
        for (Transfer transfer : underWay()) {
            all = all.plus(transfer.holdings().getOrDefault(topic, Holding.NONE).share());
        }
        return all;
    }

    /** Open transfers that their destination has not credited. An heir of the leased account has its victim's. */
    private List<Transfer> underWay() {
        List<Transfer> open = new ArrayList<>();
        Set<Transfer.Id> seen = new HashSet<>();
        for (Ledger ledger : ledgers.values()) {
            if (heirs.containsKey(new Ledger.Legacy(ledger.holder(), Account.LEASED))) {
                continue;
            }
            for (Transfer transfer : ledger.openTransfers()) {
                Ledger destination = ledgers.get(transfer.id().to());
                if ((destination == null || !destination.credited(transfer.id())) && seen.add(transfer.id())) {
                    open.add(transfer);
                }
            }
        }
        return open;
    }

    private void rows() {
        if (stored.leases().isEmpty()) {
            return;
        }
        Map<Holder, LeaseRow> rows = new HashMap<>();
        stored.leases().forEach(row -> rows.put(row.holder(), row));
        heirs.forEach((legacy, heir) -> {
            LeaseRow row = rows.get(legacy.victim());
            if (row == null || !row.inheritable(legacy.account())) {
                violated("C7", heir + " has inherited " + legacy + ", whose row does not allow it: " + row);
            } else if (!row.of(legacy.account()).heir().equals(Optional.of(heir))) {
                violated("C3", heir + " has inherited " + legacy + ", whose row names another heir: " + row);
            }
        });
        for (LeaseRow row : rows.values()) {
            Ledger ledger = ledgers.get(row.holder());
            if (row.state() == LeaseRow.State.LIVE && ledger != null && ledger.closed()) {
                violated("C7", "the journal of " + row.holder() + " was closed, and its row is live");
            }
            for (Account account : Account.values()) {
                if (row.of(account).done() && !heirs.containsKey(new Ledger.Legacy(row.holder(), account))) {
                    violated("C7", account + " is marked done, and no journal shows who inherited it: " + row);
                }
            }
        }
    }

    /** C2 against the limits: of a version that is done there is exactly as much; else at most the larger of two. */
    private void limits() {
        if (stored.limits().isEmpty()) {
            return;
        }
        Map<TopicName, LimitRow> last = new LinkedHashMap<>();
        Map<TopicName, LimitRow> before = new HashMap<>();
        for (LimitRow row : stored.limits()) {
            LimitRow older = last.put(row.topic(), row);
            if (older != null) {
                before.put(row.topic(), older);
                if (!older.done()) {
                    violated("C3", row + " was inserted before version " + older.version() + " was done");
                }
            }
        }
        for (LimitRow row : last.values()) {
            Share found = everywhere(row.topic());
            if (row.done()) {
                if (!found.equals(row.limit())) {
                    violated("C2", row + " is done, held and on its way is " + found);
                }
            } else {
                Share older = before.containsKey(row.topic())
                        ? before.get(row.topic()).limit()
                        : Share.NONE;
                Share most = older.plus(row.limit().above(older));
                if (!found.above(most).isNone()) {
                    violated("C2", row + " comes after " + older + ", held and on its way is " + found);
                }
            }
        }
        mints.forEach(this::mintedByTheRows);
        minters.forEach((version, holder) -> {
            boolean claimed = stored.limits().stream()
                    .anyMatch(row -> row.topic().equals(version.topic)
                            && row.version() == version.version
                            && row.minter().filter(holder::equals).isPresent());
            if (!claimed) {
                violated("C3", holder + " has minted " + version + ", which it had not claimed");
            }
        });
    }

    /**
     * A mint and its debt are what two rows differ by; only the first version of a name that the store does not know
     * starts full.
     */
    private void mintedByTheRows(Minted event) {
        long level =
                event.minted().leased().levelMicros() + event.minted().kept().levelMicros();
        boolean later = stored.limits().stream()
                .anyMatch(row -> row.topic().equals(event.topic()) && row.version() == event.version() && !row.first());
        if (later && level > 0) {
            violated("C1", event + " begins with a level, and is not the first version of its name");
        }
        Map<Long, Share> rows = new HashMap<>(Map.of(0L, Share.NONE));
        stored.limits().stream()
                .filter(row -> row.topic().equals(event.topic()))
                .forEach(row -> rows.put(row.version(), row.limit()));
        Share before = rows.get(event.version() - 1);
        Share after = rows.get(event.version());
        if (before != null
                && after != null
                && !(event.minted().share().equals(after.above(before))
                        && event.debt().equals(before.above(after)))) {
            violated("C2", event + " goes from " + before + " to " + after);
        }
    }

    private void nothingLeftBehind() {
        Set<Holder> live = new LinkedHashSet<>();
        Map<TopicName, Share> reachable = new HashMap<>();
        for (LeaseRow row : stored.leases()) {
            Ledger ledger = ledgers.getOrDefault(row.holder(), new Ledger(row.holder()));
            if (row.unfinished()) {
                violated("C6", "nobody has finished " + row);
            }
            if (row.state() == LeaseRow.State.LIVE) {
                if (live.stream()
                        .anyMatch(other -> other.broker().equals(row.holder().broker()))) {
                    violated("C6", "two lives of " + row.holder().broker() + " are not fenced");
                }
                live.add(row.holder());
            }
            for (Account account : Account.values()) {
                boolean stranded = row.state() == LeaseRow.State.FENCED && account == Account.KEPT;
                if (row.state() == LeaseRow.State.LIVE || stranded) {
                    ledger.shares()
                            .forEach((topic, holding) ->
                                    reachable.merge(topic, holding.in(account).share(), Share::plus));
                }
            }
        }
        underWay().forEach(transfer -> violated("C6", "still on its way: " + transfer));
        Map<TopicName, LimitRow> last = new LinkedHashMap<>();
        stored.limits().forEach(row -> last.put(row.topic(), row));
        for (LimitRow row : last.values()) {
            if (!row.done()) {
                violated("C6", "not done: " + row);
            }
            Share found = reachable.getOrDefault(row.topic(), Share.NONE);
            if (!found.equals(row.limit())) {
                violated("C6", "of " + row + " live brokers have, with what is stranded, " + found);
            }
        }
    }
}

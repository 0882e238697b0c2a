package io.weir.limiter.supply.protocol;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.Supply;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.SupplyEvent.Burned;
import io.weir.limiter.supply.value.SupplyEvent.Credited;
import io.weir.limiter.supply.value.SupplyEvent.Debited;
import io.weir.limiter.supply.value.SupplyEvent.Delivered;
import io.weir.limiter.supply.value.SupplyEvent.Inherited;
import io.weir.limiter.supply.value.SupplyEvent.Minted;
import io.weir.limiter.supply.value.SupplyEvent.Recovered;
import io.weir.limiter.supply.value.SupplyEvent.Refloored;
import io.weir.limiter.supply.value.SupplyEvent.Refunded;
import io.weir.limiter.supply.value.Transfer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * One holder's decisions about its own ledger: commands in, effects out, one at a time. While it is not {@link #idle},
 * the caller holds commands back. Supply that goes leaves the gate <i>before</i> its event is stored; supply that comes
 * reaches the gate <i>after</i>. So at any crash the gate held at most what the journal says.
 *
 * <pre>
 *          debit, burn, refloor           removed (something)
 *   IDLE ───────────────────► AT_THE_GATE ─────────────────────────► WRITING ──── not known, or met by another event: it ends
 *    ▲  ◄──────────────────────────┘ removed (nothing)              ▲   │
 *    │  ── mint, credit, inherit, destinationClosed, recover ───────┘   │
 *    └──────────────────────────── committed ◄──────────────────────────┘         CLOSED: replayed a journal with Fenced in it
 * </pre>
 *
 * A write error alone never means fenced, and absence on a replay proves nothing: a timed-out insert can land later. So
 * a bookkeeper whose write is not known to be stored is discarded; the next one replays the journal and
 * {@link #recover}s.
 */
public class Bookkeeper {
    private enum State {
        IDLE,
        AT_THE_GATE,
        WRITING,
        CLOSED
    }

    private final Ledger ledger;
    /** Own transfers that were acknowledged and are still the pair's last in the ledger. */
    private final Set<Transfer.Id> arrived = new HashSet<>();

    private State state = State.IDLE;
    /** AT_THE_GATE: makes the event of what the gate has removed. */
    private Function<Map<TopicName, Holding>, List<SupplyEvent>> onRemoved;
    /** AT_THE_GATE: the receiver of what leaves the gate; null if it is burned or split anew. */
    private Holder debiting;
    /** WRITING: the events that are not yet known to be stored. */
    private final ArrayDeque<SupplyEvent> writing = new ArrayDeque<>();
    /** WRITING a credit: who sent the transfer, and gets the acknowledgement. */
    private Holder acknowledgeTo;

    private Predicate<Holder> gone = holder -> false;

    public Bookkeeper(Ledger ledger) {
        this.ledger = ledger;
        if (ledger.closed()) {
            state = State.CLOSED;
        }
    }

    /**
     * Comes first after a replay: nothing of the ledger may be used before this is committed. A former life may have
     * sent a write that was not answered and can still land at the next sequence number; an own event at that number
     * settles it. (The first design used what a replay said at once. A late {@code Debited} would then take away what
     * the gate uses: an heir adopts and delivers the transfer while the kept account still admits with it.) The gate
     * goes on meanwhile: it holds at most what either outcome leaves.
     */
    public List<Effect> recover(long life) {
        return state == State.CLOSED ? List.of(new Effect.CloseGate()) : write(new Recovered(life));
    }

    public Ledger ledger() {
        return ledger;
    }

    public boolean idle() {
        return state == State.IDLE;
    }

    public boolean closed() {
        return state == State.CLOSED;
    }

    /**
     * Nothing is handed to these holders: once seen fenced or stopped, a holder may be forgotten ({@link Retention}).
     */
    void avoid(Predicate<Holder> holders) {
        gone = holders;
    }

    /** Whether a transfer to this holder may begin. Only one may be open for each directed pair. */
    boolean canDebit(Holder to) {
        return !gone.test(to)
                && ledger.openTransfers().stream()
                        .noneMatch(transfer -> transfer.id().from().equals(ledger.holder())
                                && transfer.id().to().equals(to)
                                && !arrived.contains(transfer.id()));
    }

    /** The part of {@code mine} that goes to a holder of {@code theirs} when the ring's step is {@code wanted}. */
    protected Holding part(Holding mine, Holding theirs, Share wanted, boolean theyNeedItMore) {
        Holding cut = mine.cutFor(theirs, wanted);
        return cut.isNone() && wanted.rateMicros() > 0 && theyNeedItMore ? RingStep.oneAccount(mine) : cut;
    }

    public List<Effect> debit(Holder to, Map<TopicName, Holding> wanted) {
        if (!canDebit(to)) {
            throw new IllegalStateException("a transfer from " + ledger.holder() + " to " + to + " is open");
        }
        List<Effect> effects =
                atTheGate(wanted, removed -> List.of(new Debited(new Transfer(ledger.nextTransfer(to), removed))));
        debiting = to;
        return effects;
    }

    /**
     * Burns as much of the topic's debt as this holder has. If nothing is left to burn, marks the version done once
     * more.
     */
    List<Effect> burn(TopicName topic) {
        return burn(List.of(topic));
    }

    /** The same of several topics, whose events are stored together. */
    List<Effect> burn(Collection<TopicName> topics) {
        List<Effect> effects = new ArrayList<>();
        Map<TopicName, Holding> wanted = new LinkedHashMap<>();
        for (TopicName topic : topics) {
            Debt debt = ledger.debts().get(topic);
            if (debt != null && debt.remaining().isNone()) {
                effects.add(new Effect.MarkDone(topic, debt.version()));
            } else if (debt != null) {
                Holding owed = ledger.share(topic).owed(debt.remaining());
                if (!owed.isNone()) {
                    wanted.put(topic, owed);
                }
            }
        }
        if (!wanted.isEmpty()) {
            effects.addAll(atTheGate(wanted, removed -> {
                List<SupplyEvent> burned = new ArrayList<>();
                removed.forEach((topic, holding) ->
                        burned.add(new Burned(topic, ledger.debts().get(topic).version(), holding.empty())));
                return burned;
            }));
        }
        return effects;
    }

    /**
     * Splits a share anew between its accounts, by its floor φ. All of it leaves the gate until the split is stored.
     */
    List<Effect> refloor(TopicName topic, int floorPermille) {
        Holding mine = ledger.share(topic);
        return mine.wantsSplit(floorPermille)
                ? atTheGate(Map.of(topic, mine), removed -> {
                    Holding was = removed.get(topic);
                    Holding split = Holding.of(was.share(), floorPermille);
                    return List.of(new Refloored(
                            topic,
                            split.filled(was.leased().levelMicros() + was.kept().levelMicros())));
                })
                : List.of();
    }

    /** The gate's answer to {@link Effect.RemoveAtGate}. */
    public List<Effect> removed(Map<TopicName, Holding> removed) {
        require(State.AT_THE_GATE);
        Map<TopicName, Holding> something = new LinkedHashMap<>(removed);
        something.values().removeIf(Holding::isNone);
        state = State.IDLE;
        return something.isEmpty() ? List.of() : write(onRemoved.apply(something));
    }

    /** Credits a transfer that arrived, perhaps not for the first time, perhaps meant for a former incarnation. */
    public List<Effect> credit(Transfer transfer, Holder sender) {
        require(State.IDLE);
        if (!transfer.id().to().equals(ledger.holder())) {
            return List.of();
        }
        if (seen(transfer.id())) {
            return List.of(new Effect.Acknowledge(transfer.id(), sender));
        }
        acknowledgeTo = sender;
        return write(new Credited(transfer));
    }

    protected boolean seen(Transfer.Id id) {
        return ledger.credited(id);
    }

    /** The destination has credited it. For an own transfer nothing is stored: the pair's next one replaces it. */
    List<Effect> acknowledged(Transfer.Id id) {
        if (state != State.IDLE || !ledger.isOpen(id)) {
            return List.of();
        }
        if (id.from().equals(ledger.holder())) {
            arrived.add(id);
            return List.of();
        }
        return write(new Delivered(id));
    }

    /** Whether a transfer that is open, about to be debited or about to be adopted may need that holder's journal. */
    boolean mayLookUp(Holder closed) {
        boolean debited =
                writing.peek() instanceof Debited e && e.transfer().id().to().equals(closed);
        List<Transfer> more = writing.peek() instanceof Inherited e ? e.openTransfers() : List.of();
        return state == State.AT_THE_GATE && closed.equals(debiting)
                || debited
                || Stream.concat(more.stream(), ledger.openTransfers().stream())
                        .anyMatch(transfer -> transfer.id().to().equals(closed));
    }

    /**
     * Ends one open transfer to a holder whose journal is closed: that journal says for ever whether it was credited.
     */
    List<Effect> destinationClosed(Ledger destination) {
        require(State.IDLE);
        if (!destination.closed()) {
            return List.of();
        }
        for (Transfer transfer : ledger.openTransfers()) {
            if (transfer.id().to().equals(destination.holder())) {
                return write(
                        destination.credited(transfer.id())
                                ? new Delivered(transfer.id())
                                : new Refunded(transfer.id()));
            }
        }
        return List.of();
    }

    /** Sends all transfers again that are not known to have arrived. */
    List<Effect> resend() {
        return inFlight().stream().<Effect>map(Effect.Send::new).toList();
    }

    /** Open transfers that are not known to have arrived. */
    List<Transfer> inFlight() {
        return ledger.openTransfers().stream()
                .filter(transfer -> !arrived.contains(transfer.id()))
                .toList();
    }

    /**
     * Mints what a version adds, and takes on the debt of what it takes away. The bucket starts full only if the store
     * knows no earlier version of the name: one that is deleted and created again would otherwise give 2b
     * ({@link Retention}).
     *
     * @param row as read from the store; nothing happens unless this holder is its minter
     * @param before the limit of the version before; none for the first
     */
    public List<Effect> mint(LimitRow row, Share before) {
        return mint(List.of(new KnownLimits.Entry(row, before)));
    }

    /** The same of versions of different topics, whose events are stored together. */
    List<Effect> mint(List<KnownLimits.Entry> versions) {
        require(State.IDLE);
        List<SupplyEvent> events = new ArrayList<>();
        for (KnownLimits.Entry version : versions) {
            LimitRow row = version.last();
            boolean mine = row.minter().equals(Optional.of(ledger.holder()));
            if (mine && !row.done() && !ledger.minted(row.topic(), row.version())) {
                Holding minted = Holding.of(row.limit().above(version.before()), row.floorPermille());
                events.add(new Minted(
                        row.topic(),
                        row.version(),
                        startsFull(row) ? minted.full() : minted,
                        version.before().above(row.limit())));
            }
        }
        return events.isEmpty() ? List.of() : write(events);
    }

    protected boolean startsFull(LimitRow row) {
        return row.first();
    }

    /** Takes over one account of a victim whose row names this holder as its heir. */
    public List<Effect> inherit(Ledger victim, Account account) {
        require(State.IDLE);
        if (!victim.closed() || ledger.inherited(victim.holder(), account)) {
            return List.of();
        }
        Map<TopicName, Supply> shares = new LinkedHashMap<>();
        victim.shares().forEach((topic, holding) -> {
            if (!holding.in(account).isNone()) {
                shares.put(topic, holding.in(account));
            }
        });
        boolean leased = account == Account.LEASED;
        return write(new Inherited(
                victim.holder(),
                account,
                shares,
                leased ? legacyTransfers(victim) : List.of(),
                leased ? legacyDebts(victim) : Map.of()));
    }

    protected Map<TopicName, Debt> legacyDebts(Ledger victim) {
        return new LinkedHashMap<>(victim.debts());
    }

    protected List<Transfer> legacyTransfers(Ledger victim) {
        return victim.openTransfers();
    }

    /** The event being written is stored; the first one, if there are several. */
    public List<Effect> committed() {
        require(State.WRITING);
        SupplyEvent event = writing.poll();
        Map<TopicName, Holding> refunded =
                event instanceof Refunded e ? ledger.find(e.transfer()).holdings() : Map.of();
        ledger.apply(event);
        state = writing.isEmpty() ? State.IDLE : State.WRITING;
        if (event instanceof Debited e) {
            return List.of(new Effect.Send(e.transfer()));
        }
        if (event instanceof Credited e) {
            return List.of(
                    new Effect.AddAtGate(e.transfer().holdings()),
                    new Effect.Acknowledge(e.transfer().id(), acknowledgeTo));
        }
        if (event instanceof Refunded) {
            return List.of(new Effect.AddAtGate(refunded));
        }
        if (event instanceof Minted e) {
            List<Effect> effects = new ArrayList<>();
            effects.add(new Effect.AddAtGate(Map.of(e.topic(), e.minted())));
            if (e.debt().isNone()) {
                effects.add(new Effect.MarkDone(e.topic(), e.version()));
            }
            return effects;
        }
        if (event instanceof Inherited e) {
            Map<TopicName, Holding> more = new LinkedHashMap<>();
            e.shares().forEach((topic, supply) -> more.put(topic, Holding.of(e.account(), supply)));
            return List.of(new Effect.AddAtGate(more));
        }
        if (event instanceof Refloored e) {
            return List.of(new Effect.AddAtGate(Map.of(e.topic(), e.split())));
        }
        if (event instanceof Burned e) {
            return ledger.debts().get(e.topic()).remaining().isNone()
                    ? List.of(new Effect.MarkDone(e.topic(), e.version()))
                    : List.of();
        }
        return event instanceof Recovered
                ? List.of(new Effect.ResetGate(new LinkedHashMap<>(ledger.shares())))
                : List.of();
    }

    private List<Effect> atTheGate(
            Map<TopicName, Holding> wanted, Function<Map<TopicName, Holding>, List<SupplyEvent>> events) {
        require(State.IDLE);
        onRemoved = events;
        debiting = null;
        state = State.AT_THE_GATE;
        return List.of(new Effect.RemoveAtGate(wanted));
    }

    private List<Effect> write(SupplyEvent event) {
        return write(List.of(event));
    }

    private List<Effect> write(List<SupplyEvent> events) {
        require(State.IDLE);
        writing.addAll(events);
        state = State.WRITING;
        return List.of(new Effect.Append(ledger.sequence() + 1, events));
    }

    private void require(State expected) {
        if (state != expected) {
            throw new IllegalStateException("bookkeeper of " + ledger.holder() + " is " + state + ", not " + expected);
        }
    }
}

package io.weir.limiter.supply.protocol;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Looks;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.value.GateSample;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/**
 * One holder's whole part in the supply protocol, free of threads, clocks and Akka: an {@link Input} and the time go
 * in, {@link Effect}s come out. A broker's actors feed it and carry out its effects; so does the simulation, and
 * therefore the simulated code is the code that runs.
 *
 * <pre>
 *   {@link Bookkeeper}      the own ledger, and one write at a time
 *   {@link RingRounds}      members, demand, what others hear; a {@link RingEdge} for each neighbour hands over
 *   {@link LimitVersions}   minting, burning, collecting        {@link NewTopicSpread}  a new topic's first split
 *   {@link Heir}            whom to fence, and inheriting from holders that stopped
 *   {@link Retention}       which rows and journals the store may forget
 * </pre>
 *
 * The bookkeeper takes one decision at a time. What the parts want of it waits as {@link PendingDecision}s until it is
 * idle, at most {@value #MOST_PENDING} of them; a further one is dropped, because its part asks again.
 *
 * <p><b>An unknown outcome ends the node</b>, be it of an append or of a change at the gates. Whoever runs it replays
 * the journal and begins a new node, which writes a {@link SupplyEvent.Recovered} before it uses anything
 * ({@link Bookkeeper#recover}); if a late write took that sequence number, the new node ends too. Only the process's
 * {@link StoreView} outlives a node.
 */
public final class SupplyNode {
    static final int MOST_PENDING = 256;
    /** At most so many closed holders are read in one sweep, so that the answer stays small. */
    private static final int MOST_CLOSED = 1_000;
    /** At most so many removals begin after one sweep, so that they do not crowd out the store's other work. */
    private static final int MOST_FORGOTTEN = 50;

    private final ProtocolTimes times;
    private final Holder me;
    private final Bookkeeper keeper;
    private final KnownLimits limits;
    private final LeaseWatch watch;
    private final Retention retention;
    private final Heir heir;
    private final LimitVersions versions;
    private final RingRounds ring;
    private final NewTopicSpread spread = new NewTopicSpread();
    private final Contributions contributions = new Contributions();
    private final ArrayDeque<PendingDecision> pending = new ArrayDeque<>();
    /** Others' journals that were asked for and not answered yet. */
    private final Set<Holder> reading = new HashSet<>();

    private Set<BrokerId> reachable = Set.of();
    /** Holders that the last look at the rows found live; empty before the first look. */
    private Optional<Set<Holder>> liveHolders = Optional.empty();
    /** Closed holders as the sweep read them; empty once a look at the rows has used them. */
    private Optional<List<Holder>> closedHolders = Optional.empty();

    private boolean begun;
    private boolean recovered;
    /** Whether topics of the events that are being stored owe something. */
    private boolean lowered;
    /** When all rows of limits were read, for deleted names that the store has forgotten; 0 before the first look. */
    private long listedNs;

    private boolean listNext;
    private boolean listing;
    private final Looks looks = new Looks();
    private List<Effect> out = new ArrayList<>();

    /**
     * @param keeper of the ledger as replayed
     * @param view what this process has read of the rows, perhaps before this node
     */
    public SupplyNode(ProtocolTimes times, Bookkeeper keeper, StoreView view, RandomGenerator random) {
        this.times = times;
        this.me = keeper.ledger().holder();
        this.keeper = keeper;
        this.limits = view.limits();
        this.watch = view.watch();
        this.retention = view.retention();
        keeper.avoid(watch::gone);
        heir = new Heir(me, watch, times.courtesyNs());
        versions = new LimitVersions(me, limits);
        ring = new RingRounds(times, keeper, limits, random, effect -> out.add(effect), this::decide);
    }

    /**
     * Nothing is decided before {@link Input.Begin}. Once the journal was found closed, inputs are ignored.
     *
     * @param nowNs the holder's own clock, read after the input came
     */
    public List<Effect> on(Input input, long nowNs) {
        out = new ArrayList<>();
        if (input instanceof Input.Members members) {
            reachable = Set.copyOf(members.reachable());
        } else if (input instanceof Input.Placed placed) {
            ring.placed(placed.rates());
        } else if (input instanceof Input.Begin begin) {
            begun = true;
            lookIf(looks.due());
            out.addAll(keeper.recover(begin.life()));
        } else if (!keeper.closed()) {
            if (input instanceof PeerMessage message) {
                onMessage(message);
            } else if (input instanceof Input.Due due) {
                onDue(due, nowNs);
            } else if (input instanceof Input.Answer answer) {
                onAnswer(answer, nowNs);
            }
            // After a commit the next decision waits for GoOn: one step can't append twice.
            if (!(input instanceof Input.Committed)) {
                decideNext();
            }
        }
        return out;
    }

    /** Whether {@link Input.GoOn} is due. */
    public boolean hasMore() {
        return begun && keeper.idle() && !pending.isEmpty();
    }

    private void onMessage(PeerMessage message) {
        if (message instanceof PeerMessage.Sent sent) {
            decide(new PendingDecision.Credit(sent));
        } else if (message instanceof PeerMessage.Acknowledged acknowledged) {
            onAcknowledged(acknowledged);
        } else if (message instanceof PeerMessage.Indicators indicators) {
            ring.heard(indicators);
        } else if (message instanceof PeerMessage.Collect collect) {
            onCollects(List.of(collect));
        } else if (message instanceof PeerMessage.Give give) {
            onGive(give);
        } else if (message instanceof PeerMessage.NeedsOf question) {
            out.add(new Effect.Tell(question.asker().broker(), needed(question.round(), question.closed())));
        } else if (message instanceof PeerMessage.Needed needed) {
            retention.answered(needed);
        }
    }

    private void onDue(Input.Due due, long nowNs) {
        if (due instanceof Input.LookDue) {
            lookIf(looks.due());
        } else if (due instanceof Input.LookNow) {
            lookIf(looks.rowIsNew());
        } else if (due instanceof Input.Collects collects) {
            onCollects(collects.requests());
        } else if (due instanceof Input.Inserted inserted) {
            ring.newLimits(limits.read(inserted.rows()));
            versions.due(keeper.ledger()).forEach(this::decide);
        } else if (due instanceof Input.RoundDue) {
            onRoundDue();
        } else if (due instanceof Input.ResendDue) {
            out.addAll(keeper.resend());
        } else if (due instanceof Input.SweepDue) {
            onSweepDue(nowNs);
        }
    }

    private void onAnswer(Input.Answer answer, long nowNs) {
        if (answer instanceof Input.Removed removed) {
            out.addAll(keeper.removed(removed.holdings()));
        } else if (answer instanceof Input.Committed committed) {
            onCommitted(committed.event());
        } else if (answer instanceof Input.Sampled sampled) {
            ring.sampled(sampled);
        } else if (answer instanceof Input.SampleFailed) {
            ring.sampleFailed();
        } else if (answer instanceof Input.Looked looked) {
            onLooked(looked, nowNs);
        } else if (answer instanceof Input.LookFailed) {
            listNext |= listing;
            listing = false;
            planLook();
        } else if (answer instanceof Input.StepDone done) {
            out.addAll(heir.next(done.victim()));
        } else if (answer instanceof Input.StepFailed failed) {
            heir.putBack(failed.victim());
        } else if (answer instanceof Input.VictimRead read) {
            out.addAll(heir.victimRead(read.row(), read.journal(), keeper.ledger(), this::decide));
            readJournals(heir.wanted());
        } else if (answer instanceof Input.JournalRead read) {
            onJournalRead(read.ledger());
        } else if (answer instanceof Input.JournalUnread unread) {
            reading.remove(unread.of());
            heir.journalUnread(unread.of());
        } else if (answer instanceof Input.ClosedRead read) {
            closedHolders = Optional.of(read.closed());
        } else if (answer instanceof Input.Forgotten forgotten) {
            retention.done(forgotten.removal());
        }
    }

    private boolean decide(PendingDecision decision) {
        return pending.size() < MOST_PENDING && pending.add(decision);
    }

    private void decideNext() {
        while (hasMore()) {
            out.addAll(pending.poll().decide(keeper));
        }
    }

    private void onCommitted(SupplyEvent event) {
        out.addAll(keeper.committed());
        recovered = true;
        ring.changed(event.topics());
        if (event instanceof SupplyEvent.Minted minted
                && limits.last(minted.topic()).map(LimitRow::first).orElse(false)) {
            spread.plan(minted.topic(), minted.minted().share(), ring.others().values());
        } else if (event instanceof SupplyEvent.Inherited inherited) {
            out.addAll(heir.next(inherited.victim()));
        }
        lowered |= event instanceof SupplyEvent.Minted minted && !minted.debt().isNone();
        if (event instanceof SupplyEvent.Credited credited) {
            ring.credited(credited.transfer());
            versions.owed(event.topics(), keeper.ledger()).ifPresent(this::decide);
        } else if (event instanceof SupplyEvent.Minted && keeper.idle()) {
            onAllMinted();
        }
    }

    /** The last of the versions that were minted together is stored. */
    private void onAllMinted() {
        spread.due(ring.others().values()).forEach(this::decide);
        if (lowered) {
            lowered = false;
            // At once rather than after the next look, so that a lowering ends as soon as the others have given.
            versions.due(keeper.ledger()).forEach(this::decide);
            out.addAll(versions.collect(keeper.ledger(), ring.others().keySet()));
        }
    }

    private void onAcknowledged(PeerMessage.Acknowledged acknowledged) {
        if (acknowledged.to().equals(me)) {
            decide(new PendingDecision.Settle(acknowledged.transfer()));
            spread.due(ring.others().values()).forEach(this::decide);
            contributions.due(ring.others().values()).forEach(this::decide);
        }
    }

    private void onCollects(List<PeerMessage.Collect> requests) {
        requests.forEach(
                collect -> versions.collectedFor(collect).ifPresent(limit -> contributions.asked(collect, limit)));
        contributions.due(ring.others().values()).forEach(this::decide);
    }

    private void onGive(PeerMessage.Give give) {
        if (give.from().equals(me) && ring.others().containsValue(give.to())) {
            decide(new PendingDecision.Distribute(give.to(), give.parts()));
        }
    }

    // ---- looking at the store

    private void lookIf(boolean now) {
        if (now) {
            listing = listNext;
            listNext = false;
            out.add(new Effect.ReadRows(listing ? 0 : limits.upTo()));
        }
    }

    private void planLook() {
        out.add(new Effect.LookAfter(looks.ended() ? 0 : times.lookNs()));
    }

    private void onLooked(Input.Looked looked, long nowNs) {
        planLook();
        out.addAll(heir.look(looked.rows(), nowNs));
        members(looked.rows());
        retain(looked, nowNs);
        Set<TopicName> newVersions = limits.read(looked.limitsUpTo(), looked.limits());
        ring.newLimits(newVersions);
        forget(looked, nowNs);
        versions.due(keeper.ledger()).forEach(this::decide);
        out.addAll(versions.collect(keeper.ledger(), ring.others().keySet()));
        Set<Holder> wanted = heir.wanted();
        wanted.addAll(closedDestinations(looked.rows()));
        readJournals(wanted);
    }

    /**
     * Forgets what versions that are done leave behind. Now and then all rows are read: a deleted name that the store
     * does not have any more is forgotten here, too.
     */
    private void forget(Input.Looked looked, long nowNs) {
        Set<TopicName> read = looked.limits().stream().map(LimitRow::topic).collect(Collectors.toSet());
        boolean first = listedNs == 0;
        keeper.ledger().forgetSettled(first ? keeper.ledger().topics() : read, limits);
        if (listing) {
            Set<TopicName> forgotten = limits.forgetAllBut(read);
            retention.forgotten(forgotten);
            ring.forgotten(forgotten);
        }
        if (first || listing) {
            listedNs = nowNs == 0 ? 1 : nowNs;
        } else if (!listNext && nowNs - listedNs >= times.retentionNs() / 2 && limits.hasDeleted()) {
            listNext = true;
        }
        listing = false;
    }

    /** Destinations of open transfers that are not live: their closed journals decide what becomes of the transfers. */
    private Set<Holder> closedDestinations(List<LeaseRow> rows) {
        Set<Holder> destinations = new LinkedHashSet<>();
        keeper.ledger()
                .openTransfers()
                .forEach(transfer -> destinations.add(transfer.id().to()));
        for (LeaseRow row : rows) {
            if (row.state() == LeaseRow.State.LIVE) {
                destinations.remove(row.holder());
            }
        }
        return destinations;
    }

    private void readJournals(Set<Holder> holders) {
        holders.forEach(of -> {
            if (reading.add(of)) {
                out.add(new Effect.ReadJournal(of));
            }
        });
    }

    private void onJournalRead(Ledger ledger) {
        reading.remove(ledger.holder());
        if (ledger.closed()) {
            decide(new PendingDecision.EndTransfers(ledger));
        }
        out.addAll(heir.journalRead(ledger));
        out.addAll(versions.minterRead(ledger));
    }

    private void onSweepDue(long nowNs) {
        out.addAll(heir.sweep(nowNs));
        out.addAll(versions.sweep());
        readJournals(versions.suspects());
        out.add(new Effect.ReadClosed(MOST_CLOSED));
    }

    /**
     * Only the sweeper's host has read the closed holders, and did so before these rows: see {@link Retention#leases}.
     */
    private void retain(Input.Looked looked, long nowNs) {
        liveHolders = Optional.of(looked.rows().stream()
                .filter(row -> row.state() == LeaseRow.State.LIVE)
                .map(LeaseRow::holder)
                .collect(Collectors.toSet()));
        retention.limits(looked.limits(), nowNs);
        closedHolders.ifPresent(holders -> {
            retention.leases(holders, looked.rows(), nowNs);
            Set<Holder> question = retention.question(nowNs);
            if (!question.isEmpty()) {
                retention.answered(needed(retention.round(), question));
                PeerMessage.NeedsOf asked = new PeerMessage.NeedsOf(retention.round(), question, me);
                ring.others().keySet().forEach(other -> out.add(new Effect.Tell(other, asked)));
            }
            retention.due(nowNs).stream().limit(MOST_FORGOTTEN).forEach(due -> out.add(new Effect.Forget(due)));
        });
        closedHolders = Optional.empty();
    }

    /**
     * Before the first commit a late write of a former life may still land, so until then every journal may be needed.
     */
    private PeerMessage.Needed needed(long round, Set<Holder> question) {
        return Retention.answer(round, question, keeper, recovered ? liveHolders : Optional.empty());
    }

    /** The live holders of brokers that can be written to. */
    private void members(List<LeaseRow> rows) {
        Map<BrokerId, Holder> members = new LinkedHashMap<>();
        for (LeaseRow row : rows) {
            BrokerId broker = row.holder().broker();
            boolean isLive = row.state() == LeaseRow.State.LIVE && !watch.gone(row.holder());
            if (isLive && !broker.equals(me.broker()) && reachable.contains(broker)) {
                members.merge(broker, row.holder(), (a, b) -> a.incarnation() > b.incarnation() ? a : b);
            }
        }
        ring.members(members);
    }

    private void onRoundDue() {
        spread.due(ring.others().values()).forEach(this::decide);
        ring.due();
    }

    // ---- read by its host

    public Holder me() {
        return me;
    }

    /** The own ledger as stored. */
    public Ledger ledger() {
        return keeper.ledger();
    }

    /** The part of a topic that has left this holder and is not known to have arrived. */
    public Share inFlight(TopicName topic) {
        return keeper.inFlight().stream()
                .map(transfer ->
                        transfer.holdings().getOrDefault(topic, Holding.NONE).share())
                .reduce(Share.NONE, Share::plus);
    }

    /** By topic, what holders that stopped or are cut off still have, as far as this holder knows. */
    public Map<TopicName, Share> stranded() {
        return heir.stranded();
    }

    public KnownLimits limits() {
        return limits;
    }

    /** Demand at this holder, as of the last round. */
    public Demand demand(TopicName topic) {
        return ring.demand(topic);
    }

    /** The gates that had arrivals lately, as of the last round. */
    public List<GateSample> busy() {
        return ring.busy();
    }

    /** All other holders that are live and reachable. */
    List<Holder> others() {
        return List.copyOf(ring.others().values());
    }

    /** All members of the ring as this holder sees it, itself included. */
    public Set<BrokerId> ring() {
        return ring.ring();
    }

    /** The ring's neighbours. */
    public List<Holder> near() {
        return ring.near();
    }
}

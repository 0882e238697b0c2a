package io.weir.limiter.simulation.supply;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.DemandWindow;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Loan;
import io.weir.limiter.algorithm.Ring;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.simulation.EventQueue;
import io.weir.limiter.simulation.HardBound;
import io.weir.limiter.simulation.LimiterWorld;
import io.weir.limiter.simulation.Sample;
import io.weir.limiter.supply.gate.algorithm.Gate;
import io.weir.limiter.supply.gate.algorithm.Gate.Verdict;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.gate.algorithm.Lending;
import io.weir.limiter.supply.protocol.AdaptorMoves;
import io.weir.limiter.supply.protocol.Bookkeeper;
import io.weir.limiter.supply.protocol.Effect;
import io.weir.limiter.supply.protocol.Input;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.protocol.PeerMessage;
import io.weir.limiter.supply.protocol.ProtocolTimes;
import io.weir.limiter.supply.protocol.StoreView;
import io.weir.limiter.supply.protocol.SupplyNode;
import io.weir.limiter.supply.value.GateSample;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * How brokers divide one topic's limit while its publishers publish: the same gate, demand window, {@link SupplyNode}
 * and {@link AdaptorMoves} as in a broker and with a broker's own times, message by message. Nothing fails here;
 * {@link SupplyWorld} is about faults. What is simulated is the network, the store, the waiting line, a thread that
 * loses its core now and then, and publishers.
 *
 * <p>Publishers at a broker have at most so many messages <i>open</i>, that is sent and not answered: what they would
 * send beyond that waits with them, and the broker does not see it. They send at the instants of a Poisson process, or
 * whenever they may.
 */
public final class SharingWorld {
    /** A broker's own, see {@code reference.conf}. */
    private static final long ADAPTATION_NS = 1_000_000_000L;

    private static final long LINK_NS = 200_000L;
    /** Loans travel on the message path's own links, whose threads take about so long to wake up. */
    public static final long LOAN_NS = 100_000L;

    private static final long STORE_NS = 3_000_000L;
    private static final long LEASE_NS = 1L << 60;
    private static final TopicName TOPIC = new TopicName("t");

    private final SplittableRandom random;
    private final Sharing sharing;
    private final double deadBand;
    private final EventQueue<Runnable> events = new EventQueue<>();
    private final List<Broker> brokers = new ArrayList<>();
    private final HardBound hardBound;
    private Sample accessDelay = new Sample();
    private long loanNs = LOAN_NS;
    private long nowNs;
    private long measureFromNs;
    private long transfers;
    private long loanMessages;
    private long ringMessages;
    private long delayed;
    private long delayedWhileAllEmpty;

    /** @param shares what the brokers have at first; in all the limit */
    public SharingWorld(List<Share> shares, Sharing sharing, long seed) {
        this(shares, sharing, SupplyWorld.BROKER_TIMES, seed);
    }

    /** With other times and tolerances than a broker's. */
    public SharingWorld(List<Share> shares, Sharing sharing, ProtocolTimes times, long seed) {
        this(shares, sharing, Indicator.DEFAULT, times, seed);
    }

    /** By another indicator than usual. */
    public SharingWorld(List<Share> shares, Sharing sharing, Indicator indicator, long seed) {
        this(shares, sharing, indicator, SupplyWorld.BROKER_TIMES, seed);
    }

    private SharingWorld(List<Share> shares, Sharing sharing, Indicator indicator, ProtocolTimes times, long seed) {
        random = new SplittableRandom(seed);
        this.sharing = sharing;
        deadBand = times.deadBand();
        Share whole = shares.stream().reduce(Share.NONE, Share::plus);
        hardBound = new HardBound(new Limit(whole.rateMicros(), whole.burstMicros()), 0);
        Set<BrokerId> reachable = new LinkedHashSet<>();
        List<LeaseRow> rows = new ArrayList<>();
        for (int i = 0; i < shares.size(); i++) {
            Holder holder = new Holder(new BrokerId("b" + i), 1);
            brokers.add(new Broker(i, holder, shares.get(i), times));
            reachable.add(holder.broker());
            rows.add(LeaseRow.registered(holder));
        }
        LimitRow row =
                new LimitRow(TOPIC, 1, whole, 0, sharing, Optional.of(brokers.get(0).holder), true).by(indicator);
        for (Broker broker : brokers) {
            broker.tell(new Input.Members(reachable));
            broker.tell(new Input.Begin(1));
            broker.tell(new Input.Looked(rows, 1, List.of(row)));
            every(times.roundNs(), () -> broker.tell(new Input.RoundDue()));
            every(times.resendNs(), () -> broker.tell(new Input.ResendDue()));
        }
        if (sharing == Sharing.ADAPTOR) {
            every(ADAPTATION_NS, this::adapt);
        }
    }

    /**
     * From now on, publishers at this broker send so many messages a second, at most {@code open} of them unanswered.
     */
    public void publish(int broker, double messagesPerSecond, int open) {
        Broker at = brokers.get(broker);
        at.open = open;
        at.eager = false;
        at.meanGapNs = 1e9 / messagesPerSecond;
        at.load++;
        if (messagesPerSecond > 0) {
            at.planNext(at.load);
        }
    }

    /** From now on, {@code publishers} at this broker send a message whenever the last one was answered. */
    public void publishWhenAnswered(int broker, int publishers) {
        Broker at = brokers.get(broker);
        at.load++;
        at.open = publishers;
        at.eager = true;
        at.sendWhatMayBe();
    }

    /** From now on, brokers borrow tokens from each other, each from those that a broker of such a cluster asks. */
    public void borrow() {
        Ring ring =
                Ring.of(brokers.stream().map(broker -> broker.holder.broker()).toList());
        for (Broker broker : brokers) {
            broker.lenders = ring.lenders(broker.holder.broker(), Lending.MOST_LENDERS).stream()
                    .map(this::broker)
                    .toList();
            broker.lending = new Lending(broker.holder, broker.gate, Lending.MOST_LENDERS, Lending.PATIENCE_NS, nowNs);
        }
    }

    /** From now on, a request for tokens takes so long, and so does a reply. */
    public void loansTake(long oneWayNs) {
        loanNs = oneWayNs;
    }

    /**
     * From now on, placement says that so many messages a second are published at each broker; null: it says nothing.
     */
    public void place(double[] messagesPerSecond) {
        for (Broker broker : brokers) {
            broker.tell(new Input.Placed(
                    messagesPerSecond == null
                            ? Map.of()
                            : Map.of(TOPIC, (long) (messagesPerSecond[broker.index] * Limit.MICROS))));
        }
    }

    /** From now on, every broker's thread stands still at random times. */
    public void stall(double timesPerSecond, double meanNs) {
        brokers.forEach(broker -> broker.planStall(1e9 / timesPerSecond, meanNs));
    }

    /** Forgets the delays so far; only messages that are sent from now on count. */
    public void measure() {
        accessDelay = new Sample();
        measureFromNs = nowNs;
        brokers.forEach(broker -> broker.admitted = 0);
        transfers = 0;
        loanMessages = 0;
        ringMessages = 0;
        delayed = 0;
        delayedWhileAllEmpty = 0;
    }

    /** Lets so much time pass. */
    public void run(double seconds) {
        long untilNs = nowNs + (long) (seconds * 1e9);
        while (events.nextNs() <= untilNs) {
            nowNs = events.nextNs();
            events.take().run();
        }
        nowNs = untilNs;
        if (hardBound.excessMicros() > 0) {
            throw new IllegalStateException("the limit is exceeded by " + hardBound.excessMicros());
        }
    }

    /** From when a publisher wanted to send a message to when the message had its token, in seconds. */
    public Sample accessDelay() {
        return accessDelay;
    }

    /** All that was measured since {@link #measure}, where the service of a message takes no time. */
    public LimiterWorld.Result result() {
        Sample all = new Sample();
        all.addAll(accessDelay);
        for (Broker broker : brokers) {
            broker.waiting()
                    .filter(wantedNs -> wantedNs >= measureFromNs)
                    .forEach(wantedNs -> all.add((nowNs - wantedNs) * 1e-9));
        }
        return new LimiterWorld.Result(
                all, all, loanMessages + ringMessages, delayed, 0, delayedWhileAllEmpty, 0, hardBound.excessMicros());
    }

    /** Transfers since {@link #measure}. */
    public long transfers() {
        return transfers;
    }

    /** What nodes told each other since {@link #measure}. */
    public long ringMessages() {
        return ringMessages;
    }

    /** Requests for tokens and replies since {@link #measure}. */
    public long loanMessages() {
        return loanMessages;
    }

    /** Messages admitted since {@link #measure}. */
    public long admitted(int broker) {
        return brokers.get(broker).admitted;
    }

    public long admitted() {
        return brokers.stream().mapToLong(broker -> broker.admitted).sum();
    }

    public Share share(int broker) {
        return brokers.get(broker).node.ledger().share(TOPIC).share();
    }

    /** As its node knows it. */
    public Demand demand(int broker) {
        return brokers.get(broker).node.demand(TOPIC);
    }

    private void every(long periodNs, Runnable task) {
        plan(random.nextLong(periodNs), () -> repeat(periodNs, task));
    }

    private void repeat(long periodNs, Runnable task) {
        task.run();
        plan(periodNs, () -> repeat(periodNs, task));
    }

    private void plan(long delayNs, Runnable task) {
        events.plan(nowNs + delayNs, task);
    }

    private double exponential(double mean) {
        return -Math.log(1 - random.nextDouble()) * mean;
    }

    private Broker broker(BrokerId id) {
        return brokers.stream()
                .filter(broker -> broker.holder.broker().equals(id))
                .findFirst()
                .orElseThrow();
    }

    private boolean allEmpty() {
        return brokers.stream().allMatch(broker -> broker.gate.empty(nowNs));
    }

    private void adapt() {
        List<Holder> holders = brokers.stream().map(broker -> broker.holder).toList();
        List<Share> shares = brokers.stream()
                .map(broker -> broker.node.ledger().share(TOPIC).share())
                .toList();
        List<Demand> demands =
                brokers.stream().map(broker -> broker.node.demand(TOPIC)).toList();
        AdaptorMoves.moves(holders, shares, demands, deadBand)
                .forEach((edge, part) -> plan(LINK_NS, () -> broker(edge.from().broker())
                        .tell(new PeerMessage.Give(edge.from(), edge.to(), Map.of(TOPIC, part)))));
    }

    /** A broker, and the publishers that are connected to it. */
    private final class Broker {
        final int index;
        final Holder holder;
        final SupplyNode node;
        final Gate gate;
        /** Null: it does not borrow. */
        Lending lending;
        /** By their slots. */
        List<Broker> lenders = List.of();

        final DemandWindow window;
        /** When the messages were wanted to be sent: those in the broker's line, and those still with publishers. */
        final ArrayDeque<Long> line = new ArrayDeque<>();

        final ArrayDeque<Long> heldBack = new ArrayDeque<>();
        int open;
        int unanswered;
        boolean eager;
        double meanGapNs;
        int load;
        long admitted;
        private long wakeNs = Long.MAX_VALUE;
        private long standsUntilNs;

        Broker(int index, Holder holder, Share share, ProtocolTimes times) {
            this.index = index;
            this.holder = holder;
            Lease lease = new Lease(LEASE_NS);
            lease.renewed(0);
            gate = new Gate(lease, times.driftPpm(), 0);
            window = new DemandWindow(DemandWindow.Shape.USUAL, 0);
            Ledger ledger = new Ledger(holder);
            ledger.apply(new SupplyEvent.Minted(TOPIC, 1, Holding.of(share, 0), Share.NONE));
            node = new SupplyNode(times, new Bookkeeper(ledger), StoreView.nothing(times), new SplittableRandom(index));
        }

        // ---- publishers

        void planNext(int ofLoad) {
            plan((long) exponential(meanGapNs), () -> {
                if (ofLoad == load) {
                    heldBack.add(nowNs);
                    sendWhatMayBe();
                    planNext(ofLoad);
                }
            });
        }

        void sendWhatMayBe() {
            while (unanswered < open && (eager || !heldBack.isEmpty())) {
                long wantedNs = heldBack.isEmpty() ? nowNs : heldBack.poll();
                unanswered++;
                plan(Math.max(0, standsUntilNs - nowNs), () -> arrive(wantedNs));
            }
        }

        void planStall(double meanGap, double meanNs) {
            plan((long) exponential(meanGap), () -> {
                standsUntilNs = nowNs + (long) exponential(meanNs);
                planStall(meanGap, meanNs);
            });
        }

        // ---- the message path: a message passes, or waits in line, as in TokenLine

        private void arrive(long wantedNs) {
            if (line.isEmpty() && passes()) {
                count(0);
                admit(wantedNs);
            } else {
                line.add(wantedNs);
                count(line.size());
                drain();
                if (!line.isEmpty() && wantedNs >= measureFromNs) {
                    delayed++;
                    delayedWhileAllEmpty += allEmpty() ? 1 : 0;
                }
            }
            ask();
        }

        /** Since when the messages wait that have no token yet. */
        Stream<Long> waiting() {
            return Stream.concat(line.stream(), heldBack.stream());
        }

        // ---- borrowing, asked for at once; a broker does it at the end of a turn

        private void ask() {
            Loan request = new Loan();
            while (lending != null && lending.ask((1L << lenders.size()) - 1, waitingMicros(), nowNs, request)) {
                Loan sent = request;
                Broker lender = lenders.get(sent.peer());
                post(() -> lender.lend(this, sent));
                request = new Loan();
            }
        }

        private void lend(Broker asker, Loan request) {
            Loan reply = new Loan();
            if (lending.onRequest(lenders.indexOf(asker), 0, request, waitingMicros(), nowNs, reply)) {
                post(() -> asker.borrowed(this, reply));
            }
        }

        private void borrowed(Broker lender, Loan reply) {
            lending.onReply(lenders.indexOf(lender), holder.incarnation(), 0, reply, nowNs);
            drain();
            ask();
        }

        private void post(Runnable step) {
            loanMessages++;
            plan(loanNs, step);
        }

        private long waitingMicros() {
            return line.size() * Limit.MICROS;
        }

        private void count(int waiting) {
            window.arrived(1, gate.missingMicros(nowNs), waiting, waiting > 0 && gate.empty(nowNs), nowNs);
        }

        private boolean passes() {
            return gate.admit(1, () -> nowNs) != Verdict.REFUSED;
        }

        private void admit(long wantedNs) {
            hardBound.admitted(Limit.MICROS, nowNs);
            admitted++;
            if (wantedNs >= measureFromNs) {
                accessDelay.add((nowNs - wantedNs) * 1e-9);
            }
            plan(LINK_NS, () -> {
                unanswered--;
                sendWhatMayBe();
            });
        }

        private void drain() {
            while (!line.isEmpty() && passes()) {
                admit(line.poll());
            }
            window.waiting(line.size(), nowNs);
            if (!line.isEmpty()) {
                // As TokenLine does: supply may come without notice.
                long retryNs = Math.max(1, Math.min(10_000_000L, gate.retryAfterNs(1, nowNs)));
                long atNs = Math.max(nowNs + retryNs, standsUntilNs);
                if (atNs < wakeNs) {
                    wakeNs = atNs;
                    events.plan(atNs, () -> {
                        if (wakeNs == atNs) {
                            wakeNs = Long.MAX_VALUE;
                            drain();
                            ask();
                        }
                    });
                }
            }
        }

        // ---- the supply protocol, whose store and network never fail

        void tell(Input input) {
            node.on(input, nowNs).forEach(this::perform);
            if (node.hasMore()) {
                plan(0, () -> tell(new Input.GoOn()));
            }
        }

        private void perform(Effect effect) {
            if (effect instanceof Effect.Append append) {
                transfers += append.event() instanceof SupplyEvent.Debited ? 1 : 0;
                plan(STORE_NS, () -> append.events().forEach(event -> tell(new Input.Committed(event))));
            } else if (effect instanceof Effect.RemoveAtGate remove) {
                Map<TopicName, Holding> removed = new LinkedHashMap<>();
                remove.wanted().forEach((topic, holding) -> removed.put(topic, gate.release(holding, nowNs)));
                plan(0, () -> tell(new Input.Removed(removed)));
            } else if (effect instanceof Effect.AddAtGate add) {
                add.more().values().forEach(holding -> gate.add(holding, nowNs));
            } else if (effect instanceof Effect.ResetGate reset) {
                gate.reset(reset.all().getOrDefault(TOPIC, Holding.NONE), nowNs);
            } else if (effect instanceof Effect.SampleGates sample) {
                GateSample seen =
                        new GateSample(TOPIC, gate.held(nowNs), window.demand(nowNs), line.size(), lending != null);
                plan(0, () -> tell(new Input.Sampled(sample.sequence(), List.of(seen))));
            } else if (effect instanceof Effect.Send send) {
                post(send.transfer().id().to().broker(), new PeerMessage.Sent(send.transfer(), holder));
            } else if (effect instanceof Effect.Acknowledge done) {
                post(done.to().broker(), new PeerMessage.Acknowledged(done.transfer(), done.to()));
            } else if (effect instanceof Effect.Tell told) {
                post(told.to(), told.message());
            } else if (effect instanceof Effect.Violated violated) {
                throw new IllegalStateException(violated.what());
            }
        }

        private void post(BrokerId to, PeerMessage message) {
            ringMessages++;
            plan(LINK_NS, () -> broker(to).tell(message));
        }
    }
}

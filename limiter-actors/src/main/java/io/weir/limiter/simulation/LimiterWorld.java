package io.weir.limiter.simulation;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Borrowing;
import io.weir.limiter.algorithm.DemandWindow;
import io.weir.limiter.algorithm.Graph;
import io.weir.limiter.algorithm.Loan;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.algorithm.TokenBucket;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Brokers that share one topic's limit, under a simulated clock and network: messages arrive, wait for a token of their
 * broker's bucket and are served, while supply moves as the setup says. After <i>every</i> event it checks that nothing
 * was created: Σλ + what is in flight and may still be accepted ≤ Σβ = b, and Σρ ≤ r; and every admission goes through
 * {@link HardBound}.
 *
 * <p>Faults of the links strike what may be lost by design: requests, replies and what neighbours tell. Supply itself
 * ({@code Transfer}) is only delayed here, since its repeats and acknowledgements are the ledger's business.
 */
public final class LimiterWorld {
    /** Makes a broker's end of borrowing; a test may make a broken one. */
    @FunctionalInterface
    public interface BorrowingFactory {
        Borrowing create(TokenBucket bucket, int peers, long patienceNs, long nowNs);
    }

    /**
     * A world to be.
     *
     * @param lenders who may ask whom for tokens; null: nobody borrows
     * @param meanServiceNs of the exponential time that a broker needs for a message; 0: none
     * @param periodNs between two rounds of gossip or of the adaptor
     * @param maxWaiting messages that may wait at a broker; one more is refused. 0: a topic that polices
     * @param maxDelayNs a message that has waited for so long is refused
     */
    public record Setup(
            Limit limit,
            int brokers,
            SimulatedLinks links,
            Sharing sharing,
            Graph lenders,
            BorrowingFactory borrowing,
            double meanServiceNs,
            long periodNs,
            int maxWaiting,
            long maxDelayNs) {
        public static Setup of(Limit limit, int brokers, SimulatedLinks links) {
            return new Setup(
                    limit,
                    brokers,
                    links,
                    Sharing.STATIC,
                    null,
                    Borrowing::new,
                    0,
                    SECOND_NS,
                    Integer.MAX_VALUE,
                    Long.MAX_VALUE);
        }

        public Setup sharing(Sharing how) {
            return new Setup(
                    limit, brokers, links, how, lenders, borrowing, meanServiceNs, periodNs, maxWaiting, maxDelayNs);
        }

        public Setup borrowing(Graph from) {
            return new Setup(
                    limit, brokers, links, sharing, from, borrowing, meanServiceNs, periodNs, maxWaiting, maxDelayNs);
        }

        public Setup borrowing(Graph from, BorrowingFactory factory) {
            return new Setup(
                    limit, brokers, links, sharing, from, factory, meanServiceNs, periodNs, maxWaiting, maxDelayNs);
        }

        public Setup every(long roundNs) {
            return new Setup(
                    limit, brokers, links, sharing, lenders, borrowing, meanServiceNs, roundNs, maxWaiting, maxDelayNs);
        }

        public Setup line(int most, long longestNs) {
            return new Setup(
                    limit, brokers, links, sharing, lenders, borrowing, meanServiceNs, periodNs, most, longestNs);
        }

        public Setup serving(double meanNs) {
            return new Setup(
                    limit, brokers, links, sharing, lenders, borrowing, meanNs, periodNs, maxWaiting, maxDelayNs);
        }
    }

    /**
     * What was measured after the warm-up; times in seconds. A message that still waits at the end counts with its wait
     * so far, since an overloaded broker would otherwise look idle.
     *
     * @param accessDelay from arrival to admission
     * @param latency from arrival to the end of service
     * @param controlMessages requests, replies, reports and transfers
     * @param delayed messages that waited at all
     * @param refused messages for which the line was full, or their wait too long; they have no delay
     * @param delayedWhileAllEmpty of these, how many came when no broker held a whole token
     * @param inventedMicros the most by which Σλ + acceptable in flight exceeded b, and 0 if it never did
     * @param excessMicros by how much some interval admitted more than b + r·t; 0 if none did
     */
    public record Result(
            Sample accessDelay,
            Sample latency,
            long controlMessages,
            long delayed,
            long refused,
            long delayedWhileAllEmpty,
            long inventedMicros,
            long excessMicros) {
        public double controlPerMessage() {
            return controlMessages / (double) accessDelay.size();
        }
    }

    private static final long SECOND_NS = 1_000_000_000L;
    /** A broker's own, see {@code reference.conf}. */
    private static final double DEAD_BAND = 0.005;

    /** A request counts as lost after this many round trips, and not before the least patience. */
    private static final long PATIENCE_ROUND_TRIPS = 20;

    private static final long LEAST_PATIENCE_NS = 1_000_000L;

    private final Setup setup;
    private final RandomGenerator random;
    private final EventQueue<Object> events = new EventQueue<>();
    private final SimulatedBroker[] brokers;
    private final int[][] peers;
    private final Graph ring;
    private final SupplyEdge edge;
    private final SimulatedAdaptor adaptor;
    private final int adaptorNode;
    private final List<Cargo> cargoes = new ArrayList<>();
    private final HardBound hardBound;
    private final Sample accessDelay = new Sample();
    private final Sample latency = new Sample();
    private long nowNs;
    private long measureFromNs;
    private long controlMessages;
    private long delayed;
    private long refused;
    private long delayedWhileAllEmpty;
    private long inventedMicros;

    public LimiterWorld(Setup setup, RandomGenerator random) {
        this.setup = setup;
        this.random = random;
        int k = setup.brokers();
        adaptorNode = k;
        List<Share> shares = Share.even(setup.limit(), k);
        brokers = new SimulatedBroker[k];
        peers = new int[k][];
        long patienceNs = Math.max(
                LEAST_PATIENCE_NS, 2 * PATIENCE_ROUND_TRIPS * setup.links().delayNs());
        for (int i = 0; i < k; i++) {
            Share share = shares.get(i);
            TokenBucket bucket = new TokenBucket(share.rateMicros(), share.burstMicros(), share.burstMicros(), 0);
            peers[i] = setup.lenders() == null ? new int[0] : setup.lenders().neighbours(i);
            Borrowing borrowing =
                    peers[i].length == 0 ? null : setup.borrowing().create(bucket, peers[i].length, patienceNs, 0);
            brokers[i] = new SimulatedBroker(i, bucket, borrowing, new DemandWindow(DemandWindow.Shape.USUAL, 0));
        }
        ring = Graph.ring(k);
        edge = new SupplyEdge(setup.limit(), k, ring.maxDegree(), DEAD_BAND);
        adaptor = setup.sharing() == Sharing.ADAPTOR ? new SimulatedAdaptor(setup.limit(), shares) : null;
        hardBound = new HardBound(setup.limit(), 0);
        if (setup.sharing() != Sharing.STATIC && k > 1) {
            events.plan(setup.periodNs(), new Period());
        }
    }

    /** Runs until the clock passes {@code untilNs}, and measures what arrived from {@code measureFromNs} on. */
    public Result run(Arrivals arrivals, long measureFromNs, long untilNs) {
        this.measureFromNs = measureFromNs;
        while (true) {
            long arrivalNs = arrivals.nextNs();
            long eventNs = events.nextNs();
            nowNs = Math.min(arrivalNs, eventNs);
            if (nowNs > untilNs) {
                break;
            }
            if (eventNs <= arrivalNs) {
                handle(events.take());
            } else {
                onArrival(brokers[arrivals.takeBroker()]);
            }
            checkNothingInvented();
        }
        for (SimulatedBroker broker : brokers) {
            refuseLate(broker, untilNs);
            while (broker.waits()) {
                measured(broker.leaveFirst(untilNs), untilNs, untilNs);
            }
        }
        return new Result(
                accessDelay,
                latency,
                controlMessages,
                delayed,
                refused,
                delayedWhileAllEmpty,
                inventedMicros,
                hardBound.excessMicros());
    }

    public Share share(int broker) {
        return brokers[broker].share();
    }

    private void onArrival(SimulatedBroker broker) {
        broker.arrive(nowNs);
        admit(broker);
        if (broker.waiting() > setup.maxWaiting()) {
            refused(broker.leaveLast(nowNs));
        } else if (broker.waits() && nowNs >= measureFromNs) {
            delayed++;
            if (allEmpty()) {
                delayedWhileAllEmpty++;
            }
        }
        ask(broker);
    }

    private void handle(Object event) {
        if (event instanceof SimulatedBroker broker) {
            onWake(broker);
        } else if (event instanceof Cargo cargo) {
            if (--cargo.copies == 0) {
                cargoes.remove(cargo);
            }
            deliver(cargo);
        } else {
            onPeriod();
        }
    }

    private void onWake(SimulatedBroker broker) {
        if (broker.wakeNs == nowNs) {
            broker.wakeNs = SimulatedBroker.NOT_WAITING;
            admit(broker);
        }
    }

    private void deliver(Cargo cargo) {
        if (cargo.to == adaptorNode) {
            deliverToAdaptor(cargo);
            return;
        }
        SimulatedBroker broker = brokers[cargo.to];
        if (cargo.message instanceof Request request) {
            Loan loan = new Loan();
            if (broker.borrowing.onRequest(peerOf(cargo), request.loan, broker.waitingMicros(), nowNs, loan)) {
                send(cargo.to, cargo.from, new Reply(loan), true);
            }
        } else if (cargo.message instanceof Reply reply) {
            broker.borrowing.onReply(peerOf(cargo), reply.loan, nowNs);
            admit(broker);
            ask(broker);
        } else if (cargo.message instanceof SimulatedBroker.Transfer transfer) {
            broker.credit(transfer, nowNs);
            admit(broker);
        } else if (cargo.message instanceof SimulatedBroker.Recall recall) {
            handOver(broker, cargo.from, recall.part());
        } else if (cargo.message instanceof SimulatedBroker.Tell tell) {
            handOver(
                    broker,
                    cargo.from,
                    edge.handedOver(broker.share(), broker.demand(nowNs), tell.share(), tell.demand()));
        }
    }

    private void deliverToAdaptor(Cargo cargo) {
        if (cargo.message instanceof SimulatedBroker.Tell tell) {
            adaptor.onTell(cargo.from, tell.demand());
        } else if (cargo.message instanceof SimulatedBroker.Transfer transfer) {
            adaptor.onTransfer(cargo.from, transfer, (to, part) -> send(adaptorNode, to, part, false));
        }
    }

    private void handOver(SimulatedBroker broker, int to, Share part) {
        if (!part.isNone()) {
            send(broker.index, to, broker.handOver(part, nowNs), false);
            admit(broker);
        }
    }

    private void onPeriod() {
        if (adaptor != null) {
            adaptor.onPeriod((to, recall) -> send(adaptorNode, to, recall, false));
        }
        for (SimulatedBroker broker : brokers) {
            SimulatedBroker.Tell tell = new SimulatedBroker.Tell(broker.share(), broker.demand(nowNs));
            if (adaptor != null) {
                send(broker.index, adaptorNode, tell, true);
            } else {
                for (int neighbour : ring.neighbours(broker.index)) {
                    send(broker.index, neighbour, tell, true);
                }
            }
        }
        events.plan(nowNs + setup.periodNs(), new Period());
    }

    private void ask(SimulatedBroker broker) {
        if (broker.borrowing == null) {
            return;
        }
        Loan loan = new Loan();
        while (broker.borrowing.ask(Borrowing.EVERYBODY, broker.waitingMicros(), nowNs, loan)) {
            send(broker.index, peers[broker.index][loan.peer()], new Request(loan), true);
            loan = new Loan();
        }
    }

    /** Admits what finds a token, and plans to wake up when the next one will. */
    private void admit(SimulatedBroker broker) {
        refuseLate(broker, nowNs);
        while (broker.waits()) {
            long waitNs = broker.bucket.takeOrWaitNs(1, nowNs);
            if (waitNs > 0) {
                long wakeNs = waitNs == TokenBucket.NEVER ? SimulatedBroker.NOT_WAITING : nowNs + waitNs;
                // A wake-up that is planned too early finds no token and comes back here.
                if (wakeNs < broker.wakeNs) {
                    broker.wakeNs = wakeNs;
                    events.plan(wakeNs, broker);
                }
                return;
            }
            admitted(broker, broker.leaveFirst(nowNs));
        }
    }

    private void refuseLate(SimulatedBroker broker, long atNs) {
        while (broker.waits() && atNs - broker.firstArrivedNs() >= setup.maxDelayNs()) {
            refused(broker.leaveFirst(atNs));
        }
    }

    private void refused(long arrivedNs) {
        if (arrivedNs >= measureFromNs) {
            refused++;
        }
    }

    private void admitted(SimulatedBroker broker, long arrivedNs) {
        hardBound.admitted(Limit.MICROS, nowNs);
        long serviceNs =
                setup.meanServiceNs() == 0 ? 0 : (long) (-Math.log(1 - random.nextDouble()) * setup.meanServiceNs());
        long servedNs = broker.servedNs(nowNs, serviceNs);
        measured(arrivedNs, nowNs, servedNs);
    }

    private void measured(long arrivedNs, long admittedNs, long servedNs) {
        if (arrivedNs >= measureFromNs) {
            accessDelay.add((admittedNs - arrivedNs) * 1e-9);
            latency.add((servedNs - arrivedNs) * 1e-9);
        }
    }

    private void send(int from, int to, Object message, boolean mayFail) {
        if (nowNs >= measureFromNs) {
            controlMessages++;
        }
        Cargo cargo = new Cargo(from, to, message);
        int copies = mayFail ? setup.links().copies(random) : 1;
        for (int i = 0; i < copies; i++) {
            long arrivalNs = mayFail
                    ? setup.links().arrivalNs(nowNs, random)
                    : nowNs + setup.links().delayNs();
            if (arrivalNs != SimulatedLinks.LOST) {
                cargo.copies++;
                events.plan(arrivalNs, cargo);
            }
        }
        if (cargo.copies > 0) {
            cargoes.add(cargo);
        }
    }

    private int peerOf(Cargo cargo) {
        int[] known = peers[cargo.to];
        for (int peer = 0; peer < known.length; peer++) {
            if (known[peer] == cargo.from) {
                return peer;
            }
        }
        throw new IllegalStateException("broker " + cargo.from + " is no peer of " + cargo.to);
    }

    private long levelMicros() {
        long sum = 0;
        for (SimulatedBroker broker : brokers) {
            sum += broker.bucket.levelMicros(nowNs);
        }
        return sum;
    }

    private boolean allEmpty() {
        for (SimulatedBroker broker : brokers) {
            if (broker.bucket.levelMicros(nowNs) >= Limit.MICROS) {
                return false;
            }
        }
        return true;
    }

    private void checkNothingInvented() {
        long level = levelMicros();
        Share supply = Share.NONE;
        long rate = 0;
        long burst = 0;
        for (SimulatedBroker broker : brokers) {
            rate += broker.bucket.rateMicros();
            burst += broker.bucket.burstMicros();
        }
        for (int i = 0; i < cargoes.size(); i++) {
            Cargo cargo = cargoes.get(i);
            if (cargo.message instanceof Reply reply) {
                if (brokers[cargo.to].borrowing.accepts(peerOf(cargo), reply.loan.id())) {
                    level += reply.loan.micros();
                }
            } else if (cargo.message instanceof SimulatedBroker.Transfer transfer) {
                level += transfer.levelMicros();
                supply = supply.plus(transfer.share());
            }
        }
        if (adaptor != null) {
            level += adaptor.poolLevelMicros();
            supply = supply.plus(adaptor.pool());
        }
        rate += supply.rateMicros();
        burst += supply.burstMicros();
        if (rate != setup.limit().rateMicros() || burst != setup.limit().burstMicros()) {
            throw new IllegalStateException(
                    "supply is (" + rate + ", " + burst + ") at " + nowNs + " ns, but the limit is " + setup.limit());
        }
        inventedMicros = Math.max(inventedMicros, level - burst);
    }

    /** A message on its way; {@code copies} of it have not arrived yet. */
    private static final class Cargo {
        final int from;
        final int to;
        final Object message;
        int copies;

        Cargo(int from, int to, Object message) {
            this.from = from;
            this.to = to;
            this.message = message;
        }
    }

    private record Period() {}

    private record Request(Loan loan) {}

    private record Reply(Loan loan) {}
}

package io.weir.limiter.supply.gate;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.DemandWindow;
import io.weir.limiter.algorithm.Loan;
import io.weir.limiter.supply.gate.algorithm.Gate;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.gate.algorithm.Lending;
import io.weir.limiter.supply.value.GateSample;
import io.weir.limiter.supply.value.Holder;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * One topic's gate at this broker, with its counters. It is the same object for as long as the process lives, so the
 * message path may keep a reference; the incarnation whose supply it holds may change. One thread admits, any thread
 * may read the counters.
 */
public final class TopicGate {
    /** Brokers that it borrows from and lends to at most; each is a slot. */
    public static final int MOST_LENDERS = Lending.MOST_LENDERS;

    private final TopicName topic;
    private final DemandWindow.Shape windowShape;
    /** Null until something arrives: most of many topics are at rest. */
    private DemandWindow window;

    private final AtomicLong admitted = new AtomicLong();
    private final AtomicLong admittedKept = new AtomicLong();
    private final AtomicLong delayed = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();
    private final AdmissionHistory history;
    private final List<TopicGate> active;
    private final List<TopicGate> borrowers;
    private Holder holder;
    private Lease lease;
    private Gate gate;
    private long waiting;
    private long lastArrivalNs;
    private boolean listed;
    private boolean borrows;
    private long limitVersion;
    /** Null until it is needed for the first time. */
    private Lending lending;

    private boolean listedAsBorrower;

    /**
     * @param history where admissions are recorded; null for nowhere
     * @param active where it lists itself when something arrives
     * @param borrowers where it lists itself when it may want to borrow
     */
    TopicGate(
            TopicName topic,
            Holder holder,
            Lease lease,
            long epsilonPpm,
            AdmissionHistory history,
            List<TopicGate> active,
            List<TopicGate> borrowers,
            DemandWindow.Shape windowShape,
            long nowNs) {
        this.topic = topic;
        this.history = history;
        this.active = active;
        this.borrowers = borrowers;
        this.windowShape = windowShape;
        begin(holder, lease, epsilonPpm, nowNs);
    }

    /** A new incarnation begins with nothing. */
    void begin(Holder newHolder, Lease newLease, long epsilonPpm, long nowNs) {
        holder = newHolder;
        lease = newLease;
        gate = new Gate(newLease, epsilonPpm, nowNs);
        lending = null;
    }

    public TopicName topic() {
        return topic;
    }

    /**
     * Takes tokens and checks the lease in one step.
     *
     * @return whether the message passes; it then counts at {@link #stampNs}
     */
    public boolean admit(int tokens, LongSupplier clock) {
        return count(gate.admit(tokens, clock), tokens);
    }

    /** The same for a message that is decided right after the one before: see {@link Gate#admitNext}. */
    public boolean admitNext(int tokens, LongSupplier clock) {
        return count(gate.admitNext(tokens, clock), tokens);
    }

    /** The next message is not decided right after the last one, so it needs readings of the clock of its own. */
    public void endRun() {
        gate.endRun();
    }

    /**
     * The same by the message's arrival rather than by the time of its decision ({@link Gate#admitAt}): the bound then
     * holds over arrivals, and a late thread neither gives a message a token nor costs it one.
     */
    public boolean admitAt(int tokens, long arrivalNs, LongSupplier clock) {
        return count(gate.admitAt(tokens, arrivalNs, clock), tokens);
    }

    private boolean count(Gate.Verdict verdict, int tokens) {
        if (borrows && !listedAsBorrower && (lending == null || lending.hasRoom())) {
            listedAsBorrower = true;
            borrowers.add(this);
        }
        if (verdict == Gate.Verdict.REFUSED) {
            return false;
        }
        boolean kept = verdict == Gate.Verdict.KEPT;
        if (history != null) {
            history.admitted(topic, holder, gate.stampNs(), tokens, kept, lease.remainingNs(gate.stampNs()));
        }
        AtomicLong counter = kept ? admittedKept : admitted;
        counter.lazySet(counter.getPlain() + tokens);
        return true;
    }

    /** After a refusal: when to try again, or {@link io.weir.limiter.algorithm.TokenBucket#NEVER}. */
    public long retryAfterNs(int tokens, long nowNs) {
        return gate.retryAfterNs(tokens, nowNs);
    }

    /** The time at which the last message that passed counts. */
    public long stampNs() {
        return gate.stampNs();
    }

    /** When the last message was decided, as the gate read the clock. */
    public long readNs() {
        return gate.readNs();
    }

    /**
     * The writer says that something came that wants tokens, whether it will get them or not: what demand is made of.
     *
     * @param waitingTokens what waits for this topic now, this included unless it passed already
     */
    public void arrived(int tokens, long waitingTokens, long nowNs) {
        if (!listed) {
            listed = true;
            active.add(this);
        }
        lastArrivalNs = nowNs;
        waiting = waitingTokens;
        if (window == null) {
            window = new DemandWindow(windowShape, nowNs);
        }
        boolean foundNone = waitingTokens > 0 && gate.empty(nowNs);
        window.arrived(tokens, gate.missingMicros(nowNs), waitingTokens, foundNone, nowNs);
    }

    /**
     * Whether it borrows tokens and lends them.
     *
     * @param newLimitVersion only brokers that know the same version of the limit lend to each other
     */
    public void borrow(boolean on, long newLimitVersion, long nowNs) {
        borrows = on;
        limitVersion = newLimitVersion;
        if (lending != null) {
            lending.version(newLimitVersion, nowNs);
            if (!on) {
                lending.cancel(nowNs);
            }
        }
    }

    /** Null if it neither borrows nor lends. */
    private Lending lending(long nowNs) {
        if (lending == null && borrows) {
            lending = new Lending(holder, gate, MOST_LENDERS, Lending.PATIENCE_NS, nowNs);
            lending.version(limitVersion, nowNs);
        }
        return borrows ? lending : null;
    }

    /**
     * The next request to send, if there is one; to be called until it answers false.
     *
     * @param peers the slots that somebody is in, a bit for each
     * @param request is filled
     */
    public boolean ask(long peers, long nowNs, Loan request) {
        Lending mine = lending(nowNs);
        return mine != null && mine.ask(peers, waiting * Limit.MICROS, nowNs, request);
    }

    /** Goes with every request and comes back with its reply. */
    public long incarnation() {
        return holder.incarnation();
    }

    /** As {@link #incarnation}. */
    public long limitVersion() {
        return limitVersion;
    }

    /**
     * Somebody asks for tokens.
     *
     * @param nowNs read after the request came, as for every change of supply: {@link Gates#poll} says why
     * @param reply is filled if there is one to be sent; the tokens have left the gate then
     */
    public boolean lend(int slot, long version, Loan request, long nowNs, Loan reply) {
        Lending mine = lending(nowNs);
        if (mine == null || !mine.onRequest(slot, version, request, waiting * Limit.MICROS, nowNs, reply)) {
            return false;
        }
        recordLoan(nowNs, -reply.micros());
        return true;
    }

    /** A reply came; answers what it brought. */
    public long borrowed(int slot, long incarnation, long version, Loan reply, long nowNs) {
        long added = lending == null ? 0 : lending.onReply(slot, incarnation, version, reply, nowNs);
        recordLoan(nowNs, added);
        return added;
    }

    private void recordLoan(long nowNs, long micros) {
        if (history != null && micros != 0) {
            history.lent(topic, holder, nowNs, micros, lease.remainingNs(nowNs));
        }
    }

    /** The request to that slot could not be sent. */
    public void unasked(int slot, long nowNs) {
        if (lending != null) {
            lending.cancel(slot, nowNs);
        }
    }

    /** Another broker, or another life of it, is in that slot, or nobody. */
    void lenderChanged(int slot, long nowNs) {
        if (lending != null) {
            lending.peerChanged(slot, nowNs);
        }
    }

    /** It was taken from the list of borrowers. */
    void unlistedAsBorrower() {
        listedAsBorrower = false;
    }

    /** A message had to wait for its token. */
    public void countDelayed(int messages) {
        delayed.lazySet(delayed.getPlain() + messages);
    }

    /** A message was turned away. */
    public void countRefused(int messages) {
        refused.lazySet(refused.getPlain() + messages);
    }

    /** Sets how many tokens the waiting messages ask for. */
    public void waiting(long tokens, long nowNs) {
        waiting = tokens;
        if (window != null) {
            window.waiting(tokens, nowNs);
        }
    }

    public long admitted() {
        return admitted.get() + admittedKept.get();
    }

    /** The part of {@link #admitted} that came from the kept account. */
    public long admittedKept() {
        return admittedKept.get();
    }

    public long delayed() {
        return delayed.get();
    }

    public long refused() {
        return refused.get();
    }

    /** For the thread that admits. */
    GateSample sample(boolean hasLenders, long nowNs) {
        return new GateSample(topic, gate.held(nowNs), demand(nowNs), waiting, borrows && hasLenders);
    }

    /** Nothing is lost if it is forgotten: it has no supply, and is listed nowhere. */
    boolean idle(long nowNs) {
        return !listed && !listedAsBorrower && waiting == 0 && gate.held(nowNs).isNone();
    }

    boolean active(long nowNs) {
        return waiting > 0 || nowNs - lastArrivalNs < windowShape.longNs() + windowShape.slotNs();
    }

    private Demand demand(long nowNs) {
        return window == null ? Demand.NONE : window.demand(nowNs);
    }

    Gate gate() {
        return gate;
    }

    /** It was taken from the list. */
    void unlisted() {
        listed = false;
    }
}

package io.weir.limiter.supply.gate;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.DemandWindow;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.value.GateSample;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.agrona.concurrent.ManyToOneConcurrentArrayQueue;

/**
 * The gates of this broker, one a topic. They belong to the one thread that admits, the <i>writer</i>, and live as long
 * as the process, whatever actors and incarnations come and go. Other threads put commands into a bounded queue; the
 * writer carries them out between messages and completes a future with the answer.
 *
 * <p>When the queue is full, a command fails at once. No supply is lost by that: a ledger whose command fails recovers,
 * and resets the gates to what its journal says.
 */
public final class Gates {
    private static final int QUEUE = 1024;
    /**
     * At most so many topics are sampled between two messages, so that sampling thousands delays no message noticeably.
     */
    private static final int SAMPLES_AT_ONCE = 128;

    private static final int LOOKED_AT_ONCE = 512;

    private interface Command {
        /** Answers whether it is done; if not, it is run again after the next messages. */
        boolean run(long nowNs);
    }

    private final long epsilonPpm;
    private final Runnable wakeWriter;
    private final AdmissionHistory history;
    private final DemandWindow.Shape window;
    private final ManyToOneConcurrentArrayQueue<Command> commands = new ManyToOneConcurrentArrayQueue<>(QUEUE);
    private final Map<TopicName, TopicGate> gates = new ConcurrentHashMap<>();
    // Only the writer touches these.
    private final List<TopicGate> active = new ArrayList<>();
    private final List<TopicGate> borrowers = new ArrayList<>();
    private Iterator<TopicGate> looking = Collections.emptyIterator();
    private boolean hasLenders;
    private Holder holder;
    private Lease lease;
    private Command unfinished;

    /**
     * @param lease of the first incarnation
     * @param wakeWriter called after every command, by any thread
     */
    public Gates(Holder holder, Lease lease, long epsilonPpm, Runnable wakeWriter) {
        this(holder, lease, epsilonPpm, wakeWriter, null, DemandWindow.Shape.USUAL);
    }

    /**
     * @param history where admissions are recorded; null for nowhere
     * @param window over which demand is measured
     */
    public Gates(
            Holder holder,
            Lease lease,
            long epsilonPpm,
            Runnable wakeWriter,
            AdmissionHistory history,
            DemandWindow.Shape window) {
        this.history = history;
        this.window = window;
        this.holder = holder;
        this.lease = lease;
        this.epsilonPpm = epsilonPpm;
        this.wakeWriter = wakeWriter;
    }

    /**
     * The writer's duty: carries out commands; answers how many.
     *
     * @param clock read after each command was taken from the queue. The time at which the writer's turn began would be
     *     too early: a writer that lost its core after reading it would find supply that was stored meanwhile, and let
     *     it accrue from before it came.
     */
    public int poll(LongSupplier clock) {
        int done = 0;
        while (done < QUEUE) {
            Command command = unfinished != null ? unfinished : commands.poll();
            if (command == null) {
                return done;
            }
            done++;
            if (!command.run(clock.getAsLong())) {
                unfinished = command;
                return done;
            }
            unfinished = null;
        }
        return done;
    }

    /** A topic's gate, for the writer. A gate that has no supply refuses everything. */
    public TopicGate gate(TopicName topic, long nowNs) {
        TopicGate gate = gates.get(topic);
        if (gate == null) {
            gate = new TopicGate(topic, holder, lease, epsilonPpm, history, active, borrowers, window, nowNs);
            gates.put(topic, gate);
        }
        return gate;
    }

    /**
     * The writer's, now and then: forgets gates that have no supply and that nobody uses, so that names which come and
     * go leave nothing behind. Looks at some of them in each call, and at all in turn.
     *
     * @param used whether the writer has kept a topic's gate
     */
    public void forgetIdle(Predicate<TopicName> used, long nowNs) {
        if (!looking.hasNext()) {
            looking = gates.values().iterator();
        }
        for (int i = 0; i < LOOKED_AT_ONCE && looking.hasNext(); i++) {
            TopicGate gate = looking.next();
            if (gate.idle(nowNs) && !used.test(gate.topic())) {
                looking.remove();
            }
        }
    }

    /** What is done with a gate that may want to borrow. */
    @FunctionalInterface
    public interface Borrower {
        void ask(TopicGate gate);
    }

    /** The writer's, at the end of a turn: every gate that may want to borrow since the last call. */
    public void askAll(Borrower borrower) {
        for (int i = 0; i < borrowers.size(); i++) {
            TopicGate gate = borrowers.get(i);
            gate.unlistedAsBorrower();
            borrower.ask(gate);
        }
        borrowers.clear();
    }

    /**
     * The writer's: another broker, or another life of it, is in that slot of lenders, or nobody.
     *
     * @param anybody whether there is anybody at all to borrow from
     */
    public void lenderChanged(int slot, boolean anybody, long nowNs) {
        hasLenders = anybody;
        gates.values().forEach(gate -> gate.lenderChanged(slot, nowNs));
    }

    /** For reading counters, by any thread. */
    public Collection<TopicGate> all() {
        return gates.values();
    }

    /** Another incarnation begins with nothing. What the former one held is gone from the gates. */
    public CompletionStage<Void> begin(Holder newHolder, Lease newLease) {
        return ask(nowNs -> {
            holder = newHolder;
            lease = newLease;
            gates.values().forEach(gate -> gate.begin(newHolder, newLease, epsilonPpm, nowNs));
            return null;
        });
    }

    /**
     * Completes when the writer has run it: whatever it admits from then on, it admits after all commands before this
     * one.
     */
    public CompletionStage<Void> barrier() {
        return ask(nowNs -> null);
    }

    /**
     * {@link io.weir.limiter.supply.gate.algorithm.Gate#release}; answers what was removed: nothing if {@code of} is
     * not the holder now.
     */
    public CompletionStage<Map<TopicName, Holding>> remove(Holder of, Map<TopicName, Holding> wanted) {
        return ask(nowNs -> {
            Map<TopicName, Holding> removed = new LinkedHashMap<>();
            if (of.equals(holder)) {
                wanted.forEach((topic, holding) ->
                        removed.put(topic, gate(topic, nowNs).gate().release(holding, nowNs)));
            }
            return removed;
        });
    }

    /** Adds this, unless {@code to} is not the holder now. */
    public CompletionStage<Void> add(Holder to, Map<TopicName, Holding> more) {
        return ask(nowNs -> {
            if (to.equals(holder)) {
                more.forEach((topic, holding) -> gate(topic, nowNs).gate().add(holding, nowNs));
            }
            return null;
        });
    }

    /** Lets the gates hold exactly this, at level 0, unless {@code of} is not the holder now. */
    public CompletionStage<Void> reset(Holder of, Map<TopicName, Holding> all) {
        return ask(nowNs -> {
            if (of.equals(holder)) {
                gates.values().forEach(gate -> gate.gate().reset(Holding.NONE, nowNs));
                all.forEach((topic, holding) -> gate(topic, nowNs).gate().reset(holding, nowNs));
            }
            return null;
        });
    }

    /** What one topic's gate holds, and what is asked of it. */
    public CompletionStage<GateSample> sample(TopicName topic) {
        return ask(nowNs -> gate(topic, nowNs).sample(hasLenders, nowNs));
    }

    /** Samples of the topics that had arrivals lately; the demand for all others is 0. */
    public CompletionStage<List<GateSample>> samples() {
        CompletableFuture<List<GateSample>> answer = new CompletableFuture<>();
        List<GateSample> samples = new ArrayList<>();
        int[] next = {0};
        offer(answer, nowNs -> {
            int end = Math.min(active.size(), next[0] + SAMPLES_AT_ONCE);
            for (; next[0] < end; next[0]++) {
                samples.add(active.get(next[0]).sample(hasLenders, nowNs));
            }
            if (end < active.size()) {
                return false;
            }
            delistQuiet(nowNs);
            answer.complete(samples);
            return true;
        });
        return answer;
    }

    private void delistQuiet(long nowNs) {
        for (Iterator<TopicGate> all = active.iterator(); all.hasNext(); ) {
            TopicGate gate = all.next();
            if (!gate.active(nowNs)) {
                gate.unlisted();
                all.remove();
            }
        }
    }

    private interface Work<T> {
        T at(long nowNs);
    }

    private <T> CompletionStage<T> ask(Work<T> work) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        offer(answer, nowNs -> {
            answer.complete(work.at(nowNs));
            return true;
        });
        return answer;
    }

    private void offer(CompletableFuture<?> answer, Command command) {
        if (!commands.offer(command)) {
            answer.completeExceptionally(new IllegalStateException(
                    "the gates' queue of " + QUEUE + " commands is full: their thread stands"));
        }
        wakeWriter.run();
    }
}

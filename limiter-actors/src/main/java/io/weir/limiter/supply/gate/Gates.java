package io.weir.limiter.supply.gate;

import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.protocol.GateSample;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.agrona.concurrent.ManyToOneConcurrentArrayQueue;

/**
 * The gates of this broker, one a topic. They belong to the one thread that admits, the <i>writer</i>, and live as long as the
 * process: actors come and go, and so do incarnations. Whoever else wants something of them puts a command into a bounded
 * queue, which the writer carries out between messages, and is answered by a future that the writer completes.
 *
 * <p>When the queue is full the command fails at once. Nobody loses supply by that: a ledger that fails recovers, and
 * resets the gates to what its journal says.
 */
public final class Gates {
    private static final int QUEUE = 1024;
    /** So many topics are looked at between two messages, so that a report of thousands delays none noticeably. */
    private static final int SAMPLES_AT_ONCE = 128;

    private interface Command {
        /** Whether it is done; else it goes on after the next messages. */
        boolean run(long nowNs);
    }

    private final long epsilonPpm;
    private final Runnable wakeWriter;
    private final AdmissionHistory history;
    private final ManyToOneConcurrentArrayQueue<Command> commands = new ManyToOneConcurrentArrayQueue<>(QUEUE);
    private final Map<TopicName, TopicGate> gates = new ConcurrentHashMap<>();
    // The writer's own.
    private final List<TopicGate> active = new ArrayList<>();
    private Holder holder;
    private Lease lease;
    private Command unfinished;

    /**
     * @param lease of the first incarnation
     * @param wakeWriter called after every command, by any thread
     */
    public Gates(Holder holder, Lease lease, long epsilonPpm, Runnable wakeWriter) {
        this(holder, lease, epsilonPpm, wakeWriter, null);
    }

    /** @param history where admissions are recorded; null for nowhere */
    public Gates(Holder holder, Lease lease, long epsilonPpm, Runnable wakeWriter, AdmissionHistory history) {
        this.history = history;
        this.holder = holder;
        this.lease = lease;
        this.epsilonPpm = epsilonPpm;
        this.wakeWriter = wakeWriter;
    }

    /** The writer's duty: carries out what was asked for; answers how much. */
    public int poll(long nowNs) {
        int done = 0;
        while (done < QUEUE) {
            Command command = unfinished != null ? unfinished : commands.poll();
            if (command == null) {
                return done;
            }
            done++;
            if (!command.run(nowNs)) {
                unfinished = command;
                return done;
            }
            unfinished = null;
        }
        return done;
    }

    /** The writer's way to a topic's gate; one that nobody gave supply refuses everything. */
    public TopicGate gate(TopicName topic, long nowNs) {
        TopicGate gate = gates.get(topic);
        if (gate == null) {
            gate = new TopicGate(topic, holder, lease, epsilonPpm, history, active, nowNs);
            gates.put(topic, gate);
        }
        return gate;
    }

    /** For reading counters, by any thread. */
    public Collection<TopicGate> all() {
        return gates.values();
    }

    /** Another incarnation begins, with nothing. What the former one held is gone from the gates. */
    public CompletionStage<Void> begin(Holder newHolder, Lease newLease) {
        return ask(nowNs -> {
            holder = newHolder;
            lease = newLease;
            gates.values().forEach(gate -> gate.begin(newHolder, newLease, epsilonPpm, nowNs));
            return null;
        });
    }

    /** Completes when the writer has come by: what it admits from now on, it admits knowing what was told before this call. */
    public CompletionStage<Void> barrier() {
        return ask(nowNs -> null);
    }

    /** {@link io.weir.limiter.supply.gate.algorithm.Gate#release}; answers what it was. For the holder it is meant for only. */
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

    public CompletionStage<Void> add(Holder to, Map<TopicName, Holding> more) {
        return ask(nowNs -> {
            if (to.equals(holder)) {
                more.forEach((topic, holding) -> gate(topic, nowNs).gate().add(holding, nowNs));
            }
            return null;
        });
    }

    /** The gates of this holder hold exactly this, at level 0. */
    public CompletionStage<Void> reset(Holder of, Map<TopicName, Holding> all) {
        return ask(nowNs -> {
            if (of.equals(holder)) {
                gates.values().forEach(gate -> gate.gate().reset(Holding.NONE, nowNs));
                all.forEach((topic, holding) -> gate(topic, nowNs).gate().reset(holding, nowNs));
            }
            return null;
        });
    }

    /** What the gate of one topic holds, and what is asked of it. */
    public CompletionStage<GateSample> sample(TopicName topic) {
        return ask(nowNs -> gate(topic, nowNs).sample(nowNs));
    }

    /** The topics that something arrived for lately; of all others the demand is 0. */
    public CompletionStage<List<GateSample>> samples() {
        CompletableFuture<List<GateSample>> answer = new CompletableFuture<>();
        List<GateSample> samples = new ArrayList<>();
        int[] next = {0};
        offer(answer, nowNs -> {
            int end = Math.min(active.size(), next[0] + SAMPLES_AT_ONCE);
            for (; next[0] < end; next[0]++) {
                samples.add(active.get(next[0]).sample(nowNs));
            }
            if (end < active.size()) {
                return false;
            }
            forgetTheQuiet(nowNs);
            answer.complete(samples);
            return true;
        });
        return answer;
    }

    private void forgetTheQuiet(long nowNs) {
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

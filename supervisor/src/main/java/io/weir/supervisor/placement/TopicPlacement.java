package io.weir.supervisor.placement;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.Assignment;
import io.weir.supervisor.placement.algorithm.LoadDistribution;
import io.weir.supervisor.placement.algorithm.PlacedTopic;
import io.weir.supervisor.placement.algorithm.Policy;
import io.weir.supervisor.placement.algorithm.TopicTrace;
import io.weir.supervisor.placement.algorithm.Trigger;
import io.weir.topics.algorithm.DelayCounts;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.agrona.collections.LongHashSet;

/**
 * One topic as the {@link Distributor} keeps it: what is stored, what is being decided, who came since.
 *
 * <pre>
 *   settled ── a reason to place it ──► run: proposes, is measured, proposes ... ── run over, and the last proposal stored ──► settled
 *   run ── another's decision is in the store ──► settled with that one
 * </pre>
 */
final class TopicPlacement {
    private static final int KEPT_REFUSALS = 16;
    private static final long TURN_NS = 15_000_000_000L;

    /** How a topic's messages fare at one broker: the last half to whole minute. */
    static final class Seen {
        private int[] older = new int[DelayCounts.CLASSES];
        private int[] newer = new int[DelayCounts.CLASSES];
        private long beganNs;
        private long olderNs;
        private long lastNs;
        private long olderMessages;
        private long newerMessages;

        private Seen(long nowNs) {
            beganNs = nowNs;
        }

        private void add(DelayCounts.Window window, long nowNs) {
            turn(nowNs);
            lastNs = nowNs;
            newerMessages += window.messages();
            for (int i = 0; i < newer.length; i++) {
                newer[i] += window.counts()[i];
            }
        }

        private void turn(long nowNs) {
            if (nowNs - beganNs >= TURN_NS) {
                older = newer;
                olderMessages = newerMessages;
                olderNs = nowNs - beganNs;
                newer = new int[DelayCounts.CLASSES];
                newerMessages = 0;
                beganNs = nowNs;
            }
        }

        long p99Ns() {
            int[] both = newer.clone();
            for (int i = 0; i < both.length; i++) {
                both[i] += older[i];
            }
            return new DelayCounts.Window(0, olderMessages + newerMessages, both).quantileNs(0.99);
        }

        double rate(long nowNs) {
            turn(nowNs);
            double seconds = (olderNs + nowNs - beganNs) / 1e9;
            return seconds < 1 ? 0 : (olderMessages + newerMessages) / seconds;
        }

        boolean recent(long nowNs) {
            return nowNs - lastNs < 2 * TURN_NS;
        }
    }

    /** Several brokers' counts of messages that one let pass. */
    static final class Gathered {
        private final int[] counts = new int[DelayCounts.CLASSES];
        private long messages;
        private long fromNs;

        void add(DelayCounts.Window window, long windowFromNs) {
            fromNs = messages == 0 ? windowFromNs : Math.min(fromNs, windowFromNs);
            messages += window.messages();
            for (int i = 0; i < counts.length; i++) {
                counts[i] += window.counts()[i];
            }
        }

        DelayCounts.Window window() {
            return new DelayCounts.Window(messages, messages, counts);
        }

        long fromNs() {
            return fromNs;
        }
    }

    /** A topic on its way to its place. */
    static final class Run {
        final LoadDistribution distribution;
        final List<BrokerId> brokers;
        final long[] ids;
        private final LongHashSet members;
        final Policy policy;
        final Trigger trigger;
        final Optional<TopicTrace> trace;
        /** The stored revisions from this one on have the current assignment. */
        long sinceRevision = Long.MAX_VALUE;
        /** The assignment that was proposed last. */
        long proposed;

        /** @param trace that it was forecast by; empty: by the formula, if at all */
        Run(
                LoadDistribution distribution,
                List<BrokerId> brokers,
                long[] ids,
                Policy policy,
                Trigger trigger,
                Optional<TopicTrace> trace) {
            this.distribution = distribution;
            this.brokers = brokers;
            this.ids = ids;
            this.members = new LongHashSet(2 * ids.length + 1);
            for (long id : ids) {
                members.add(id);
            }
            this.policy = policy;
            this.trigger = trigger;
            this.trace = trace;
        }

        boolean over() {
            return distribution.state() != LoadDistribution.State.MEASURING;
        }

        /** What the current assignment takes of the brokers. */
        Map<BrokerId, Double> rates() {
            Assignment assignment = distribution.assignment();
            Map<BrokerId, Double> rates = new HashMap<>();
            for (int broker = 0; broker < assignment.brokers(); broker++) {
                if (assignment.rate(broker) > 0) {
                    rates.put(brokers.get(broker), assignment.rate(broker));
                }
            }
            return rates;
        }
    }

    final TopicName name;
    final int index;
    /** From arrival at the cluster to a consumer, by the broker that let the messages pass ... */
    final Map<BrokerId, Seen> seen = new HashMap<>();
    /** ... from arrival to passing the limit there ... */
    final Map<BrokerId, Seen> passed = new HashMap<>();
    /** ... and of messages that waited for a consumer, by the broker where they did. */
    final Map<BrokerId, Seen> late = new HashMap<>();
    /** What consumers' brokers have said of a broker's messages since that one reported last. */
    final Map<BrokerId, Gathered> gathered = new HashMap<>();

    final Deque<String> refusals = new ArrayDeque<>();
    final LongHashSet newcomers = new LongHashSet();
    private LongHashSet seated = new LongHashSet();

    PlacedTopic placed;
    /** The last decision that was seen in the store; null: none. */
    Decision stored;
    /** On its way into the store. */
    Decision pending;

    Run run;
    /** What this topic takes of the brokers. */
    Map<BrokerId, Double> allocation = Map.of();

    boolean gone;
    long firstCameNs;
    long lastCameNs;
    long storedNs;
    /** When the last run ended here; meaningless before the first. */
    long runEndedNs;

    boolean hadRun;
    /** How often found groups had changed when the last run began. */
    long placedAtChange;
    /** ... and when it was last looked whether its brokers have them unevenly. */
    long judgedAtChange;

    boolean groupsUneven;

    TopicPlacement(PlacedTopic placed, int index) {
        this.name = placed.name();
        this.index = index;
        this.placed = placed;
    }

    /** Placed, and not on its way to another place. */
    boolean settled() {
        return run == null && stored != null && stored.isOver() && !dissolved();
    }

    /** Nothing is stored that would have to be taken back. */
    boolean dissolved() {
        return stored == null || stored.state() == Decision.State.DISSOLVED;
    }

    long revision() {
        return stored == null ? 0 : stored.revision();
    }

    void came(long id, long nowNs) {
        // A publisher that was away when the run began has no seat in it, even if it had one before.
        boolean hasSeat = run == null ? seated.contains(id) : run.members.contains(id);
        if (!hasSeat && !newcomers.contains(id)) {
            if (newcomers.isEmpty()) {
                firstCameNs = nowNs;
            }
            newcomers.add(id);
            lastCameNs = nowNs;
        }
    }

    void left(long id) {
        newcomers.remove(id);
    }

    void refused(String why) {
        if (!refusals.contains(why)) {
            refusals.add(why);
            if (refusals.size() > KEPT_REFUSALS) {
                refusals.remove();
            }
        }
    }

    /** The decision is in the store. Publishers that it seats, or says to be unplaced, are no newcomers. */
    void adopt(Decision decision, long nowNs) {
        stored = decision;
        storedNs = nowNs;
        LongHashSet known = new LongHashSet();
        decision.parts().forEach(part -> addAll(part.ids(), known));
        addAll(decision.unplaced(), known);
        seated = known;
        LongHashSet.LongIterator each = newcomers.iterator();
        while (each.hasNext()) {
            if (known.contains(each.nextValue())) {
                each.remove();
            }
        }
    }

    private static void addAll(byte[] packed, LongHashSet into) {
        for (long id : Decision.unpack(packed)) {
            into.add(id);
        }
    }

    int seatedCount() {
        return seated.size();
    }

    static void note(Map<BrokerId, Seen> where, BrokerId broker, DelayCounts.Window window, long nowNs) {
        if (window.messages() > 0) {
            where.computeIfAbsent(broker, fresh -> new Seen(nowNs)).add(window, nowNs);
        }
    }

    /** How many publishers change their homes by a decision. */
    long moves(Decision next) {
        Map<Long, BrokerId> before = stored == null ? Map.of() : stored.homes();
        return next.homes().entrySet().stream()
                .filter(entry -> !entry.getValue().equals(before.get(entry.getKey())))
                .count();
    }
}

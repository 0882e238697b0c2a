package io.weir.supervisor.placement.algorithm;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * When a topic is placed again: when something has really changed, never because of noise.
 *
 * <pre>
 *  a topic arrives                          at once
 *  a broker dies or leaves                  at once, the topics that had publishers there
 *  a topic leaves, a broker joins           only topics whose last run did not fit: what fits is left alone
 *  a broker breaks a topic's objective      after it did so for long, nearly all the time, not soon after its last run
 * </pre>
 *
 * <p>"For long" is a leaky account of time: a window that breaks the objective adds its length, one that keeps it takes
 * three times its length away, so that a broker that is bad for less than three quarters of the time never gets there.
 * After a run that did not help, the pause doubles up to a day. The caller numbers topics and brokers.
 */
public final class ReplanRule {
    /** A topic to place again. */
    public record Replan(int topic, Trigger trigger) {}

    private static final int FORGIVENESS = 3;
    private static final long DAY_NS = 86_400_000_000_000L;

    private final long longNs;
    private final long pauseNs;
    private final Map<Integer, Known> topics = new HashMap<>();

    private static final class Known {
        final Map<Integer, Long> brokenNs = new HashMap<>();
        boolean running = true;
        boolean fitted;
        boolean forObjective;
        long endedNs;
        long pauseNs;
    }

    /**
     * @param longNs how long an objective must be broken
     * @param pauseNs how long after a run at the earliest a broken objective starts another one
     */
    public ReplanRule(long longNs, long pauseNs) {
        if (longNs <= 0 || pauseNs <= 0) {
            throw new IllegalArgumentException("hysteresis of " + longNs + " ns and " + pauseNs
                    + " ns: both must be above 0, or noise would move publishers");
        }
        this.longNs = longNs;
        this.pauseNs = pauseNs;
    }

    public Optional<Replan> onTopicArrived(int topic) {
        if (topics.containsKey(topic)) {
            return Optional.empty();
        }
        Known known = new Known();
        known.pauseNs = pauseNs;
        topics.put(topic, known);
        return Optional.of(new Replan(topic, Trigger.TOPIC_ARRIVED));
    }

    /** What it leaves is room for those that lack it. */
    public List<Replan> onTopicLeft(int topic) {
        return topics.remove(topic) == null ? List.of() : roomAppeared();
    }

    public List<Replan> onBrokerJoined() {
        return roomAppeared();
    }

    /** @param affected the topics that have publishers there */
    public List<Replan> onBrokerGone(int broker, List<Integer> affected) {
        List<Replan> replans = new ArrayList<>();
        topics.values().forEach(known -> known.brokenNs.remove(broker));
        for (int topic : affected) {
            Known known = topics.get(topic);
            if (known != null && !known.running) {
                known.running = true;
                known.forObjective = false;
                replans.add(new Replan(topic, Trigger.BROKER_GONE));
            }
        }
        return replans;
    }

    /** A window of one broker and topic: whether more of its messages were too slow than tolerated. */
    public Optional<Replan> onWindow(int topic, int broker, boolean broken, long windowNs, long nowNs) {
        Known known = topics.get(topic);
        if (known == null || known.running) {
            return Optional.empty();
        }
        long account = known.brokenNs.getOrDefault(broker, 0L) + (broken ? windowNs : -FORGIVENESS * windowNs);
        if (account <= 0) {
            known.brokenNs.remove(broker);
            return Optional.empty();
        }
        known.brokenNs.put(broker, Math.min(account, longNs));
        if (account < longNs || nowNs - known.endedNs < known.pauseNs) {
            return Optional.empty();
        }
        known.running = true;
        known.forObjective = true;
        return Optional.of(new Replan(topic, Trigger.OBJECTIVE_BROKEN));
    }

    /**
     * A run has ended. One for a broken objective that fits makes the next pause short again; one that does not doubles
     * it.
     */
    public void onRunEnded(int topic, boolean fitted, long nowNs) {
        Known known = topics.get(topic);
        if (known == null) {
            return;
        }
        if (fitted) {
            known.pauseNs = pauseNs;
        } else if (known.forObjective) {
            known.pauseNs = Math.min(DAY_NS, 2 * known.pauseNs);
        }
        known.running = false;
        known.fitted = fitted;
        known.endedNs = nowNs;
        known.brokenNs.clear();
    }

    private List<Replan> roomAppeared() {
        List<Replan> replans = new ArrayList<>();
        topics.forEach((topic, known) -> {
            if (!known.running && !known.fitted) {
                known.running = true;
                known.forObjective = false;
                replans.add(new Replan(topic, Trigger.ROOM_APPEARED));
            }
        });
        return replans;
    }
}

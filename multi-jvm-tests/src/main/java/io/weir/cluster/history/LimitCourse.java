package io.weir.cluster.history;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Share;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * What a topic's limit was, when. What a change adds counts from the moment it was asked for, what it takes away from
 * the moment it was seen to be done: in between either limit may hold. A change that was asked for and never seen to be
 * done may hold until the next one that was.
 */
public final class LimitCourse {
    /** More or less of a limit from a moment on. */
    record Change(long atNs, long rateMicros, long burstMicros, long levelMicros) {
        boolean adds() {
            return rateMicros >= 0 && burstMicros >= 0 && (levelMicros >= 0 || rateMicros > 0 || burstMicros > 0);
        }
    }

    /**
     * From a moment on.
     *
     * @param asked whether it was only asked for
     */
    public record Step(long atNs, Share limit, boolean asked) {}

    private final List<Step> steps = new ArrayList<>();

    public LimitCourse() {}

    /** @param askedNs before the topic was created; its bucket begins full */
    public LimitCourse(Limit first, long askedNs) {
        inEffect(share(first), askedNs);
    }

    public void changed(Limit next, long askedNs, long doneNs) {
        asked(share(next), askedNs);
        inEffect(share(next), doneNs);
    }

    public void asked(Share limit, long atNs) {
        steps.add(new Step(atNs, limit, true));
    }

    public void inEffect(Share limit, long atNs) {
        steps.add(new Step(atNs, limit, false));
    }

    private static Share share(Limit limit) {
        return new Share(limit.rateMicros(), limit.burstMicros());
    }

    /** In the order of time; at the same time what was asked for comes first. */
    List<Step> steps() {
        return steps.stream()
                .sorted(Comparator.comparingLong(Step::atNs).thenComparing(Step::asked, Comparator.reverseOrder()))
                .toList();
    }

    /** The most that may hold from each step on. */
    List<Step> envelope() {
        List<Step> most = new ArrayList<>();
        List<Share> pending = new ArrayList<>();
        Share last = Share.NONE;
        for (Step step : steps()) {
            if (step.asked) {
                pending.add(step.limit);
            } else {
                // Versions come one after the other: once one is done nothing that was asked for before it can still
                // come.
                int own = pending.indexOf(step.limit);
                pending.subList(0, own < 0 ? pending.size() : own + 1).clear();
                last = step.limit;
            }
            Share all = last;
            for (Share each : pending) {
                all = all.plus(each.above(all));
            }
            most.add(new Step(step.atNs, all, step.asked));
        }
        return most;
    }

    /** The most that may hold at a moment; empty before there was any. */
    public Optional<Share> at(long ns) {
        Optional<Share> found = Optional.empty();
        for (Step step : envelope()) {
            if (step.atNs <= ns) {
                found = Optional.of(step.limit);
            }
        }
        return found;
    }

    List<Change> changes() {
        List<Change> changes = new ArrayList<>();
        Share before = Share.NONE;
        boolean known = false;
        for (Step step : envelope()) {
            long rate = step.limit.rateMicros() - before.rateMicros();
            long burst = step.limit.burstMicros() - before.burstMicros();
            // Only a name's first version begins full; a raise begins with what there was.
            long level = known ? 0 : Math.max(0, burst);
            changes.add(new Change(step.atNs, Math.max(0, rate), Math.max(0, burst), level));
            changes.add(new Change(step.atNs, Math.min(0, rate), Math.min(0, burst), 0));
            before = step.limit;
            known |= !step.asked;
        }
        changes.removeIf(change -> change.rateMicros == 0 && change.burstMicros == 0);
        return changes;
    }
}

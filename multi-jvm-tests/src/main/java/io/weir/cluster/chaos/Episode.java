package io.weir.cluster.chaos;

import java.util.Comparator;
import java.util.List;
import java.util.Set;

/**
 * One fault from its first act to its last, which undoes it.
 *
 * @param startMs since the first fault could come
 * @param text what happens, for people: {@code b3 | b1 b2 store}
 * @param hosts whom it befalls
 * @param down brokers that do not run for a part of it
 */
public record Episode(Fault fault, long startMs, List<Step> steps, String text, List<String> hosts, Set<String> down) {
    /** An act, so long after the episode's start. */
    public record Step(long afterMs, Act act) {}

    public Episode {
        steps = steps.stream().sorted(Comparator.comparingLong(Step::afterMs)).toList();
        hosts = List.copyOf(hosts);
        down = Set.copyOf(down);
        if (steps.isEmpty()) {
            throw new IllegalArgumentException(fault + " does nothing");
        }
    }

    Episode at(long newStartMs) {
        return new Episode(fault, newStartMs, steps, text, hosts, down);
    }

    long lengthMs() {
        return steps.get(steps.size() - 1).afterMs();
    }

    long endMs() {
        return startMs + lengthMs();
    }
}

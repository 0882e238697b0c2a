package io.weir.cluster.chaos;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;

/**
 * Which fault comes when. The same seed, scene, duration and faults give the same schedule, act for act.
 *
 * <ul>
 *   <li>Faults are drawn from a bag that is filled again when it is empty, so that all come before one comes twice.
 *   <li>They follow each other with a rest between; now and then one has a companion that touches something else, such
 *       as a kill in the middle of a partition.
 *   <li>At no time are more brokers down than leave a majority, and no two processes are started within
 *       {@link #BETWEEN_STARTS_MS}: on two cores each start takes most of a core for seconds.
 *   <li>Every fault ends before the schedule does, and undoes all that it did.
 * </ul>
 */
public record FaultSchedule(long seed, List<Episode> episodes) {
    static final int BETWEEN_STARTS_MS = 3_000;
    private static final int LEAST_REST_MS = BETWEEN_STARTS_MS;
    private static final int MOST_REST_MS = 6_000;
    private static final int COMPANION_PERCENT = 35;
    /** Attempts to find a companion that fits. */
    private static final int TRIES = 8;

    /** An act at its moment since the schedule's start. */
    public record Timed(long atMs, Episode episode, Act act) {}

    public FaultSchedule {
        episodes = List.copyOf(episodes);
    }

    /**
     * @param faults those that may come; at least one must be possible in the scene
     * @param duration within which all of them end; the first comes even if it takes longer
     */
    public static FaultSchedule of(long seed, Scene scene, List<Fault> faults, Duration duration) {
        List<Fault> possible =
                faults.stream().filter(fault -> fault.possible(scene)).toList();
        if (possible.isEmpty()) {
            throw new IllegalArgumentException("none of " + faults + " is possible with "
                    + scene.brokers().size() + " brokers and " + scene.means());
        }
        Random random = new Random(seed);
        List<Episode> episodes = new ArrayList<>();
        List<Fault> bag = new ArrayList<>();
        long nowMs = 0;
        while (true) {
            if (bag.isEmpty()) {
                bag.addAll(possible);
                Collections.shuffle(bag, random);
            }
            Fault fault = bag.remove(bag.size() - 1);
            Episode next = fault.describe(new FaultDraw(random, scene, fault, Set.of()))
                    .at(nowMs);
            if (next.endMs() > duration.toMillis() && !episodes.isEmpty()) {
                return new FaultSchedule(seed, episodes);
            }
            episodes.add(next);
            long endMs = next.endMs();
            if (random.nextInt(100) < COMPANION_PERCENT) {
                Optional<Episode> companion = companion(random, scene, possible, next, duration.toMillis());
                companion.ifPresent(episodes::add);
                endMs = Math.max(endMs, companion.map(Episode::endMs).orElse(0L));
            }
            nowMs = endMs + LEAST_REST_MS + random.nextInt(MOST_REST_MS - LEAST_REST_MS + 1);
        }
    }

    private static Optional<Episode> companion(
            Random random, Scene scene, List<Fault> possible, Episode first, long latestMs) {
        for (int i = 0; i < TRIES; i++) {
            Fault fault = possible.get(random.nextInt(possible.size()));
            if (fault.touches() == first.fault().touches()) {
                continue;
            }
            Episode second = fault.describe(new FaultDraw(random, scene, fault, first.down()))
                    .at(first.startMs() + random.nextInt((int) first.lengthMs() + 1));
            if (second.endMs() <= latestMs
                    && first.down().size() + second.down().size() <= scene.mostDown()
                    && startsApart(first, second)
                    && !bothChangeLimits(first, second)) {
                return Optional.of(second);
            }
        }
        return Optional.empty();
    }

    private static boolean startsApart(Episode first, Episode second) {
        List<Long> later = starts(second);
        return starts(first).stream().allMatch(a -> later.stream().allMatch(b -> Math.abs(a - b) >= BETWEEN_STARTS_MS));
    }

    /** Two changes of one limit at a time would each undo the other. */
    private static boolean bothChangeLimits(Episode first, Episode second) {
        return changesLimits(first) && changesLimits(second);
    }

    private static boolean changesLimits(Episode episode) {
        return episode.steps().stream().anyMatch(step -> step.act() instanceof Act.ChangeLimit);
    }

    /** When a process is started. */
    static List<Long> starts(Episode episode) {
        return episode.steps().stream()
                .filter(step -> step.act() instanceof Act.Start
                        || step.act() instanceof Act.Join
                        || step.act() instanceof Act.StartStore
                        || step.act() instanceof Act.StartDriver)
                .map(step -> episode.startMs() + step.afterMs())
                .toList();
    }

    /** Every act in the order of time; those of one moment as their episodes come. */
    public List<Timed> timed() {
        return episodes.stream()
                .flatMap(episode -> episode.steps().stream()
                        .map(step -> new Timed(episode.startMs() + step.afterMs(), episode, step.act())))
                .sorted(Comparator.comparingLong(Timed::atMs))
                .toList();
    }
}

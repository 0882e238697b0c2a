package io.weir.cluster.chaos;

import io.weir.cluster.failpoints.BrokenRule;
import io.weir.cluster.failpoints.Sabotage;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a chaos run is asked for: {@code ChaosPlan.of(5, seed, duration, directory).withFloors(List.of(0.5))}.
 *
 * @param duration of the faults; the start, mending, the load afterwards and the check come on top
 * @param directory for logs, histories and the report; new or empty
 * @param faults those that may come
 * @param floors φ of the topics, in turn
 * @param storeUrl a database that somebody else runs, instead of the embedded store
 * @param processFaultsOnly brokers on loopback, without a network that could be cut
 * @param flooded more load than the limits let through all the time, instead of one that goes up and down
 * @param brief ends when the cluster has mended, without the load that shows that the limits are used
 * @param sabotage of every broker: none, unless a test wants to see that it is noticed
 */
public record ChaosPlan(
        int brokers,
        long seed,
        Duration duration,
        Path directory,
        List<Fault> faults,
        List<Double> floors,
        Optional<String> storeUrl,
        boolean processFaultsOnly,
        boolean flooded,
        boolean brief,
        Sabotage sabotage) {
    public static final int LEAST_BROKERS = 3;
    public static final int MOST_BROKERS = 9;

    public ChaosPlan {
        if (brokers < LEAST_BROKERS || brokers > MOST_BROKERS) {
            throw new IllegalArgumentException("--brokers " + brokers + " is not possible: " + LEAST_BROKERS
                    + ", so that a majority is left when one is gone, to " + MOST_BROKERS);
        }
        if (duration.toSeconds() < 5 || duration.toHours() > 24) {
            throw new IllegalArgumentException(
                    "--duration " + duration.toMillis() / 1e3 + " s is not possible: 5 s to 24 h");
        }
        if (floors.isEmpty() || !floors.stream().allMatch(floor -> floor >= 0 && floor <= 1)) {
            throw new IllegalArgumentException("--floor " + floors + " is not a part of a limit: 0 to 1");
        }
        faults = List.copyOf(faults);
        floors = List.copyOf(floors);
    }

    /** Every fault, a floor of 0. */
    public static ChaosPlan of(int brokers, long seed, Duration duration, Path directory) {
        return new ChaosPlan(
                brokers,
                seed,
                duration,
                directory,
                List.of(Fault.values()),
                List.of(0.0),
                Optional.empty(),
                false,
                false,
                false,
                Sabotage.NONE);
    }

    public ChaosPlan withFaults(List<Fault> some) {
        return with(some, floors, storeUrl, processFaultsOnly, flooded, brief, sabotage);
    }

    public ChaosPlan withFloors(List<Double> some) {
        return with(faults, some, storeUrl, processFaultsOnly, flooded, brief, sabotage);
    }

    public ChaosPlan withStore(Optional<String> url) {
        return with(faults, floors, url, processFaultsOnly, flooded, brief, sabotage);
    }

    public ChaosPlan withProcessFaultsOnly(boolean only) {
        return with(faults, floors, storeUrl, only, flooded, brief, sabotage);
    }

    public ChaosPlan flooding() {
        return with(faults, floors, storeUrl, processFaultsOnly, true, brief, sabotage);
    }

    public ChaosPlan endingBriefly() {
        return with(faults, floors, storeUrl, processFaultsOnly, flooded, true, sabotage);
    }

    public ChaosPlan breaking(BrokenRule rule) {
        return with(faults, floors, storeUrl, processFaultsOnly, flooded, brief, sabotage.breaking(rule));
    }

    /** Every broker's monotonic clock runs at this rate of real time. */
    public ChaosPlan withClockRate(double rate) {
        return with(faults, floors, storeUrl, processFaultsOnly, flooded, brief, sabotage.withClockRate(rate));
    }

    private ChaosPlan with(
            List<Fault> newFaults,
            List<Double> newFloors,
            Optional<String> newStore,
            boolean onlyProcesses,
            boolean newFlooded,
            boolean newBrief,
            Sabotage newSabotage) {
        return new ChaosPlan(
                brokers,
                seed,
                duration,
                directory,
                newFaults,
                newFloors,
                newStore,
                onlyProcesses,
                newFlooded,
                newBrief,
                newSabotage);
    }

    /** Whether publishers have homes, which faults may change; otherwise each is served where it connects. */
    boolean placing() {
        return faults.stream().anyMatch(fault -> fault.family() == Fault.Family.PLACEMENT);
    }

    /** What every broker is started with. */
    Map<String, String> environment() {
        Map<String, String> all = new HashMap<>(sabotage.environment());
        if (placing()) {
            all.putAll(HomeBook.ENVIRONMENT);
        }
        return all;
    }

    double floorOf(ChaosTopic topic) {
        return floors.get(ChaosTopic.ALL.indexOf(topic) % floors.size());
    }
}

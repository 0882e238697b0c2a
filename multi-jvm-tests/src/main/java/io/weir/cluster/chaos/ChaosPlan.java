package io.weir.cluster.chaos;

import io.weir.cluster.failpoints.BrokenRule;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What a chaos run is asked for.
 *
 * @param duration of the faults; the start, settling, the load afterwards and the check come on top
 * @param faults those that may come
 * @param floor φ of every topic
 * @param storeUrl a database that somebody else runs, instead of the embedded store
 * @param directory for logs, histories and the report; new or empty
 * @param clockRate of every broker's monotonic clock
 * @param broken rules that every broker is made to ignore, to see that it is noticed; none unless a test says so
 */
public record ChaosPlan(
        int brokers,
        long seed,
        Duration duration,
        List<Fault> faults,
        double floor,
        Optional<String> storeUrl,
        Path directory,
        boolean processFaultsOnly,
        double clockRate,
        Set<BrokenRule> broken) {
    public static final int LEAST_BROKERS = 3;
    public static final int MOST_BROKERS = 9;

    public ChaosPlan {
        if (brokers < LEAST_BROKERS || brokers > MOST_BROKERS) {
            throw new IllegalArgumentException("--brokers " + brokers + " is not possible: " + LEAST_BROKERS
                    + ", so that a majority is left when one is gone, to " + MOST_BROKERS);
        }
        if (duration.toSeconds() < 5 || duration.toHours() > 24) {
            throw new IllegalArgumentException("--duration " + duration + " is not possible: 5 s to 24 h");
        }
        if (!(floor >= 0 && floor <= 1)) {
            throw new IllegalArgumentException("--floor " + floor + " is not a part of a limit: 0 to 1");
        }
        faults = List.copyOf(faults);
        broken = Set.copyOf(broken);
    }

    public static ChaosPlan of(int brokers, long seed, Duration duration, Path directory) {
        return new ChaosPlan(
                brokers,
                seed,
                duration,
                List.of(Fault.values()),
                0,
                Optional.empty(),
                directory,
                false,
                1,
                Set.of());
    }

    public ChaosPlan withFaults(List<Fault> some) {
        return new ChaosPlan(
                brokers, seed, duration, some, floor, storeUrl, directory, processFaultsOnly, clockRate, broken);
    }

    public ChaosPlan withFloor(double newFloor) {
        return new ChaosPlan(
                brokers, seed, duration, faults, newFloor, storeUrl, directory, processFaultsOnly, clockRate, broken);
    }

    public ChaosPlan withStore(String url) {
        return new ChaosPlan(
                brokers, seed, duration, faults, floor, Optional.of(url), directory, processFaultsOnly, clockRate, broken);
    }

    /** On loopback, without a network that could be cut. */
    public ChaosPlan withProcessFaultsOnly() {
        return new ChaosPlan(brokers, seed, duration, faults, floor, storeUrl, directory, true, clockRate, broken);
    }

    public ChaosPlan withClockRate(double rate) {
        return new ChaosPlan(
                brokers, seed, duration, faults, floor, storeUrl, directory, processFaultsOnly, rate, broken);
    }

    public ChaosPlan breaking(BrokenRule rule) {
        return new ChaosPlan(
                brokers, seed, duration, faults, floor, storeUrl, directory, processFaultsOnly, clockRate, Set.of(rule));
    }
}

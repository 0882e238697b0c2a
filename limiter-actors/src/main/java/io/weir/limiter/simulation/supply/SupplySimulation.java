package io.weir.limiter.simulation.supply;

import io.weir.limiter.simulation.supply.Scenario.Fault;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** Runs of the supply protocol's world, each from its seed, and what they add up to. */
public final class SupplySimulation {
    private long runs;
    private long events;
    private long commits;
    private long admitted;
    private final long[] faults = new long[Fault.values().length];
    private final Map<String, Long> violations = new LinkedHashMap<>();
    private final List<SupplyRun> failed = new ArrayList<>();

    /** Any cluster under any faults; true if every invariant held. */
    public boolean run(long seed) {
        SupplyRun run = run(seed, scenario -> {});
        runs++;
        events += run.events();
        commits += run.commits();
        admitted += run.admitted();
        for (int i = 0; i < faults.length; i++) {
            faults[i] += run.faults()[i];
        }
        run.violations().stream()
                .map(SupplyChecker.Violation::invariant)
                .distinct()
                .forEach(invariant -> violations.merge(invariant, 1L, Long::sum));
        if (!run.violations().isEmpty()) {
            failed.add(run);
        }
        return run.violations().isEmpty();
    }

    /** A flaw that the checker found. */
    public record Catch(long seed, String invariant, String what) {}

    /** Leaves out one rule, directs the faults at it, and tries seeds until an invariant does not hold. */
    public static Optional<Catch> caught(Flaw flaw, long firstSeed, int seeds) {
        for (long seed = firstSeed; seed < firstSeed + seeds; seed++) {
            SupplyRun run = run(seed, scenario -> scenario.directedAt(flaw).flawed(flaw));
            if (!run.violations().isEmpty()) {
                SupplyChecker.Violation first = run.violations().get(0);
                return Optional.of(new Catch(seed, first.invariant(), first.what()));
            }
        }
        return Optional.empty();
    }

    static SupplyRun run(long seed, Consumer<Scenario> directed) {
        SplittableRandom random = new SplittableRandom(seed);
        Scenario scenario = Scenario.anything(random);
        directed.accept(scenario);
        return new SupplyWorld(seed, scenario, random).run();
    }

    public long runs() {
        return runs;
    }

    public long events() {
        return events;
    }

    public long commits() {
        return commits;
    }

    public long admitted() {
        return admitted;
    }

    /** How many faults of each kind there were. */
    public Map<String, Long> faults() {
        Map<String, Long> byKind = new LinkedHashMap<>();
        for (Fault fault : Fault.values()) {
            byKind.put(fault.name().toLowerCase(Locale.ROOT).replace('_', ' '), faults[fault.ordinal()]);
        }
        return byKind;
    }

    /** In how many runs an invariant did not hold. */
    public Map<String, Long> violations() {
        return violations;
    }

    /** The first run that failed, told by its seed, what did not hold, and its last events. */
    public Optional<String> firstFailure() {
        return failed.stream().findFirst().map(SupplyRun::toString);
    }
}

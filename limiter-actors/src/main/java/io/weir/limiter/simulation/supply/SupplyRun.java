package io.weir.limiter.simulation.supply;

import java.util.List;

/** What came out of one seed. */
record SupplyRun(
        long seed,
        List<SupplyChecker.Violation> violations,
        List<String> history,
        long events,
        long commits,
        long admitted,
        long[] faults) {

    @Override
    public String toString() {
        return "seed " + seed + ": " + violations + "\n" + String.join("\n", history);
    }
}

package io.weir.cluster.chaos;

import io.weir.cluster.history.HistoryCheck;
import io.weir.cluster.history.Invariant;
import io.weir.cluster.history.Verdict;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * How a chaos run ended.
 *
 * @param check its verdicts, one for each invariant
 * @param troubles what the run itself could not do: it has shown less than it was asked to
 * @param faults those that were begun, by how often
 * @param messages what clients counted: invoked, ok, failed, unknown, delivered
 */
public record ChaosOutcome(
        long seed,
        boolean interrupted,
        boolean brief,
        HistoryCheck check,
        List<String> troubles,
        Map<String, Integer> faults,
        Map<String, Long> messages,
        Path history,
        Path report,
        Path logs) {
    /**
     * Every invariant was checked and held, and the run was what it was meant to be; a brief one does not look at C8.
     */
    public boolean allHeld() {
        return check.verdicts().stream()
                        .allMatch(verdict ->
                                verdict.held() || brief && verdict.invariant() == Invariant.C8 && !verdict.violated())
                && troubles.isEmpty()
                && !interrupted;
    }

    public List<Verdict> violated() {
        return check.verdicts().stream().filter(Verdict::violated).toList();
    }
}

package io.weir.cluster.history;

import java.util.List;

/**
 * What a history says about one invariant.
 *
 * @param text what was looked at, or why it was not checked
 * @param violations the first few; empty unless violated
 */
public record Verdict(Invariant invariant, Outcome outcome, String text, List<Violation> violations) {
    /** How it ended. */
    public enum Outcome {
        HELD("held"),
        VIOLATED("violated"),
        NOT_CHECKED("not checked");

        private final String word;

        Outcome(String word) {
            this.word = word;
        }

        public String word() {
            return word;
        }
    }

    static final int SHOWN = 10;

    static Verdict notChecked(Invariant invariant, String why) {
        return new Verdict(invariant, Outcome.NOT_CHECKED, why, List.of());
    }

    /** @param lookedAt what it rests on, if nothing is wrong or something */
    static Verdict of(Invariant invariant, List<Violation> violations, String lookedAt) {
        return violations.isEmpty()
                ? new Verdict(invariant, Outcome.HELD, lookedAt, List.of())
                : new Verdict(
                        invariant,
                        Outcome.VIOLATED,
                        lookedAt,
                        violations.stream().limit(SHOWN).toList());
    }

    public boolean held() {
        return outcome == Outcome.HELD;
    }

    public boolean violated() {
        return outcome == Outcome.VIOLATED;
    }
}

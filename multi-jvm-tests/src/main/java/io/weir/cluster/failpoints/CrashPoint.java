package io.weir.cluster.failpoints;

import io.weir.limiter.supply.actor.Failpoints.Step;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A process ends at a step of the protocol: with a probability each time, drawn from a seed, or at the n-th time.
 * Written {@code after-debit:p=0.05:seed=7} or {@code before-credit:n=3}; with {@code :delay=2}, that many milliseconds
 * after the step, so that it falls into the write that follows. Several are joined by commas.
 *
 * @param nth 0 if it is up to the probability
 */
public record CrashPoint(Step step, double probability, long seed, long nth, Duration delay) {
    private static final String SYNTAX =
            "a crash point is STEP:n=COUNT or STEP:p=PROBABILITY[:seed=NUMBER], each with [:delay=MS]";

    public CrashPoint {
        Objects.requireNonNull(step);
        if (!(probability >= 0 && probability <= 1) || nth < 0 || delay.isNegative()) {
            throw new IllegalArgumentException(SYNTAX + ", with a probability of 0 to 1 and a count of at least 1");
        }
    }

    /** At the n-th time that the process is there, beginning with 1. */
    public static CrashPoint nth(Step step, long nth) {
        return new CrashPoint(step, 0, 0, nth, Duration.ZERO);
    }

    public static CrashPoint sometimes(Step step, double probability, long seed) {
        return new CrashPoint(step, probability, seed, 0, Duration.ZERO);
    }

    public CrashPoint later(Duration newDelay) {
        return new CrashPoint(step, probability, seed, nth, newDelay);
    }

    /** None if the text is blank. */
    public static List<CrashPoint> parseAll(String text) {
        return Stream.of(text.strip().split("\\s*,\\s*"))
                .filter(part -> !part.isEmpty())
                .map(CrashPoint::parse)
                .toList();
    }

    static CrashPoint parse(String text) {
        String[] parts = text.split(":");
        double probability = -1;
        long seed = 0;
        long nth = 0;
        Duration delay = Duration.ZERO;
        try {
            for (String part : List.of(parts).subList(1, parts.length)) {
                String[] pair = part.split("=", 2);
                switch (pair[0]) {
                    case "p" -> probability = Double.parseDouble(pair[1]);
                    case "seed" -> seed = Long.parseLong(pair[1]);
                    case "n" -> nth = Long.parseLong(pair[1]);
                    case "delay" -> delay = Duration.ofMillis(Long.parseLong(pair[1]));
                    default -> throw new IllegalArgumentException("'" + text + "': " + SYNTAX);
                }
            }
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
            throw new IllegalArgumentException("'" + text + "': " + SYNTAX, e);
        }
        if (probability >= 0 == nth > 0) {
            throw new IllegalArgumentException("'" + text + "' needs either p or n: " + SYNTAX);
        }
        return new CrashPoint(step(parts[0]), Math.max(0, probability), seed, nth, delay);
    }

    private static Step step(String key) {
        return Arrays.stream(Step.values())
                .filter(step -> step.key().equals(key))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no step is called '" + key + "': "
                        + Arrays.stream(Step.values()).map(Step::key).collect(Collectors.joining(", "))));
    }

    /** As it is written. */
    @Override
    public String toString() {
        String chance = nth > 0 ? ":n=" + nth : ":p=" + probability + ":seed=" + seed;
        return step.key() + chance + (delay.isZero() ? "" : ":delay=" + delay.toMillis());
    }
}

package io.weir.cluster.failpoints;

import io.weir.supervisor.local.Installation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What one broker's failpoints are to do, as its process gets it: variables of its environment, and a jar on its class
 * path without which they mean nothing. Times in a recorded history are true ones whatever the clock's rate.
 *
 * <pre>
 *   WEIR_FAILPOINT_CRASH       after-debit:p=0.05:seed=7,before-credit:n=3
 *   WEIR_FAILPOINT_CRASH_FILE  a file with the same, read at every step: a tool arms and disarms a running broker
 *   WEIR_FAILPOINT_CLOCK_RATE  1.0009: so many of this broker's seconds pass in one
 *   WEIR_FAILPOINT_BREAK       no-lease-check,heir-starts-full
 * </pre>
 */
public record Sabotage(List<CrashPoint> crashes, Optional<Path> crashFile, double clockRate, Set<BrokenRule> broken) {
    public static final String CRASH = "WEIR_FAILPOINT_CRASH";
    public static final String CRASH_FILE = "WEIR_FAILPOINT_CRASH_FILE";
    public static final String CLOCK_RATE = "WEIR_FAILPOINT_CLOCK_RATE";
    public static final String BREAK = "WEIR_FAILPOINT_BREAK";

    /**
     * A file with how many milliseconds the wall clock is wrong, read again several times a second. It counts in a
     * process that has the failpoints' jar as a Java agent too.
     */
    public static final String WALL_CLOCK_FILE = "WEIR_FAILPOINT_WALL_CLOCK_FILE";

    /** A file with a {@link LoanTrouble}, or an empty one, read again several times a second. */
    public static final String LOANS_FILE = "WEIR_FAILPOINT_LOANS_FILE";

    /** With what a process ends at a crash point, so that one can tell it from other deaths. */
    public static final int EXIT_CODE = 86;

    public static final Sabotage NONE = new Sabotage(List.of(), Optional.empty(), 1, Set.of());

    private static final double SLOWEST = 0.1;
    private static final double FASTEST = 10;

    public Sabotage {
        if (!(clockRate >= SLOWEST && clockRate <= FASTEST)) {
            throw new IllegalArgumentException(
                    "a clock's rate is " + SLOWEST + " to " + FASTEST + ", not " + clockRate + " (" + CLOCK_RATE + ")");
        }
        crashes = List.copyOf(crashes);
        broken = Set.copyOf(broken);
    }

    public Sabotage crashingAt(CrashPoint crash) {
        List<CrashPoint> all = new ArrayList<>(crashes);
        all.add(crash);
        return new Sabotage(all, crashFile, clockRate, broken);
    }

    public Sabotage crashingAsSaidIn(Path file) {
        return new Sabotage(crashes, Optional.of(file), clockRate, broken);
    }

    public Sabotage withClockRate(double rate) {
        return new Sabotage(crashes, crashFile, rate, broken);
    }

    public Sabotage breaking(BrokenRule rule) {
        Set<BrokenRule> all = EnumSet.of(rule);
        all.addAll(broken);
        return new Sabotage(crashes, crashFile, clockRate, all);
    }

    public boolean breaks(BrokenRule rule) {
        return broken.contains(rule);
    }

    /** For the process. */
    public Map<String, String> environment() {
        Map<String, String> variables = new LinkedHashMap<>();
        if (!crashes.isEmpty()) {
            variables.put(CRASH, crashes.stream().map(CrashPoint::toString).collect(Collectors.joining(",")));
        }
        crashFile.ifPresent(file -> variables.put(CRASH_FILE, file.toString()));
        if (clockRate != 1) {
            variables.put(CLOCK_RATE, Double.toString(clockRate));
        }
        if (!broken.isEmpty()) {
            variables.put(BREAK, broken.stream().map(BrokenRule::key).sorted().collect(Collectors.joining(",")));
        }
        return variables;
    }

    /**
     * In the process.
     *
     * @throws IllegalArgumentException that names the variable, or the part of it, that is wrong
     */
    public static Sabotage of(Map<String, String> environment) {
        String rate = environment.getOrDefault(CLOCK_RATE, "1");
        Sabotage all = NONE;
        try {
            all = all.withClockRate(Double.parseDouble(rate));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(CLOCK_RATE + " is not a number: " + rate, e);
        }
        for (CrashPoint crash : CrashPoint.parseAll(environment.getOrDefault(CRASH, ""))) {
            all = all.crashingAt(crash);
        }
        for (String rule : environment.getOrDefault(BREAK, "").split(",")) {
            all = rule.isBlank() ? all : all.breaking(BrokenRule.of(rule.strip()));
        }
        String file = environment.getOrDefault(CRASH_FILE, "");
        return file.isBlank() ? all : all.crashingAsSaidIn(Path.of(file));
    }

    /** The jar without which a broker takes no notice of the variables. */
    public static Path jar(Installation installation) {
        Path jar = installation.home().resolve("chaos").resolve("chaos-failpoints.jar");
        if (!Files.isReadable(jar)) {
            throw new IllegalStateException("there is no " + jar + ": is this the whole of a Weir distribution?");
        }
        return jar;
    }
}

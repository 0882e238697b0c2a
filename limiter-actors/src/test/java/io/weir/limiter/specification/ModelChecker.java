package io.weir.limiter.specification;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** TLC, in a JVM of its own for each run: it takes its process for its own, and ends it. */
final class ModelChecker {
    /**
     * What became of a run.
     *
     * @param violated the invariant that did not hold
     * @param complete whether every reachable state was seen
     */
    record Answer(
            Specification.Run run,
            Optional<String> violated,
            boolean complete,
            long states,
            int depth,
            double seconds,
            String output) {
        boolean asExpected() {
            return run.violated().isPresent() ? violated.equals(run.violated()) : complete;
        }

        /** One line of the table that the build prints. */
        String line() {
            String found = violated.map(name -> "violates " + name).orElse(complete ? "holds" : "FAILED");
            return String.format(
                    "TLC  %-10s %-44s %9d states  depth %3d  %6.1f s  %s%s",
                    run.module(), run.name(), states, depth, seconds, found, asExpected() ? "" : "  UNEXPECTED");
        }
    }

    private static final Pattern STATES = Pattern.compile("([\\d,]+) distinct states found, ");
    private static final Pattern DEPTH = Pattern.compile("graph search is (\\d+)");
    private static final Pattern VIOLATED = Pattern.compile("Invariant (\\w+) is violated");
    private static final String COMPLETE = "Model checking completed. No error has been found.";

    private ModelChecker() {}

    /** @param folder for what TLC writes; nothing of it is needed afterwards */
    static Answer check(Specification.Run run, Path folder, int heapMib, long mostSeconds)
            throws IOException, InterruptedException {
        Files.createDirectories(folder);
        Path configuration = Files.writeString(folder.resolve("run.cfg"), run.text());
        Path output = folder.resolve("output.txt");
        boolean brief = run.violated().isPresent();
        long beganNs = System.nanoTime();
        Process tlc = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx" + heapMib + "m",
                        // A run that meets a violation is over before better compilers and collectors pay.
                        brief ? "-XX:+UseSerialGC" : "-XX:+UseParallelGC",
                        "-XX:TieredStopAtLevel=" + (brief ? 1 : 4),
                        // It unpacks its standard modules there, and two at once would meet.
                        "-Djava.io.tmpdir=" + folder.toAbsolutePath(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        "tlc2.TLC",
                        "-workers",
                        brief ? "1" : "2",
                        // The modules bound what may happen, so they come to rest.
                        "-deadlock",
                        "-metadir",
                        folder.resolve("states").toAbsolutePath().toString(),
                        "-config",
                        configuration.toAbsolutePath().toString(),
                        run.module()))
                .directory(Specification.FOLDER.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        boolean ended;
        try {
            ended = tlc.waitFor(mostSeconds, TimeUnit.SECONDS);
        } finally {
            tlc.destroyForcibly();
        }
        double seconds = (System.nanoTime() - beganNs) / 1e9;
        String said = Files.readString(output) + (ended ? "" : "\nnot done within " + mostSeconds + " s");
        Matcher violated = VIOLATED.matcher(said);
        return new Answer(
                run,
                violated.find() ? Optional.of(violated.group(1)) : Optional.empty(),
                said.contains(COMPLETE),
                last(STATES, said),
                (int) last(DEPTH, said),
                seconds,
                said);
    }

    private static long last(Pattern pattern, String text) {
        long found = 0;
        Matcher matcher = pattern.matcher(text);
        while (matcher.find()) {
            found = Long.parseLong(matcher.group(1).replace(",", ""));
        }
        return found;
    }
}

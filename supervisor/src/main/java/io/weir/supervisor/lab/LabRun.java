package io.weir.supervisor.lab;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.stream.LongStream;

/**
 * What a run of an experiment is given.
 *
 * @param seeds how many seeds
 * @param firstSeed the first of them; the others follow
 * @param options an experiment's own options ({@code --set key=value}), such as a trace file
 * @param progress shows how far the run is
 */
public record LabRun(int seeds, long firstSeed, Map<String, String> options, Progress progress) {
    /** Where progress goes: a terminal line, or nowhere. */
    @FunctionalInterface
    public interface Progress {
        void at(int done, int total, String what);
    }

    public LongStream seedStream() {
        return LongStream.range(firstSeed, firstSeed + seeds);
    }

    public Optional<Path> file(String option) {
        return Optional.ofNullable(options.get(option)).map(Path::of);
    }
}

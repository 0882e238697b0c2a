package io.weir.supervisor.lab;

/**
 * One of the papers' experiments, run again on Weir's own classes. Found through {@link java.util.ServiceLoader}, so an
 * implementation needs a public constructor without arguments and a line in {@code META-INF/services}.
 */
public interface Experiment {
    /** What the user types after {@code weir lab}, in kebab case. */
    String name();

    /** One line for {@code weir lab list}. */
    String summary();

    /** Where it comes from, such as "SRTM, Fig. 6a". */
    String source();

    /** How many seeds a run takes unless the user says otherwise, so that the whole lab ends in a few minutes. */
    int defaultSeeds();

    /** Runs for every seed of {@code run} and says what came out. Must not print; progress goes to {@code run}. */
    LabReport run(LabRun run);
}

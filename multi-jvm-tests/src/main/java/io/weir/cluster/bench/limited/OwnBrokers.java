package io.weir.cluster.bench.limited;

import io.weir.cluster.bench.BenchRun;
import java.util.concurrent.ThreadLocalRandom;
import picocli.CommandLine.Option;

/** What commands that start brokers for their load have in common, as a picocli mixin. */
public final class OwnBrokers {
    /** The only flags that come after those of conf/broker.jvm. */
    static final String JAVA_OPTIONS = "_JAVA_OPTIONS";

    @Option(
            names = "--heap",
            defaultValue = "96",
            description = "MiB of each broker's heap (default: ${DEFAULT-VALUE}).")
    private int heapMiB;

    @Option(names = "--seed", description = "Seed of the intended times, to repeat a run (default: another each time).")
    private Long seed;

    /** For {@link #JAVA_OPTIONS}. */
    String javaOptions() {
        return "-Xms" + heapMiB + "m -Xmx" + heapMiB + "m";
    }

    /** The seed that was given, or another each time. */
    long seed() {
        return seed == null ? ThreadLocalRandom.current().nextInt(1_000_000) : seed;
    }

    void check() {
        BenchRun.require(heapMiB >= 64 && heapMiB <= 4_096, "--heap must be within 64 and 4096");
    }
}

package io.weir.cluster.bench;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code weir bench throughput}: how many messages go through. */
@Command(
        name = "throughput",
        mixinStandardHelpOptions = true,
        description = {
            "Publish as much as the broker takes, several messages a write, with a bound on what is not acknowledged and not received"
                    + " yet, and count what reaches the consumer.",
            "The topic's limit applies: give it one that is high enough."
        },
        footer = {
            "",
            "Examples:",
            "  weir bench throughput",
            "  weir bench throughput --batch 32 --against relay,nats --rounds 7 --seconds 5",
            "  weir bench throughput --batch 100 --batch-as mpub --consumers 2"
        })
final class ThroughputCommand implements Callable<Integer> {
    @Mixin
    private BenchRun run;

    @Mixin
    private Span span;

    @Option(
            names = "--connections",
            defaultValue = "4",
            description = "Publishing connections (default: ${DEFAULT-VALUE}).")
    private int connections;

    @Option(names = "--batch", defaultValue = "32", description = "Messages a write (default: ${DEFAULT-VALUE}).")
    private int batch;

    @Option(
            names = "--batch-as",
            defaultValue = "pubs",
            description =
                    "How a batch goes: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}). pubs are so many publishes in one"
                            + " write; mpub is one publish with one answer where the protocol has that (NSQ).")
    private Load.Batch.As batchAs;

    @Option(
            names = "--window",
            defaultValue = "4096",
            description = "Unacknowledged messages on a connection at the most (default: ${DEFAULT-VALUE}).")
    private int window;

    @Override
    public Integer call() {
        BenchRun.require(batch >= 1 && batch <= 1_000, "--batch must be within 1 and 1000");
        BenchRun.require(window >= batch && window <= 1_000_000, "--window must hold a batch, and 1000000 at the most");
        return run.run(
                new Load.Shape.Pipelined(new Load.Batch(batch, batchAs), window),
                connections,
                span.warmUp(),
                span.measured());
    }
}

package io.weir.cluster.bench;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code weir bench queued}: what messages cost that wait for their consumers. */
@Command(
        name = "queued",
        mixinStandardHelpOptions = true,
        description = {
            "Publish messages into a channel whose consumers take none, look at the broker's memory, and then take all of them out again.",
            "A broker keeps memory that it once used for messages: only the first run after its start shows what they cost. The topic's"
                    + " --max-queued and the broker's weir.topics.store-size must hold them; a million of 100 bytes fit by default."
        },
        footer = {"", "Examples:", "  weir bench queued", "  weir bench queued --messages 100000 --size 1000 -o json"})
final class QueuedCommand implements Callable<Integer> {
    @Mixin
    private BenchRun run;

    @Option(names = "--messages", defaultValue = "1000000", description = "How many (default: ${DEFAULT-VALUE}).")
    private int messages;

    @Option(
            names = "--connections",
            defaultValue = "4",
            description = "Publishing connections (default: ${DEFAULT-VALUE}).")
    private int connections;

    /**
     * What came of it; the names are those of {@code -o json}.
     *
     * @param queued messages that the broker accepted
     * @param brokerMemoryMiB its resident set before, with all of them queued, and the greater of the two; null where
     *     it does not tell
     * @param bytesPerMessage what the resident set grew by, over the messages
     * @param received how many came out again
     */
    record Outcome(
            long queued,
            long refused,
            int bodyBytes,
            Result.Course brokerMemoryMiB,
            Double bytesPerMessage,
            long received,
            double seconds) {}

    @Override
    public Integer call() {
        BenchRun.require(
                messages >= 1_000 && messages <= 100_000_000 && messages % 1_000 == 0,
                "--messages must be thousands, and 100 million at the most");
        return run.queue(new Load.Shape.Queued(messages, new Load.Batch(20, Load.Batch.As.pubs), 4_000), connections);
    }
}

package io.weir.cluster.bench;

import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code weir bench latency}: how late messages come at a given pace. */
@Command(
        name = "latency",
        mixinStandardHelpOptions = true,
        description = {
            "Publish at a fixed pace and measure how late each message reaches the consumer, from the time at which it was meant to be"
                    + " sent: a broker that stalls makes every message late that was due meanwhile.",
            "Many publishers share a few connections; every message is acknowledged by the consumer. The topic's limit applies: give it"
                    + " one above the rate.",
            "Publishers of one group send at the same instants: correlated bursts."
        },
        footer = {
            "",
            "Examples:",
            "  weir bench latency --rate 10000 --publishers 1000 --seconds 20",
            "  weir bench latency --rate 10000 --publishers 5000 --connections 5000 --against relay,nats",
            "  weir bench latency --rate 1000 --publishers 1000 --groups 10 --batch 5      10 groups of 100, an MPUB of 5 each",
            "  weir bench latency --seconds 600                                            is the broker's memory flat?",
            "  weir bench latency --rate 1000 --against relay --against nats --pid nats=$(pidof nats-server) -o json",
            "  weir bench latency --tcp 127.0.0.1:4150 --consume-from 127.0.0.1:4160      from one broker to another"
        })
final class LatencyCommand implements Callable<Integer> {
    private static final int MAX_CONNECTIONS_UNASKED = 50;

    @Mixin
    private BenchRun run;

    @Mixin
    private Span span;

    @Option(
            names = "--rate",
            defaultValue = "10000",
            description = "Messages a second, all publishers together (default: ${DEFAULT-VALUE}).")
    private double rate;

    @Option(names = "--publishers", defaultValue = "1000", description = "Publishers (default: ${DEFAULT-VALUE}).")
    private int publishers;

    @Option(
            names = "--connections",
            description =
                    "Connections that they share; those beyond the publishers stay silent (default: one a publisher, 50 at the"
                            + " most).")
    private Integer connections;

    @Option(
            names = "--groups",
            description =
                    "Groups that the publishers form; those of a group send at the same instants (default: each for itself).")
    private Integer groups;

    @Option(
            names = "--distribution",
            defaultValue = "poisson",
            description = "A publisher's gaps: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private SendSchedule.Distribution distribution;

    @Option(
            names = "--batch",
            defaultValue = "1",
            description = "Messages that a publisher sends at a time; the rate stays (default: ${DEFAULT-VALUE}).")
    private int batch;

    @Option(
            names = "--batch-as",
            defaultValue = "mpub",
            description =
                    "How a batch goes: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}). mpub is one publish with one"
                            + " answer where the protocol has that (NSQ); pubs are so many in one write.")
    private Load.Batch.As batchAs;

    @Option(names = "--seed", description = "Seed of the intended times, to repeat a run (default: another each time).")
    private Long seed;

    @Override
    public Integer call() {
        BenchRun.require(rate > 0 && rate <= 100e6, "--rate must be above 0, and 100 million at the most");
        BenchRun.require(publishers >= 1 && publishers <= 1_000_000, "--publishers must be within 1 and 1000000");
        BenchRun.require(batch >= 1 && batch <= 1_000, "--batch must be within 1 and 1000");
        BenchRun.require(
                groups == null || groups >= 1 && groups <= publishers, "--groups must be within 1 and the publishers");
        long drawnFrom = seed == null ? ThreadLocalRandom.current().nextLong() : seed;
        Load.Shape shape = new Load.Shape.OpenLoop(
                rate,
                publishers,
                groups == null ? publishers : groups,
                new Load.Batch(batch, batchAs),
                distribution,
                drawnFrom);
        return run.run(
                shape,
                connections == null ? Math.min(MAX_CONNECTIONS_UNASKED, publishers) : connections,
                span.warmUp(),
                span.measured());
    }
}

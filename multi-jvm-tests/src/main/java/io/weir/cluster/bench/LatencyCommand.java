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
                    + " one above the rate."
        },
        footer = {
            "",
            "Examples:",
            "  weir bench latency --rate 10000 --publishers 1000 --seconds 20",
            "  weir bench latency --rate 1000 --against relay --against nats --pid nats=$(pidof nats-server) -o json",
            "  weir bench latency --tcp 127.0.0.1:4150 --consume-from 127.0.0.1:4160      from one broker to another"
        })
final class LatencyCommand implements Callable<Integer> {
    @Mixin
    private BenchRun run;

    @Option(
            names = "--rate",
            defaultValue = "10000",
            description = "Messages a second, all publishers together (default: ${DEFAULT-VALUE}).")
    private double rate;

    @Option(names = "--publishers", defaultValue = "1000", description = "Publishers (default: ${DEFAULT-VALUE}).")
    private int publishers;

    @Option(
            names = "--connections",
            defaultValue = "50",
            description = "Connections that they share (default: ${DEFAULT-VALUE}).")
    private int connections;

    @Option(
            names = "--distribution",
            defaultValue = "poisson",
            description = "A publisher's gaps: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private Schedule.Distribution distribution;

    @Option(
            names = "--batch",
            defaultValue = "1",
            description = "Messages that a publisher sends at a time; the rate stays (default: ${DEFAULT-VALUE}).")
    private int batch;

    @Option(names = "--seed", description = "Draw the same intended times again (default: others each time).")
    private Long seed;

    @Override
    public Integer call() {
        BenchRun.require(rate > 0 && rate <= 100e6, "--rate must be above 0, and 100 million at the most");
        BenchRun.require(publishers >= 1 && publishers <= 1_000_000, "--publishers must be within 1 and 1000000");
        BenchRun.require(batch >= 1 && batch <= 1_000, "--batch must be within 1 and 1000");
        long drawnFrom = seed == null ? ThreadLocalRandom.current().nextLong() : seed;
        return run.run(
                new Load.Shape.OpenLoop(rate, publishers, batch, distribution, drawnFrom),
                Math.min(connections, publishers));
    }
}

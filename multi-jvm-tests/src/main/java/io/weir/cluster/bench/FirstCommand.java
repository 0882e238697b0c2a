package io.weir.cluster.bench;

import io.weir.supervisor.cli.TimeReader;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code weir bench first}: how late a message comes that nobody expected. */
@Command(
        name = "first",
        mixinStandardHelpOptions = true,
        description = {
            "Publish single messages, each after a silence, and measure how late each reaches the consumer: what waking up costs.",
            "One more goes before the measured ones. With so few, the 50th percentile and the greatest are what counts."
        },
        footer = {
            "",
            "Examples:",
            "  weir bench first --idle 5s --count 10",
            "  weir bench first --tcp 127.0.0.1:4150 --consume-from 127.0.0.1:4160      from one broker to another"
        })
final class FirstCommand implements Callable<Integer> {
    @Mixin
    private BenchRun run;

    @Option(
            names = "--idle",
            paramLabel = "TIME",
            defaultValue = "5s",
            converter = TimeReader.class,
            description = "Silence before each message: 5s, 250ms, 2m (default: ${DEFAULT-VALUE}).")
    private Duration idle;

    @Option(names = "--count", defaultValue = "10", description = "Measured messages (default: ${DEFAULT-VALUE}).")
    private int count;

    @Override
    public Integer call() {
        BenchRun.require(
                idle.toMillis() >= 10 && idle.toMinutes() <= 60, "--idle must be within 10 milliseconds and an hour");
        BenchRun.require(count >= 1 && count <= 100_000, "--count must be within 1 and 100000");
        double messagesPerSecond = 1e9 / idle.toNanos();
        long seed = ThreadLocalRandom.current().nextLong();
        Load.Shape shape = new Load.Shape.OpenLoop(
                messagesPerSecond, 1, 1, Load.Batch.NONE, SendSchedule.Distribution.periodic, seed);
        return run.run(shape, 1, idle, idle.multipliedBy(count));
    }
}

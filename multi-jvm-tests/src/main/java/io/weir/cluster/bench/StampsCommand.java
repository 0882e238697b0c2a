package io.weir.cluster.bench;

import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code weir bench stamps}: how exact a broker's arrival times are. */
@Command(
        name = "stamps",
        mixinStandardHelpOptions = true,
        description = {
            "Measure how far the time that topics with --clock arrival go by is from when a message came: the gateway's stamp, taken when"
                    + " its sockets woke it, minus the time that the sender wrote into the message just before it sent it.",
            "Runs a broker's gateway loop in this process, on a thread of its own, without a broker behind it: no cluster is needed, and"
                    + " what topics and consumers would take of the loop's time is not in it."
        },
        footer = {"", "Example:", "  weir bench stamps --connections 1000 --rate 10000"})
final class StampsCommand implements Callable<Integer> {
    private static final double MAX_MESSAGES = 5e6;

    @Mixin
    private Span span;

    @Mixin
    private Output output;

    @Option(names = "--connections", defaultValue = "1000", description = "Publishers (default: ${DEFAULT-VALUE}).")
    private int connections;

    @Option(
            names = "--rate",
            defaultValue = "10000",
            description = "Messages a second, all together; Poisson (default: ${DEFAULT-VALUE}).")
    private double rate;

    @Override
    public Integer call() {
        BenchRun.require(connections >= 1 && connections <= 9_000, "--connections must be within 1 and 9000");
        double messages = rate * span.measured().toMillis() / 1e3;
        BenchRun.require(
                rate > 0 && messages <= MAX_MESSAGES,
                "--rate must be above 0, and times --seconds 5 million at the most: every difference is kept");
        // Both ends of each are here.
        BenchRun.requireDescriptors(2 * connections);
        int room = (int) (messages * 1.1) + 1_000;
        try (StampTrial trial = new StampTrial(connections, room)) {
            StampTrial.Outcome outcome = trial.run(
                    rate,
                    span.warmUp(),
                    span.measured(),
                    ThreadLocalRandom.current().nextLong());
            if (output.json()) {
                output.printJson(outcome);
            } else {
                print(outcome);
            }
            return ExitCode.OK;
        } catch (IOException e) {
            throw CliException.unavailable("the stamps could not be measured: " + e.getMessage());
        }
    }

    private void print(StampTrial.Outcome outcome) {
        output.printf("%,d messages over %,d connections%n", outcome.messages(), outcome.connections());
        output.printf(
                "stamp minus sending, us: p50 %,.1f  p95 %,.1f  p99 %,.1f  max %,.1f  min %,.1f (%,d before it was sent)%n",
                outcome.p50Micros(),
                outcome.p95Micros(),
                outcome.p99Micros(),
                outcome.maxMicros(),
                outcome.minMicros(),
                outcome.early());
        output.printf(
                "of which the sender's system call, us: p50 %,.1f  p99 %,.1f%n",
                outcome.writeP50Micros(), outcome.writeP99Micros());
    }
}

package io.weir.cluster.bench;

import java.io.IOException;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** One load on one target: the generator on the caller's thread, and beside it a thread that tells the progress and reads the expenses. */
final class Trial {
    private final Target target;
    private final Load load;
    private final Generator generator;
    private final Consumer<String> progress;

    private Moment from;
    private Moment to;
    private long toldSent;
    private long toldReceived;
    private long seconds;

    /** What was known at one time. */
    private record Moment(long atNs, long received, Expense.Sample expense) {}

    private Trial(Target target, Load load, Generator generator, Consumer<String> progress) {
        this.target = target;
        this.load = load;
        this.generator = generator;
        this.progress = progress;
    }

    /** Runs it; {@code progress} gets a line a second, from another thread. */
    static Result run(Target target, Load load, Consumer<String> progress) throws IOException {
        try (Generator generator = Generator.connect(target, load)) {
            return new Trial(target, load, generator, progress).run();
        }
    }

    private Result run() throws IOException {
        ScheduledExecutorService watch = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "bench-watch");
            thread.setDaemon(true);
            return thread;
        });
        try {
            long warmUpMs = load.warmUp().toMillis();
            watch.schedule(() -> from = moment(), warmUpMs, TimeUnit.MILLISECONDS);
            watch.schedule(() -> to = moment(), warmUpMs + load.measured().toMillis(), TimeUnit.MILLISECONDS);
            watch.scheduleAtFixedRate(this::tell, 1, 1, TimeUnit.SECONDS);
            generator.run();
        } finally {
            watch.shutdown();
            awaitEnd(watch);
        }
        return generator.result(cpuPercent(), allocatedBytesPerMessage());
    }

    private static void awaitEnd(ScheduledExecutorService watch) {
        try {
            watch.awaitTermination(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Moment moment() {
        return new Moment(System.nanoTime(), generator.receivedSoFar(), Expense.Sample.sum(target.expenses()));
    }

    private void tell() {
        long sent = generator.sentSoFar();
        long received = generator.receivedSoFar();
        seconds++;
        progress.accept(String.format(
                Locale.ROOT,
                "%s: %d s%s, %,d msg/s sent, %,d msg/s received, %,d on their way",
                target.name(),
                seconds,
                seconds <= load.warmUp().toSeconds() ? " (warm-up)" : "",
                sent - toldSent,
                received - toldReceived,
                sent - received));
        toldSent = sent;
        toldReceived = received;
    }

    private Double cpuPercent() {
        if (from == null || to == null) {
            return null;
        }
        double wallSeconds = (to.atNs() - from.atNs()) / 1e9;
        return difference(from.expense().cpuSeconds(), to.expense().cpuSeconds(), wallSeconds / 100);
    }

    private Double allocatedBytesPerMessage() {
        return from == null || to == null || to.received() == from.received()
                ? null
                : difference(
                        from.expense().allocatedBytes(),
                        to.expense().allocatedBytes(),
                        (double) to.received() - from.received());
    }

    private static Double difference(OptionalDouble before, OptionalDouble after, double divisor) {
        return before.isPresent() && after.isPresent()
                ? (Double) (Math.round(10 * (after.getAsDouble() - before.getAsDouble()) / divisor) / 10.0)
                : null;
    }
}

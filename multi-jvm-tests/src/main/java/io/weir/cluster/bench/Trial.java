package io.weir.cluster.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One load on one target: the generator on the caller's thread, and beside it a thread that prints the progress and
 * reads the expenses.
 */
public final class Trial {
    /** A look at the expenses makes the broker work a little, so there are few. */
    private static final long LOOK_EVERY_MS = 10_000;

    private final Target target;
    private final Load load;
    private final Generator generator;
    private final Consumer<String> progress;

    private final Watcher watcher;

    private final List<Moment> moments = Collections.synchronizedList(new ArrayList<>());
    private long toldSent;
    private long toldReceived;
    private long seconds;

    /** Who wants to know of a run's turning points. */
    public interface Watcher {
        /** Before the load begins. */
        default void begins(Generator generator) {}

        /** The measured time begins in a second, or in half the warm-up; on the watching thread, as what follows. */
        default void aboutToMeasure() {}

        /** The measured time begins. */
        default void measureFromNow() {}

        /** It is over; what was sent may still be on its way. */
        default void measured() {}
    }

    /** What was known at one time. */
    private record Moment(long atNs, long received, Expense.Sample expense) {}

    private Trial(Target target, Load load, Generator generator, Consumer<String> progress, Watcher watcher) {
        this.target = target;
        this.load = load;
        this.generator = generator;
        this.progress = progress;
        this.watcher = watcher;
    }

    /** Runs it; {@code progress} gets a line a second, from another thread. */
    public static Result run(Target target, Load load, Consumer<String> progress) throws IOException {
        return run(target, load, progress, new Watcher() {});
    }

    public static Result run(Target target, Load load, Consumer<String> progress, Watcher watcher) throws IOException {
        try (Generator generator = Generator.connect(target, load)) {
            watcher.begins(generator);
            return new Trial(target, load, generator, progress, watcher).run();
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
            long measuredMs = load.measured().toMillis();
            for (long atMs = 0; atMs < measuredMs; atMs += LOOK_EVERY_MS) {
                watch.schedule(this::look, warmUpMs + atMs, TimeUnit.MILLISECONDS);
            }
            watch.schedule(watcher::aboutToMeasure, Math.max(warmUpMs / 2, warmUpMs - 1_000), TimeUnit.MILLISECONDS);
            watch.schedule(watcher::measureFromNow, warmUpMs, TimeUnit.MILLISECONDS);
            watch.schedule(this::look, warmUpMs + measuredMs, TimeUnit.MILLISECONDS);
            watch.schedule(watcher::measured, warmUpMs + measuredMs, TimeUnit.MILLISECONDS);
            watch.scheduleAtFixedRate(this::tell, 1, 1, TimeUnit.SECONDS);
            generator.run();
        } finally {
            watch.shutdown();
            awaitEnd(watch);
        }
        return generator.result(broker());
    }

    private static void awaitEnd(ScheduledExecutorService watch) {
        try {
            watch.awaitTermination(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void look() {
        moments.add(new Moment(System.nanoTime(), generator.receivedSoFar(), Expense.Sample.sum(target.expenses())));
    }

    private void tell() {
        long sent = generator.sentSoFar();
        long received = generator.receivedSoFar();
        seconds++;
        progress.accept(String.format(
                Locale.ROOT,
                "%s: %d s%s, %,d msg/s sent, %,d msg/s received, %,d on their way%s",
                target.name(),
                seconds,
                seconds <= load.warmUp().toSeconds() ? " (warm-up)" : "",
                sent - toldSent,
                received - toldReceived,
                sent - received,
                memory()));
        toldSent = sent;
        toldReceived = received;
    }

    /** As it was when it was last looked at. */
    private String memory() {
        OptionalDouble resident = moments.isEmpty()
                ? OptionalDouble.empty()
                : moments.get(moments.size() - 1).expense().residentBytes();
        return resident.isPresent() ? String.format(", %.0f MiB", resident.getAsDouble() / (1 << 20)) : "";
    }

    private Result.Broker broker() {
        if (moments.size() < 2) {
            return Result.Broker.UNKNOWN;
        }
        Moment from = moments.get(0);
        Moment to = moments.get(moments.size() - 1);
        Expense.Sample before = from.expense();
        Expense.Sample after = to.expense();
        double wallSeconds = (to.atNs() - from.atNs()) / 1e9;
        double messages = (double) to.received() - from.received();
        return new Result.Broker(
                difference(before.cpuSeconds(), after.cpuSeconds(), wallSeconds / 100),
                difference(before.cpuSeconds(), after.cpuSeconds(), messages / 1e9),
                difference(before.dataPathSeconds(), after.dataPathSeconds(), messages / 1e9),
                difference(before.allocatedBytes(), after.allocatedBytes(), messages),
                course(Expense.Sample::residentBytes),
                course(Expense.Sample::heapBytes));
    }

    private Result.Course course(Function<Expense.Sample, OptionalDouble> quantity) {
        return Result.Course.ofMiB(
                moments.stream().map(moment -> quantity.apply(moment.expense())).toList());
    }

    /** Null where a side is not known, or there is nothing to divide by. */
    private static Double difference(OptionalDouble before, OptionalDouble after, double divisor) {
        return before.isPresent() && after.isPresent() && divisor > 0
                ? (Double) (Math.round(10 * (after.getAsDouble() - before.getAsDouble()) / divisor) / 10.0)
                : null;
    }
}

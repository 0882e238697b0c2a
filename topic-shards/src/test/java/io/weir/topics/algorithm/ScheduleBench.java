package io.weir.topics.algorithm;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A scheduler's price a message: one joins, one is served, while {@code waiting} others wait, of eight workflows. What
 * it costs more than {@code fifo} is what a topic pays for its order. {@code mvn -Pquick,limit-bench -pl topic-shards
 * -am test -Dbench=ScheduleBench} runs it.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class ScheduleBench {
    private static final long MAX_DELAY_NS = TimeUnit.SECONDS.toNanos(5);
    private static final int WORKFLOWS = 8;
    /** Deadlines and costs from a table: drawing them would cost more than the queue. */
    private static final int DRAWN = 1 << 12;

    @Param({"fifo", "edf", "lstf", "sjf", "drr", "drr-edf"})
    public String schedule;

    @Param({"100", "10000"})
    public int waiting;

    private final MessageTag tag = new MessageTag();
    private final LongSegments segments = new LongSegments();
    private final long[] drawnNs = new long[DRAWN];
    private EntryQueue queue;
    private long nowNs = 1;

    @Setup
    public void setUp() {
        java.util.Random random = new java.util.Random(1);
        for (int i = 0; i < DRAWN; i++) {
            drawnNs[i] = random.nextInt(1_000_000_000);
        }
        int most = waiting * 2;
        queue = switch (schedule) {
            case "drr" -> new FairQueue(WORKFLOWS, Schedule.FIFO, most, MAX_DELAY_NS, segments);
            case "drr-edf" -> new FairQueue(WORKFLOWS, Schedule.EDF, most, MAX_DELAY_NS, segments);
            default ->
                EntryQueue.of(
                        Schedule.valueOf(schedule.toUpperCase(java.util.Locale.ROOT)), most, MAX_DELAY_NS, segments);
        };
        for (int i = 0; i < waiting; i++) {
            join();
        }
    }

    private void join() {
        nowNs += 1_000;
        int at = (int) (nowNs / 1_000) & DRAWN - 1;
        long ns = drawnNs[at];
        tag.begin((int) ns & WORKFLOWS - 1, nowNs)
                .deadline(nowNs + ns)
                .cost(ns >> 6)
                .remaining(ns >> 4);
        queue.add(nowNs, tag.work(ns >> 5, ns >> 3));
    }

    @Benchmark
    public long joinAndServe() {
        join();
        return queue.poll();
    }
}

package io.weir.supervisor.lab;

import io.weir.limiter.simulation.LimiterWorld;
import io.weir.limiter.simulation.PublisherArrivals;
import io.weir.limiter.simulation.Sample;
import io.weir.supervisor.lab.LabReport.Estimate;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.LongFunction;

/** One world of brokers that share a limit, run for every seed: what the SRTM experiments have in common. */
public final class LimiterTrial {
    static final long SECOND_NS = 1_000_000_000L;
    private static final double MS = 1e3;

    public final Sample p50Ms = new Sample();
    public final Sample p95Ms = new Sample();
    public final Sample p99Ms = new Sample();
    public final Sample latencyP99Ms = new Sample();
    public final Sample controlPerMessage = new Sample();
    public final Sample delayedPart = new Sample();
    public final Sample allEmptyPart = new Sample();
    public long inventedMicros;
    public long excessMicros;

    /** Makes a seed's messages; the same for every world of an experiment, whatever the brokers do with them. */
    @FunctionalInterface
    public interface Workload {
        PublisherArrivals arrivals(SplittableRandom random);
    }

    /** A trial to be made: measured from {@code fromSeconds} to {@code untilSeconds} of simulated time. */
    public record Plan(LimiterWorld.Setup setup, Workload workload, double fromSeconds, double untilSeconds) {}

    /**
     * Runs every plan for every seed, the seeds in parallel: each is on its own and the order of the results is fixed.
     */
    public static <K> Map<K, LimiterTrial> run(Map<K, Plan> plans, LabRun run) {
        Map<K, LongFunction<LimiterWorld.Result>> worlds = new LinkedHashMap<>();
        plans.forEach((key, plan) -> worlds.put(key, seed -> world(plan, seed)));
        return runWorlds(worlds, run);
    }

    /** The same of worlds of any kind, each made and run for a seed. */
    public static <K> Map<K, LimiterTrial> runWorlds(Map<K, LongFunction<LimiterWorld.Result>> worlds, LabRun run) {
        Map<K, LimiterTrial> trials = new LinkedHashMap<>();
        worlds.keySet().forEach(key -> trials.put(key, new LimiterTrial()));
        int[] done = {0};
        List<Map<K, LimiterWorld.Result>> seeds = run.seedStream()
                .parallel()
                .mapToObj(seed -> {
                    Map<K, LimiterWorld.Result> results = new LinkedHashMap<>();
                    worlds.forEach((key, world) -> results.put(key, world.apply(seed)));
                    synchronized (done) {
                        run.progress().at(++done[0], run.seeds(), "seed " + seed);
                    }
                    return results;
                })
                .toList();
        seeds.forEach(
                results -> results.forEach((key, result) -> trials.get(key).add(result)));
        return trials;
    }

    private static LimiterWorld.Result world(Plan plan, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        PublisherArrivals arrivals = plan.workload().arrivals(random.split());
        return new LimiterWorld(plan.setup(), random.split())
                .run(arrivals, (long) (plan.fromSeconds() * SECOND_NS), (long) (plan.untilSeconds() * SECOND_NS));
    }

    private void add(LimiterWorld.Result result) {
        p50Ms.add(result.accessDelay().quantile(0.5) * MS);
        p95Ms.add(result.accessDelay().quantile(0.95) * MS);
        p99Ms.add(result.accessDelay().quantile(0.99) * MS);
        latencyP99Ms.add(result.latency().quantile(0.99) * MS);
        controlPerMessage.add(result.controlPerMessage());
        delayedPart.add(result.delayed() / (double) result.accessDelay().size());
        allEmptyPart.add(result.delayed() == 0 ? 0 : result.delayedWhileAllEmpty() / (double) result.delayed());
        inventedMicros = Math.max(inventedMicros, result.inventedMicros());
        excessMicros = Math.max(excessMicros, result.excessMicros());
    }

    public static Estimate estimate(Sample sample) {
        return new Estimate(sample.mean(), sample.halfWidth95());
    }
}

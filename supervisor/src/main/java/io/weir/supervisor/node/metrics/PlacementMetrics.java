package io.weir.supervisor.node.metrics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.supervisor.placement.PlacementCounters;
import io.weir.supervisor.placement.PlacementCounters.Snapshot;
import java.util.function.ToDoubleFunction;

/** What the placement does. The broker where it runs has the values, the others have zeros. */
final class PlacementMetrics {
    PlacementMetrics(MeterRegistry registry, PlacementCounters counters) {
        gauge(registry, counters, "placement.topics", "Topics that have publishers or a place", Snapshot::topics);
        gauge(registry, counters, "placement.publishers", "Publishers of the cluster", Snapshot::publishers);
        gauge(registry, counters, "placement.runs", "Topics that are being placed and measured", Snapshot::running);
        gauge(
                registry,
                counters,
                "placement.kept.best",
                "Topics for which there are not enough brokers: what an autoscaler goes by",
                Snapshot::keptBest);
        gauge(
                registry,
                counters,
                "placement.unplaced.rate",
                "Messages a second of publishers that no broker has room for",
                Snapshot::unplacedRate);
        gauge(
                registry,
                counters,
                "placement.overrated.brokers",
                "Brokers that carry much less than they were believed to",
                Snapshot::overrated);
        count(registry, counters, "placement.moves", "Publishers that were given another home", Snapshot::moves);
        count(
                registry,
                counters,
                "placement.lost.races",
                "Decisions that another had made before",
                Snapshot::lostRaces);
        count(
                registry,
                counters,
                "placement.absurd.reports",
                "Reports of brokers that contradicted themselves",
                Snapshot::absurdReports);
    }

    private static void gauge(
            MeterRegistry registry,
            PlacementCounters counters,
            String name,
            String description,
            ToDoubleFunction<Snapshot> value) {
        Gauge.builder(name, counters, each -> value.applyAsDouble(each.last()))
                .description(description)
                .register(registry);
    }

    private static void count(
            MeterRegistry registry,
            PlacementCounters counters,
            String name,
            String description,
            ToDoubleFunction<Snapshot> value) {
        FunctionCounter.builder(name, counters, each -> value.applyAsDouble(each.last()))
                .description(description)
                .register(registry);
    }
}

package io.weir.supervisor.node.metrics;

import com.sun.management.GarbageCollectorMXBean;
import com.sun.management.GcInfo;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.supervisor.node.BrokerProcess;
import io.weir.supervisor.node.BrokerSupply;
import io.weir.supervisor.node.BrokerTopics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;

/** What the broker measures, in Prometheus's words: every name begins with {@code weir_}, every unit is a base unit. */
public final class BrokerMetrics implements AutoCloseable {
    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private volatile PathMetrics pathMetrics;
    private volatile SupplyMetrics supplyMetrics;
    private final JvmGcMetrics collector = new JvmGcMetrics();

    public void bind(BrokerSupply supply, BrokerTopics topics) {
        pathMetrics = new PathMetrics(registry, topics);
        supplyMetrics = new SupplyMetrics(registry, supply);
        topics.placement().ifPresent(placement -> new PlacementMetrics(registry, placement.counters()));
    }

    public BrokerMetrics(BrokerProcess broker) {
        registry.config().commonTags("broker", broker.id()).meterFilter(new MeterFilter() {
            @Override
            public Meter.Id map(Meter.Id id) {
                return id.withName("weir." + id.getName());
            }
        });
        new JvmMemoryMetrics().bindTo(registry);
        new JvmThreadMetrics().bindTo(registry);
        new ProcessorMetrics().bindTo(registry);
        new UptimeMetrics().bindTo(registry);
        collector.bindTo(registry);
        Gauge.builder("process.resident", BrokerMetrics::residentBytes)
                .baseUnit("bytes")
                .description("Memory of this process that is in RAM: heap, messages, buffers, code")
                .register(registry);
        Gauge.builder("jvm.heap.after.collection", BrokerMetrics::heapAfterCollection)
                .baseUnit("bytes")
                .description(
                        "What the last collection left on the heap: what is alive, and old garbage that it did not look at")
                .register(registry);
        Gauge.builder("broker.incarnation", broker, b -> b.view().incarnation())
                .description("The life that this broker is in")
                .register(registry);
        Gauge.builder("broker.ready", broker, b -> b.readiness().ready() ? 1 : 0)
                .description("1 when this broker serves, 0 otherwise")
                .register(registry);
        FunctionCounter.builder("broker.rejoins", broker, BrokerProcess::rejoins)
                .description("Lives begun in this process because the one before was removed from the cluster")
                .register(registry);
        for (String state : new String[] {"up", "joining", "leaving", "unreachable", "down"}) {
            Gauge.builder("cluster.members", broker, b -> b.view().members().stream()
                            .filter(member -> member.state().equals(state))
                            .count())
                    .tag("state", state)
                    .description("Members of the cluster as seen from here")
                    .register(registry);
        }
        Gauge.builder("media.driver.active", broker, b -> b.mediaDriverActive() ? 1 : 0)
                .description("1 when this host's media driver answers, 0 when it does not or none is set")
                .register(registry);
        Gauge.builder("store.registry.age", broker, b -> b.registryAgeMs() / 1_000.0)
                .baseUnit("seconds")
                .description("Since the list of brokers was last read from the store")
                .register(registry);
    }

    /** Linux only; elsewhere nothing is known. */
    private static double residentBytes() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
            return lines.filter(line -> line.startsWith("VmRSS:"))
                    .mapToDouble(line -> 1024 * Double.parseDouble(line.replaceAll("\\D", "")))
                    .findFirst()
                    .orElse(Double.NaN);
        } catch (IOException | UncheckedIOException e) {
            return Double.NaN;
        }
    }

    private static double heapAfterCollection() {
        GcInfo last = null;
        for (GarbageCollectorMXBean each : ManagementFactory.getPlatformMXBeans(GarbageCollectorMXBean.class)) {
            GcInfo info = each.getLastGcInfo();
            if (info != null && (last == null || info.getEndTime() > last.getEndTime())) {
                last = info;
            }
        }
        if (last == null) {
            return Double.NaN;
        }
        Map<String, MemoryUsage> after = last.getMemoryUsageAfterGc();
        return ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getType() == MemoryType.HEAP && after.containsKey(pool.getName()))
                .mapToDouble(pool -> after.get(pool.getName()).getUsed())
                .sum();
    }

    public String scrape() {
        if (supplyMetrics != null) {
            pathMetrics.update();
            supplyMetrics.update();
        }
        return registry.scrape();
    }

    @Override
    public void close() {
        collector.close();
        registry.close();
    }
}

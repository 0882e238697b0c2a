package io.weir.supervisor.node;

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

/** What the broker measures, in Prometheus's words: every name begins with {@code weir_}, every unit is a base unit. */
final class BrokerMetrics implements AutoCloseable {
    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private volatile PathMetrics pathMetrics;
    private volatile SupplyMetrics supplyMetrics;
    private final JvmGcMetrics collector = new JvmGcMetrics();

    void bind(BrokerSupply supply, BrokerTopics topics) {
        pathMetrics = new PathMetrics(registry, topics);
        supplyMetrics = new SupplyMetrics(registry, supply);
    }

    BrokerMetrics(BrokerProcess broker) {
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
                .description("Since the store last told who the brokers are")
                .register(registry);
    }

    String scrape() {
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

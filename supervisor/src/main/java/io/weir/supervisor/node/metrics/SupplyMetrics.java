package io.weir.supervisor.node.metrics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.actor.SupplyCounters;
import io.weir.limiter.supply.gate.Gates;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.supervisor.node.BrokerSupply;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

/**
 * What a broker's part in the limits looks like from outside. Sums over all topics, and single lines for topics that
 * messages arrived for: ten thousand idle topics are not worth seventy thousand lines.
 */
final class SupplyMetrics {
    /** The busiest; a scrape with more lines than this helps nobody. */
    private static final int MOST_TOPICS = 500;

    private final SupplyCounters counters;
    private final MultiGauge rate;
    private final MultiGauge burst;
    private final MultiGauge level;
    private final MultiGauge demand;

    SupplyMetrics(MeterRegistry registry, BrokerSupply supply) {
        counters = supply.counters();
        rate = perTopic(registry, "topic.share.rate", "This broker's part of the topic's rate");
        burst = perTopic(registry, "topic.share.burst", "This broker's part of the topic's burst");
        level = perTopic(registry, "topic.level", "Tokens in this broker's bucket");
        demand = perTopic(registry, "topic.demand", "Messages a second that arrive here, admitted or not");
        count(registry, "supply.rounds", counters.rounds, "Rounds in which neighbours compared what they hold");
        count(registry, "supply.messages", counters.messages, "Messages of the supply protocol to other brokers");
        count(registry, "supply.transfers.sent", counters.sent, "Transfers to other brokers that were stored");
        count(
                registry,
                "supply.transfers.received",
                counters.received,
                "Transfers from other brokers that were stored");
        count(
                registry,
                "supply.transfers.refunded",
                counters.refunded,
                "Transfers that came back: their destination died");
        count(
                registry,
                "supply.inheritances",
                counters.inheritances,
                "Accounts of dead brokers that this one inherited");
        count(registry, "supply.mints", counters.mints, "Versions of limits that were minted here");
        count(
                registry,
                "supply.ledger.restarts",
                counters.ledgerRestarts,
                "Recoveries after a write of unknown outcome");
        count(registry, "supply.violations", counters.violations, "What the protocol excludes and was seen: must be 0");
        Gauge.builder("lease.remaining", supply, s -> s.leaseRemainingNs() / 1e9)
                .baseUnit("seconds")
                .description("For how long this broker may admit if it renews no more")
                .register(registry);
        Gauge.builder(
                        "supply.stranded.rate",
                        counters,
                        c -> c.stranded().values().stream()
                                        .mapToLong(Share::rateMicros)
                                        .sum()
                                / (double) Limit.MICROS)
                .description("Messages a second that brokers which stopped or are cut off still hold")
                .register(registry);
        Gates gates = supply.gates();
        total(registry, gates, "messages.admitted", "Messages that got their token here", TopicGate::admitted);
        total(registry, gates, "messages.admitted.kept", "Of them, past or without the lease", TopicGate::admittedKept);
        total(registry, gates, "messages.delayed", "Messages that had to wait for their token", TopicGate::delayed);
        total(registry, gates, "messages.refused", "Messages that were turned away", TopicGate::refused);
    }

    private static MultiGauge perTopic(MeterRegistry registry, String name, String description) {
        return MultiGauge.builder(name).description(description).register(registry);
    }

    /** Reads the last round's figures; to be called before a scrape. */
    void update() {
        List<SupplyCounters.Busy> busiest = counters.busy().stream()
                .sorted(Comparator.comparingLong(SupplyCounters.Busy::demandMicros)
                        .reversed())
                .limit(MOST_TOPICS)
                .toList();
        update(rate, busiest, topic -> topic.share().rateMicros());
        update(burst, busiest, topic -> topic.share().burstMicros());
        update(level, busiest, SupplyCounters.Busy::levelMicros);
        update(demand, busiest, SupplyCounters.Busy::demandMicros);
    }

    private static void update(
            MultiGauge gauge, List<SupplyCounters.Busy> topics, ToLongFunction<SupplyCounters.Busy> micros) {
        gauge.register(
                topics.stream()
                        .<MultiGauge.Row<?>>map(topic -> MultiGauge.Row.of(
                                Tags.of("topic", topic.topic().value()),
                                micros.applyAsLong(topic) / (double) Limit.MICROS))
                        .toList(),
                true);
    }

    private static void count(MeterRegistry registry, String name, AtomicLong counter, String description) {
        FunctionCounter.builder(name, counter, AtomicLong::get)
                .description(description)
                .register(registry);
    }

    private static void total(
            MeterRegistry registry, Gates gates, String name, String description, ToDoubleFunction<TopicGate> value) {
        FunctionCounter.builder(name, gates, all -> all.all().stream()
                        .mapToDouble(value)
                        .sum())
                .description(description)
                .register(registry);
    }
}

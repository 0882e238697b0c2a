package io.weir.cluster.bench.limited;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.cluster.bench.Expense;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.TopicDescription;
import io.weir.topics.algorithm.DelayTotals;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Asks all brokers of a cluster about one topic. */
final class PenaltyProbe {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long LOOK_MS = 50;
    /** Of the whole limit: what rounding to micro-tokens leaves. */
    private static final double EXACT = 1e-6;

    private final BenchCluster cluster;
    private final String topic;

    PenaltyProbe(BenchCluster cluster, String topic) {
        this.cluster = cluster;
        this.topic = topic;
    }

    /**
     * What all brokers together used so far, for all topics: only one has a load.
     *
     * @param admitted messages that got tokens
     * @param borrowFrames unknown where brokers do not count them
     */
    record Costs(
            OptionalDouble admitted,
            OptionalDouble cpuSeconds,
            OptionalDouble transfers,
            OptionalDouble borrowFrames) {}

    Costs costs() {
        List<String> metrics = cluster.askEach("/metrics").stream()
                .map(answer -> new String(answer.body(), StandardCharsets.UTF_8))
                .toList();
        return new Costs(
                sum(metrics, "weir_messages_admitted_total", 1),
                sum(metrics, "weir_process_cpu_time_ns_total", 1e-9),
                sum(metrics, "weir_supply_transfers_sent_total", 1),
                sum(metrics, "weir_borrow_frames_total", 1));
    }

    private static OptionalDouble sum(List<String> metrics, String name, double unit) {
        double sum = 0;
        for (String each : metrics) {
            OptionalDouble value = Expense.OfBroker.metric(each, name);
            if (value.isEmpty()) {
                return OptionalDouble.empty();
            }
            sum += value.getAsDouble() * unit;
        }
        return OptionalDouble.of(sum);
    }

    /** The access delays that all brokers have counted so far. */
    DelayTotals delays() {
        DelayTotals sum = DelayTotals.NONE;
        for (BrokerClient.Answer answer : stats()) {
            JsonNode delay = answer.as(JsonNode.class).at("/topics/0/access_delay");
            if (!delay.isMissingNode()) {
                SortedMap<Long, Long> classes = new TreeMap<>();
                delay.get("classes")
                        .fields()
                        .forEachRemaining(each -> classes.put(
                                Long.valueOf(each.getKey()), each.getValue().asLong()));
                sum = sum.plus(DelayTotals.of(
                        delay.get("count").asLong(),
                        delay.get("delayed_count").asLong(),
                        delay.get("sum_us").asDouble() * 1e3,
                        Math.round(delay.get("max_us").asDouble() * 1e3),
                        classes));
            }
        }
        return sum;
    }

    private List<BrokerClient.Answer> stats() {
        return cluster.askEach("/stats?format=json&include_clients=false&include_mem=false&include_delay_classes=true"
                + "&topic=" + topic);
    }

    /** Nothing of an earlier load waits any more. */
    void awaitQuiet() {
        await("messages of topic " + topic + " still wait for tokens", () -> stats().stream()
                .allMatch(answer ->
                        answer.as(JsonNode.class).at("/topics/0/waiting_count").asLong(0) == 0));
    }

    /** The limit is there, whole, with a part at every broker. */
    void awaitLimit() {
        await("topic " + topic + " has not got its whole limit", () -> {
            TopicDescription description = description();
            List<TopicDescription.BrokerShare> shares = description.shares();
            return description.done()
                    && shares.size() == cluster.http().size()
                    && shares.stream().allMatch(share -> share.rate() > 0)
                    && Math.abs(description.sumRate() - description.rate()) <= EXACT * description.rate();
        });
    }

    List<TopicDescription.BrokerShare> shares() {
        return description().shares();
    }

    private TopicDescription description() {
        return cluster.ask("GET", "/v1/topics/" + topic, null).as(TopicDescription.class);
    }

    private static void await(String otherwise, BooleanSupplier condition) {
        long beganNs = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - beganNs > PATIENCE.toNanos()) {
                throw CliException.unavailable(otherwise + " after " + PATIENCE.toSeconds() + " s");
            }
            try {
                TimeUnit.MILLISECONDS.sleep(LOOK_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw CliException.unavailable("interrupted");
            }
        }
    }
}

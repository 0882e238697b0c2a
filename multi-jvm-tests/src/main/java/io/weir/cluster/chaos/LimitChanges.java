package io.weir.cluster.chaos;

import io.weir.cluster.history.HistoryWriter;
import io.weir.cluster.history.StoreRecorder;
import io.weir.config.value.Limit;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.supervisor.node.TopicRequest;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Changes limits, one change at a time, and records when: a raise counts from the moment it was asked for, a lowering
 * from the moment the store says it is done, which no broker's memory can say as surely.
 */
final class LimitChanges {
    private static final Logger LOG = LoggerFactory.getLogger(LimitChanges.class);
    private static final long AGAIN_MS = 300;

    private final Ground ground;
    private final List<String> brokers;
    private final StoreRecorder store;
    private final HistoryWriter history;
    private final Map<String, Double> factors = new HashMap<>();

    LimitChanges(Ground ground, List<String> brokers, StoreRecorder store, HistoryWriter history) {
        this.ground = ground;
        this.brokers = List.copyOf(brokers);
        this.store = store;
        this.history = history;
    }

    /** Creates a topic; asks again until the cluster, which may still be busy forming, has it. */
    void create(ChaosTopic topic, double floor, Duration within) throws InterruptedException {
        history.limit(System.nanoTime(), topic.name(), topic.rate(), topic.burst());
        factors.put(topic.name(), 1.0);
        until(topic, 1, within, () -> ground.topics(brokers.get(0)).create(topic.name(), topic.request(floor)));
    }

    /** Makes the limit {@code factor} times what it was at first, and waits until exactly that exists. */
    synchronized void change(ChaosTopic topic, double factor, Duration within) throws InterruptedException {
        double before = factors.get(topic.name());
        if (before == factor) {
            return;
        }
        double rate = topic.rate() * factor;
        double burst = topic.burst() * factor;
        long askedNs = System.nanoTime();
        history.limitAsked(askedNs, topic.name(), rate, burst);
        if (factor > before) {
            history.limit(askedNs, topic.name(), rate, burst);
        }
        factors.put(topic.name(), factor);
        int[] turn = new int[1];
        until(topic, factor, within, () -> ground.topics(brokers.get(turn[0]++ % brokers.size()))
                .changeLimit(topic.name(), TopicRequest.limit(rate, burst, null, null)));
        if (factor < before) {
            history.limit(System.nanoTime(), topic.name(), rate, burst);
        }
    }

    private void until(ChaosTopic topic, double factor, Duration within, Runnable ask) throws InterruptedException {
        Limit wanted = Limit.of(topic.rate() * factor, topic.burst() * factor);
        long deadlineNs = System.nanoTime() + within.toNanos();
        while (true) {
            Optional<LimitRow> now = row(topic);
            boolean asked = now.map(row -> is(row, wanted)).orElse(false);
            if (asked && now.get().done()) {
                return;
            }
            if (System.nanoTime() - deadlineNs > 0) {
                throw new IllegalStateException("the limit of " + topic.name() + " was not " + wanted + " within "
                        + within.toSeconds() + " s; the store has " + now);
            }
            if (!asked) {
                try {
                    ask.run();
                } catch (IllegalStateException e) {
                    LOG.debug("Limit of {}: {}", topic.name(), e.getMessage());
                }
            }
            Thread.sleep(AGAIN_MS);
        }
    }

    private static boolean is(LimitRow row, Limit wanted) {
        return row.limit().rateMicros() == wanted.rateMicros() && row.limit().burstMicros() == wanted.burstMicros();
    }

    private Optional<LimitRow> row(ChaosTopic topic) {
        try {
            return store.now().limits().stream()
                    .filter(row -> row.topic().value().equals(topic.name()))
                    .max(Comparator.comparingLong(LimitRow::version));
        } catch (SQLException e) {
            LOG.debug("The store does not answer: {}", e.getMessage());
            return Optional.empty();
        }
    }
}

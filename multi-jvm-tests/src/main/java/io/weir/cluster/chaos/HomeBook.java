package io.weir.cluster.chaos;

import io.weir.config.WeirSettings.StoreSettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.Decision;
import io.weir.supervisor.store.DecisionTable;
import io.weir.supervisor.store.StoreException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Moves publishers by decisions in the store, as a second distributor would beside the cluster's own. */
final class HomeBook implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HomeBook.class);
    private static final Duration ANSWER_WITHIN = Duration.ofSeconds(5);
    private static final Duration NEVER = Duration.ofDays(1);
    private static final long AGAIN_MS = 300;

    /**
     * Soon decided, soon decided again; and an objective that a machine which runs all this at once does not break by
     * itself.
     */
    static final Map<String, String> ENVIRONMENT = Map.of(
            "WEIR_PLACEMENT_ENABLED", "on",
            "WEIR_PLACEMENT_OBJECTIVE", "5s",
            "WEIR_PLACEMENT_SETTLE", "1s",
            "WEIR_PLACEMENT_ROUND", "5s");

    private final DecisionTable table;

    /** @param storeUrl with user and password */
    HomeBook(String storeUrl) {
        table = new DecisionTable(
                new StoreSettings(storeUrl, "", "", 1, ANSWER_WITHIN, ANSWER_WITHIN, NEVER, false), ANSWER_WITHIN);
    }

    /** Whether the cluster's own distributor has given the topic's publishers homes. */
    boolean placed(String topic) {
        return decision(topic).filter(decision -> publishers(decision) > 0).isPresent();
    }

    /**
     * Gives every publisher that has a home this one instead; against others that decide meanwhile it tries again.
     *
     * @throws IllegalStateException if it is not in the store in time
     */
    void move(String topic, String broker, Duration within) throws InterruptedException {
        long deadlineNs = System.nanoTime() + within.toNanos();
        while (!moved(topic, new BrokerId(broker))) {
            if (System.nanoTime() - deadlineNs > 0) {
                throw new IllegalStateException("the store took no decision within " + within.toSeconds() + " s");
            }
            Thread.sleep(AGAIN_MS);
        }
    }

    private boolean moved(String topic, BrokerId broker) {
        Optional<Decision> now = decision(topic).filter(decision -> publishers(decision) > 0);
        try {
            return now.isPresent()
                    && table.replace(now.get().revision(), now.get().allAt(broker, "chaos"));
        } catch (StoreException e) {
            LOG.debug("Homes of {}: {}", topic, e.getMessage());
            return false;
        }
    }

    private Optional<Decision> decision(String topic) {
        try {
            return table.get(new TopicName(topic));
        } catch (StoreException e) {
            LOG.debug("Homes of {}: {}", topic, e.getMessage());
            return Optional.empty();
        }
    }

    private static int publishers(Decision decision) {
        return decision.parts().stream().mapToInt(Decision.Part::publishers).sum();
    }

    @Override
    public void close() {
        table.close();
    }
}

package io.weir.supervisor.node;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.actor.SupplyCoordinator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/** What brokers last answered about topics. It is all that can be shown of a broker that does not answer. */
final class LastParts {
    /** The topic whose last question is the longest ago is forgotten first. */
    static final int MOST_TOPICS = 1_000;

    /** What a broker said, and when. */
    record Heard(SupplyCoordinator.Part part, long atNs) {}

    private final LongSupplier clock;
    private final Map<TopicName, Map<BrokerId, Heard>> topics = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<TopicName, Map<BrokerId, Heard>> eldest) {
            return size() > MOST_TOPICS;
        }
    };

    LastParts(LongSupplier clock) {
        this.clock = clock;
    }

    synchronized void heard(TopicName topic, SupplyCoordinator.Part part) {
        topics.computeIfAbsent(topic, any -> new HashMap<>())
                .put(new BrokerId(part.broker()), new Heard(part, clock.getAsLong()));
    }

    /** What this life of the broker said last. */
    synchronized Optional<Heard> of(TopicName topic, BrokerId broker, long incarnation) {
        return Optional.ofNullable(topics.getOrDefault(topic, Map.of()).get(broker))
                .filter(heard -> heard.part().incarnation() == incarnation);
    }

    long ageMs(Heard heard) {
        return (clock.getAsLong() - heard.atNs()) / 1_000_000;
    }
}

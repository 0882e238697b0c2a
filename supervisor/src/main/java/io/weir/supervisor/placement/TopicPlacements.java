package io.weir.supervisor.placement;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.PlacedTopic;
import io.weir.supervisor.placement.algorithm.Policy;
import io.weir.supervisor.placement.algorithm.Slo;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * The topics that the {@link Distributor} places, by name and by number, with the objectives and policies that they
 * were given.
 */
final class TopicPlacements {
    private final Distributor.Settings settings;
    private final Function<TopicName, Optional<Limit>> limits;
    private final Map<TopicName, TopicPlacement> byName = new LinkedHashMap<>();
    private final Map<Integer, TopicPlacement> byIndex = new HashMap<>();
    private int nextIndex;
    private Map<TopicName, Long> objectives = Map.of();
    private Map<TopicName, Policy> policies = Map.of();

    /** @param limits of the topics that exist */
    TopicPlacements(Distributor.Settings settings, Function<TopicName, Optional<Limit>> limits) {
        this.settings = settings;
        this.limits = limits;
    }

    void objectives(Map<TopicName, Long> newObjectives) {
        objectives = newObjectives;
    }

    void policies(Map<TopicName, Policy> newPolicies) {
        policies = newPolicies;
    }

    Policy policy(TopicPlacement topic) {
        return policies.getOrDefault(topic.name, settings.policy());
    }

    boolean exists(TopicName name) {
        return limits.apply(name).isPresent();
    }

    /** What has to be placed under this name; empty if there is no such topic (any more). */
    Optional<PlacedTopic> defined(TopicName name) {
        return limits.apply(name)
                .map(limit ->
                        new PlacedTopic(name, limit, Slo.p99(objectives.getOrDefault(name, settings.objectiveNs()))));
    }

    TopicPlacement add(PlacedTopic defined) {
        TopicPlacement topic = new TopicPlacement(defined, nextIndex++);
        byName.put(topic.name, topic);
        byIndex.put(topic.index, topic);
        return topic;
    }

    /** Removes topics that are gone and whose last decision says so in the store; answers their names. */
    List<TopicName> removeDissolved() {
        List<TopicPlacement> over = byName.values().stream()
                .filter(topic -> topic.gone && topic.pending == null && topic.dissolved())
                .toList();
        over.forEach(topic -> {
            byName.remove(topic.name);
            byIndex.remove(topic.index);
        });
        return over.stream().map(topic -> topic.name).toList();
    }

    /** Also one that is gone and not dissolved yet; null if it is not known. */
    TopicPlacement get(TopicName name) {
        return byName.get(name);
    }

    /** Empty if the topic is gone: a number is never given again. */
    Optional<TopicPlacement> get(int index) {
        return Optional.ofNullable(byIndex.get(index));
    }

    Optional<TopicPlacement> find(TopicName name) {
        return Optional.ofNullable(byName.get(name)).filter(topic -> !topic.gone);
    }

    /** In no order, with those that are gone and not dissolved yet. */
    Collection<TopicPlacement> all() {
        return byName.values();
    }

    /** By name. */
    List<TopicPlacement> sorted() {
        return byName.values().stream()
                .filter(topic -> !topic.gone)
                .sorted(Comparator.comparing(topic -> topic.name.value()))
                .toList();
    }

    /** How many numbers lead to a topic. */
    int numbered() {
        return byIndex.size();
    }
}

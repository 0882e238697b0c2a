package io.weir.supervisor.placement;

import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.Policy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** The store's part, in memory, with all that was ever written. */
final class StoredDecisions implements Decisions {
    final List<Decision> written = new ArrayList<>();
    private final Map<TopicName, Decision> rows = new HashMap<>();
    private final Map<TopicName, Long> changes = new HashMap<>();
    private final List<Capacity> capacities = new ArrayList<>();
    private final Map<TopicName, Long> objectives = new HashMap<>();
    private final Map<TopicName, Policy> policies = new HashMap<>();
    private final Map<List<Object>, Registered> registrations = new LinkedHashMap<>();
    private long registrationNumber = 1;
    private long change;
    boolean away;
    /** How often anybody asked for or wrote anything. */
    int calls;
    /** How many times registrations were written. */
    int registrationBatches;

    @Override
    public synchronized boolean replace(long expectedRevision, Decision decision) {
        answer();
        Decision there = rows.get(decision.topic());
        if ((there == null ? 0 : there.revision()) != expectedRevision) {
            return false;
        }
        rows.put(decision.topic(), decision);
        changes.put(decision.topic(), ++change);
        written.add(decision);
        return true;
    }

    private void answer() {
        calls++;
        if (away) {
            throw new IllegalStateException("the store is away");
        }
    }

    @Override
    public synchronized Changes after(long after) {
        answer();
        List<Decision> later = changes.entrySet().stream()
                .filter(entry -> entry.getValue() > after)
                .sorted(Map.Entry.comparingByValue())
                .map(entry -> rows.get(entry.getKey()))
                .toList();
        return new Changes(change, later);
    }

    @Override
    public synchronized Optional<Decision> get(TopicName topic) {
        answer();
        return Optional.ofNullable(rows.get(topic));
    }

    @Override
    public synchronized void calibrated(Capacity capacity) {
        capacities.removeIf(each -> each.broker().equals(capacity.broker()));
        capacities.add(capacity);
    }

    @Override
    public synchronized List<Capacity> capacities() {
        answer();
        return List.copyOf(capacities);
    }

    @Override
    public synchronized void objective(TopicName topic, long objectiveNs) {
        if (objectiveNs == 0) {
            objectives.remove(topic);
        } else {
            objectives.put(topic, objectiveNs);
        }
    }

    @Override
    public synchronized void policy(TopicName topic, Optional<Policy> policy) {
        policies.remove(topic);
        policy.ifPresent(own -> policies.put(topic, own));
    }

    @Override
    public synchronized Map<TopicName, Policy> policies() {
        answer();
        return Map.copyOf(policies);
    }

    @Override
    public synchronized Map<TopicName, Long> objectives() {
        answer();
        return Map.copyOf(objectives);
    }

    @Override
    public synchronized void register(List<Registered> put, List<Registered> gone) {
        answer();
        registrationBatches++;
        registrationNumber++;
        put.forEach(each -> registrations.put(List.of(each.topic(), each.id()), each));
        gone.forEach(each -> registrations.remove(List.of(each.topic(), each.id())));
    }

    @Override
    public synchronized List<Registered> registrations() {
        answer();
        return List.copyOf(registrations.values());
    }

    @Override
    public synchronized Optional<RegisteredTopics> registeredTopics(long known) {
        answer();
        return known == registrationNumber
                ? Optional.empty()
                : Optional.of(new RegisteredTopics(
                        registrationNumber,
                        registrations.values().stream().map(Registered::topic).collect(Collectors.toSet())));
    }
}

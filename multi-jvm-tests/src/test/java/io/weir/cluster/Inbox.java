package io.weir.cluster;

import io.weir.cluster.RealClient.Answer;
import io.weir.cluster.RealClient.Handler;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** What came to consumers, who finish everything: of each message, the attempts that it came with. */
final class Inbox implements Handler {
    private final Map<String, List<Integer>> attempts = new ConcurrentHashMap<>();

    @Override
    public Answer handle(String body, int attempt) {
        attempts.computeIfAbsent(body, first -> new CopyOnWriteArrayList<>()).add(attempt);
        return Answer.FINISH;
    }

    Map<String, List<Integer>> attempts() {
        return attempts;
    }

    Set<String> bodies() {
        return attempts.keySet();
    }

    /** How often something came that had come before. */
    long duplicates() {
        return attempts.values().stream().mapToLong(each -> each.size() - 1L).sum();
    }

    void await(Collection<String> bodies, Duration within) {
        SupplyWatch.await(
                "all of " + bodies.size() + " messages come", within, () -> bodies().containsAll(bodies), () -> {
                    List<String> missing = bodies.stream()
                            .filter(body -> !attempts.containsKey(body))
                            .toList();
                    return missing.size() + " are missing, the first: "
                            + missing.subList(0, Math.min(5, missing.size()));
                });
    }
}

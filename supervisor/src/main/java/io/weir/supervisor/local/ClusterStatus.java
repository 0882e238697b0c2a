package io.weir.supervisor.local;

import io.weir.config.Endpoint;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.BrokerStatus;
import io.weir.supervisor.node.NodeView.MemberView;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/**
 * A cluster's state put together from what its brokers answer. Brokers may be dead, stopped or cut off, and those that
 * answer may disagree: the picture of the broker that sees the most others up counts, as a minority's does not.
 */
public record ClusterStatus(List<BrokerLine> brokers, String leader, String singletonHost) {

    /**
     * One broker.
     *
     * @param state up, joining, leaving, unreachable (a member that does not answer) or gone (not a member)
     * @param uptimeMillis null where the broker does not answer, as the two after it
     */
    public record BrokerLine(
            String id,
            String state,
            long pid,
            long incarnation,
            String tcp,
            String http,
            Long uptimeMillis,
            Long heapUsedBytes,
            Long heapMaxBytes,
            Long rejoins) {}

    /** A broker that should be there, known before anyone is asked. */
    public record Expected(String id, long pid, long incarnation, String tcp, String http) {}

    /** Asks everyone at once. */
    public static ClusterStatus of(List<Expected> expected) {
        Map<String, CompletableFuture<Optional<BrokerStatus>>> asked = new LinkedHashMap<>();
        for (Expected broker : expected) {
            asked.put(broker.id(), new BrokerClient(Endpoint.parse(broker.http())).status());
        }
        Map<String, BrokerStatus> answers = new TreeMap<>();
        asked.forEach((id, answer) ->
                answer.join().filter(status -> status.id().equals(id)).ifPresent(status -> answers.put(id, status)));
        return merge(expected, answers);
    }

    static ClusterStatus merge(List<Expected> expected, Map<String, BrokerStatus> answers) {
        Optional<BrokerStatus> witness = answers.values().stream()
                .filter(status -> status.state().equals("up") || status.state().equals("leaving"))
                .max(Comparator.comparingLong(ClusterStatus::upMembers));
        Map<String, MemberView> members = new TreeMap<>();
        witness.ifPresent(status -> status.members().forEach(member -> members.put(member.id(), member)));
        List<BrokerLine> lines = new ArrayList<>();
        for (Expected broker : expected) {
            lines.add(line(
                    broker,
                    Optional.ofNullable(answers.get(broker.id())),
                    Optional.ofNullable(members.get(broker.id()))));
        }
        return new ClusterStatus(
                lines,
                witness.map(BrokerStatus::leader).orElse(null),
                witness.map(BrokerStatus::singletonHost).orElse(null));
    }

    private static long upMembers(BrokerStatus status) {
        return status.members().stream()
                .filter(member -> member.state().equals("up"))
                .count();
    }

    private static BrokerLine line(Expected broker, Optional<BrokerStatus> answer, Optional<MemberView> member) {
        return new BrokerLine(
                broker.id(),
                state(answer, member),
                answer.map(BrokerStatus::pid).orElse(broker.pid()),
                answer.map(BrokerStatus::incarnation)
                        .or(() -> member.map(MemberView::incarnation))
                        .orElse(broker.incarnation()),
                broker.tcp(),
                broker.http(),
                answer.map(BrokerStatus::uptimeMillis).orElse(null),
                answer.map(BrokerStatus::heapUsedBytes).orElse(null),
                answer.map(BrokerStatus::heapMaxBytes).orElse(null),
                answer.map(BrokerStatus::rejoins).orElse(null));
    }

    private static String state(Optional<BrokerStatus> answer, Optional<MemberView> member) {
        if (member.isEmpty()) {
            // Not a member: on its way in if it answers, gone if it does not.
            return answer.isPresent() ? "joining" : "gone";
        }
        if (answer.isEmpty()) {
            // Still a member, but it does not answer: the cluster has not noticed yet, or has and waits.
            return "unreachable";
        }
        String seen = member.get().state();
        if (seen.equals("down") || answer.get().incarnation() != member.get().incarnation()) {
            // The member is an earlier life, taken down or not yet missed; the one that answers comes after it.
            return "joining";
        }
        return answer.get().state().equals("leaving") ? "leaving" : seen;
    }

    public boolean allUp() {
        return !brokers.isEmpty()
                && brokers.stream().allMatch(broker -> broker.state().equals("up"));
    }
}

package io.weir.supervisor.node;

import io.weir.config.Endpoint;
import io.weir.supervisor.node.NodeView.MemberView;
import io.weir.supervisor.store.BrokerRegistry.RegisteredBroker;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Finds out that this broker sits in a cluster of its own while the others have gone on in another. Akka's clusters
 * never merge, and a resolver can be wrong about which side it is on: a broker that was stopped for 30 s wakes up,
 * misses one peer after the other, each time believes that it is with the majority, and ends up alone and content (seen
 * with three brokers, keep-majority).
 *
 * <p>So a broker that misses some that the store calls running asks them over HTTP. If one of them is up in a cluster
 * that does not have this broker's present life, and that cluster is the larger (of two equal ones: the one that has
 * the lowest id up), three times in a row, then this broker should leave and join that one. Both sides judge alike, so
 * only one of them moves.
 */
final class Reunion {
    private static final int TIMES_IN_A_ROW = 3;

    private final String id;
    private int seenInARow;

    Reunion(String id) {
        this.id = id;
    }

    /** Called once a registry interval; asks only if somebody is missing. */
    boolean shouldJoinAnother(NodeView view, List<RegisteredBroker> known) {
        List<String> members = view.members().stream().map(MemberView::id).toList();
        List<CompletableFuture<Optional<BrokerStatus>>> asked = view.up()
                ? known.stream()
                        .filter(broker -> broker.running()
                                && !members.contains(broker.id().value()))
                        .map(broker -> new BrokerClient(Endpoint.parse(broker.http())).status())
                        .toList()
                : List.of();
        boolean larger = asked.stream()
                .map(CompletableFuture::join)
                .flatMap(Optional::stream)
                .anyMatch(other -> isLargerWithoutUs(view, other));
        seenInARow = larger ? seenInARow + 1 : 0;
        return seenInARow >= TIMES_IN_A_ROW;
    }

    boolean isLargerWithoutUs(NodeView view, BrokerStatus other) {
        boolean hasUs = other.members().stream()
                .anyMatch(member -> member.id().equals(id) && member.incarnation() == view.incarnation());
        if (!other.state().equals("up") || hasUs) {
            return false;
        }
        long ours = up(view.members());
        long theirs = up(other.members());
        return theirs > ours || theirs == ours && lowest(other.members()).compareTo(lowest(view.members())) < 0;
    }

    private static long up(List<MemberView> members) {
        return members.stream().filter(member -> member.state().equals("up")).count();
    }

    private static String lowest(List<MemberView> members) {
        return members.stream()
                .map(MemberView::id)
                .min(Comparator.naturalOrder())
                .orElse("");
    }
}

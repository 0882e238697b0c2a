package io.weir.supervisor.node;

import java.util.List;
import java.util.Optional;

/**
 * What a broker knows of itself and of the cluster at one moment: published by the actor that watches membership, read
 * by whoever answers for the broker. It outlives the actor system that it speaks of.
 *
 * @param state up, joining, leaving or down (no actor system, or one that was removed)
 * @param leader the broker that leads the cluster, as seen from here
 * @param singletonHost the oldest broker: cluster singletons run there
 * @param featureLevel the lowest of the members': what came with a higher level is not to be used with all of them yet
 */
public record NodeView(
        long incarnation,
        String state,
        Optional<String> leader,
        Optional<String> singletonHost,
        List<MemberView> members,
        int featureLevel) {

    /** A member of the cluster as seen from here. */
    public record MemberView(String id, long incarnation, String address, String state) {}

    static NodeView down(long incarnation) {
        return new NodeView(
                incarnation, "down", Optional.empty(), Optional.empty(), List.of(), Membership.FEATURE_LEVEL);
    }

    public boolean up() {
        return state.equals("up");
    }
}

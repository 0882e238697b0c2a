package io.weir.supervisor.node;

import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.cluster.ClusterEvent;
import akka.cluster.ClusterEvent.ClusterDomainEvent;
import akka.cluster.Member;
import akka.cluster.MemberStatus;
import akka.cluster.typed.Cluster;
import akka.cluster.typed.Subscribe;
import io.weir.supervisor.node.NodeView.MemberView;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.StreamSupport;

/**
 * Watches the cluster's membership and publishes what it sees as a {@link NodeView}; what an operator would draw on a
 * time line goes to the log. Membership is a hint to look, never proof that a broker has stopped.
 *
 * <p>A broker's id and incarnation travel as roles of its member: they are fixed for one life of the actor system, and
 * are there with the first gossip, without asking anyone.
 */
final class Membership extends AbstractBehavior<ClusterDomainEvent> {
    private static final String ID_ROLE = "id=";
    private static final String INCARNATION_ROLE = "incarnation=";

    private final Cluster cluster;
    private final long incarnation;
    private final Consumer<NodeView> views;
    private boolean toldOwnUp;

    static List<String> rolesOf(String id, long incarnation) {
        return List.of("broker", ID_ROLE + id, INCARNATION_ROLE + incarnation);
    }

    static Behavior<ClusterDomainEvent> create(long incarnation, Consumer<NodeView> views) {
        return Behaviors.setup(context -> new Membership(context, incarnation, views));
    }

    private Membership(ActorContext<ClusterDomainEvent> context, long incarnation, Consumer<NodeView> views) {
        super(context);
        this.cluster = Cluster.get(context.getSystem());
        this.incarnation = incarnation;
        this.views = views;
        cluster.subscriptions().tell(Subscribe.create(context.getSelf(), ClusterDomainEvent.class));
        publish();
    }

    @Override
    public Receive<ClusterDomainEvent> createReceive() {
        return newReceiveBuilder()
                .onMessage(ClusterEvent.MemberUp.class, event -> told(event.member(), "is up"))
                .onMessage(ClusterEvent.MemberLeft.class, event -> told(event.member(), "is leaving"))
                .onMessage(ClusterEvent.MemberDowned.class, event -> told(event.member(), "was taken down"))
                .onMessage(ClusterEvent.MemberRemoved.class, event -> told(event.member(), "is gone"))
                .onMessage(ClusterEvent.UnreachableMember.class, event -> told(event.member(), "is unreachable"))
                .onMessage(ClusterEvent.ReachableMember.class, event -> told(event.member(), "is reachable again"))
                .onMessage(ClusterEvent.LeaderChanged.class, event -> publish())
                .onAnyMessage(event -> publish())
                .build();
    }

    private Behavior<ClusterDomainEvent> told(Member member, String what) {
        // A broker that has left or was removed sees everyone go; that is its own end, not theirs.
        MemberStatus own = cluster.selfMember().status();
        boolean self = member.uniqueAddress().equals(cluster.selfMember().uniqueAddress());
        if (!self && !own.equals(MemberStatus.removed()) && !own.equals(MemberStatus.down())) {
            getContext().getLog().info("{} (incarnation {}) {}", idOf(member), incarnationOf(member), what);
        }
        return publish();
    }

    private Behavior<ClusterDomainEvent> publish() {
        ClusterEvent.CurrentClusterState state = cluster.state();
        Set<Member> unreachable = state.getUnreachable();
        List<Member> members = StreamSupport.stream(state.getMembers().spliterator(), false)
                .sorted(Comparator.comparing(Membership::idOf))
                .toList();
        List<MemberView> seen = new ArrayList<>();
        for (Member member : members) {
            seen.add(new MemberView(
                    idOf(member),
                    incarnationOf(member),
                    address(member),
                    stateOf(member, unreachable.contains(member))));
        }
        Optional<String> leader = members.stream()
                .filter(member -> member.address().equals(state.getLeader()))
                .map(Membership::idOf)
                .findFirst();
        String own = stateOf(cluster.selfMember(), false);
        if (own.equals("up") && !toldOwnUp) {
            toldOwnUp = true;
            getContext().getLog().info("{} is up among {} brokers", idOf(cluster.selfMember()), members.size());
        }
        views.accept(new NodeView(incarnation, own, leader, oldest(members), seen));
        return this;
    }

    private static Optional<String> oldest(List<Member> members) {
        return members.stream()
                .filter(member -> member.status().equals(MemberStatus.up())
                        || member.status().equals(MemberStatus.leaving()))
                .min((a, b) -> a.isOlderThan(b) ? -1 : 1)
                .map(Membership::idOf);
    }

    private static String stateOf(Member member, boolean unreachable) {
        MemberStatus status = member.status();
        if (status.equals(MemberStatus.down()) || status.equals(MemberStatus.removed())) {
            return "down";
        }
        if (unreachable) {
            return "unreachable";
        }
        if (status.equals(MemberStatus.up())) {
            return "up";
        }
        return status.equals(MemberStatus.joining()) || status.equals(MemberStatus.weaklyUp()) ? "joining" : "leaving";
    }

    private static String idOf(Member member) {
        return role(member, ID_ROLE).orElseGet(() -> address(member));
    }

    private static long incarnationOf(Member member) {
        return role(member, INCARNATION_ROLE).map(Long::parseLong).orElse(0L);
    }

    private static Optional<String> role(Member member, String prefix) {
        return member.getRoles().stream()
                .filter(role -> role.startsWith(prefix))
                .map(role -> role.substring(prefix.length()))
                .findFirst();
    }

    private static String address(Member member) {
        return member.address().getHost().orElse("") + ":"
                + member.address().getPort().orElse(0);
    }
}

package io.weir.supervisor.node;

import akka.actor.Address;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.cluster.ClusterEvent;
import akka.cluster.ClusterEvent.ClusterDomainEvent;
import akka.cluster.Member;
import akka.cluster.MemberStatus;
import akka.cluster.UniqueAddress;
import akka.cluster.typed.Cluster;
import akka.cluster.typed.Subscribe;
import io.weir.supervisor.node.NodeView.MemberView;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Watches the cluster's membership and publishes what it sees as a {@link NodeView}; what an operator would draw on a
 * time line goes to the log. Membership is a hint to look, never proof that a broker has stopped.
 *
 * <p>A broker's id, incarnation and feature level travel as roles of its member: they are fixed for one life of the
 * actor system, and are there with the first gossip, without asking anyone. Members without the role of a broker are
 * applications, and not seen here.
 */
final class Membership extends AbstractBehavior<ClusterDomainEvent> {
    private static final String BROKER_ROLE = "broker";
    private static final String ID_ROLE = "id=";
    private static final String INCARNATION_ROLE = "incarnation=";
    private static final String LEVEL_ROLE = "level=";

    /**
     * What this version can say to others beyond what they may know: raised by whoever adds messages between brokers
     * that an older one would not understand. They are sent when the lowest level of the cluster has them. 1: sealed
     * links, and frames in parts.
     */
    static final int FEATURE_LEVEL = 1;

    private final UniqueAddress self;
    private final long incarnation;
    private final Consumer<NodeView> views;
    // Kept from the events themselves: Cluster.state() is updated beside this actor and may lag behind the event that
    // it just got.
    private final Map<UniqueAddress, Member> members = new HashMap<>();
    private final Set<UniqueAddress> unreachable = new HashSet<>();
    private Address leader;
    private boolean loggedOwnUp;
    private int loggedLevel = FEATURE_LEVEL;

    static List<String> rolesOf(String id, long incarnation) {
        return List.of(BROKER_ROLE, ID_ROLE + id, INCARNATION_ROLE + incarnation, LEVEL_ROLE + FEATURE_LEVEL);
    }

    static Behavior<ClusterDomainEvent> create(long incarnation, Consumer<NodeView> views) {
        return Behaviors.setup(context -> new Membership(context, incarnation, views));
    }

    private Membership(ActorContext<ClusterDomainEvent> context, long incarnation, Consumer<NodeView> views) {
        super(context);
        Cluster cluster = Cluster.get(context.getSystem());
        this.self = cluster.selfMember().uniqueAddress();
        this.incarnation = incarnation;
        this.views = views;
        // The state so far comes as events, too.
        cluster.subscriptions().tell(Subscribe.create(context.getSelf(), ClusterDomainEvent.class));
    }

    @Override
    public Receive<ClusterDomainEvent> createReceive() {
        return newReceiveBuilder()
                .onMessage(ClusterEvent.MemberRemoved.class, this::onRemoved)
                .onMessage(ClusterEvent.MemberEvent.class, this::onChanged)
                .onMessage(ClusterEvent.UnreachableMember.class, this::onUnreachable)
                .onMessage(ClusterEvent.ReachableMember.class, this::onReachable)
                .onMessage(ClusterEvent.LeaderChanged.class, this::onLeaderChanged)
                .onAnyMessage(event -> this)
                .build();
    }

    private Behavior<ClusterDomainEvent> onChanged(ClusterEvent.MemberEvent event) {
        Member member = event.member();
        if (!member.hasRole(BROKER_ROLE)) {
            return this;
        }
        members.put(member.uniqueAddress(), member);
        if (event instanceof ClusterEvent.MemberUp) {
            tell(member, "is up");
        } else if (event instanceof ClusterEvent.MemberLeft) {
            tell(member, "is leaving");
        } else if (event instanceof ClusterEvent.MemberDowned) {
            tell(member, "was taken down");
        }
        return publish();
    }

    private Behavior<ClusterDomainEvent> onRemoved(ClusterEvent.MemberRemoved event) {
        if (!event.member().hasRole(BROKER_ROLE)) {
            return this;
        }
        members.remove(event.member().uniqueAddress());
        unreachable.remove(event.member().uniqueAddress());
        tell(event.member(), "is gone");
        return publish();
    }

    private Behavior<ClusterDomainEvent> onUnreachable(ClusterEvent.UnreachableMember event) {
        if (!event.member().hasRole(BROKER_ROLE)) {
            return this;
        }
        unreachable.add(event.member().uniqueAddress());
        tell(event.member(), "is unreachable");
        return publish();
    }

    private Behavior<ClusterDomainEvent> onReachable(ClusterEvent.ReachableMember event) {
        if (!event.member().hasRole(BROKER_ROLE)) {
            return this;
        }
        unreachable.remove(event.member().uniqueAddress());
        tell(event.member(), "is reachable again");
        return publish();
    }

    private Behavior<ClusterDomainEvent> onLeaderChanged(ClusterEvent.LeaderChanged event) {
        leader = event.getLeader();
        return publish();
    }

    private String ownState() {
        Member own = members.get(self);
        return own == null ? "down" : stateOf(own, false);
    }

    private void tell(Member member, String what) {
        // A broker that was removed sees everyone go; that is its own end, not theirs.
        if (!member.uniqueAddress().equals(self) && !ownState().equals("down")) {
            getContext().getLog().info("{} (incarnation {}) {}", idOf(member), incarnationOf(member), what);
        }
    }

    private Behavior<ClusterDomainEvent> publish() {
        List<Member> sorted = members.values().stream()
                .sorted(Comparator.comparing(Membership::idOf))
                .toList();
        List<MemberView> seen = sorted.stream()
                .map(member -> new MemberView(
                        idOf(member),
                        incarnationOf(member),
                        address(member),
                        stateOf(member, unreachable.contains(member.uniqueAddress()))))
                .toList();
        Optional<String> leading = sorted.stream()
                .filter(member -> member.address().equals(leader))
                .map(Membership::idOf)
                .findFirst();
        String own = ownState();
        if (own.equals("up") && !loggedOwnUp) {
            loggedOwnUp = true;
            getContext().getLog().info("{} is up, one of {} members", idOf(members.get(self)), members.size());
        }
        int level = sorted.stream().mapToInt(Membership::levelOf).min().orElse(FEATURE_LEVEL);
        if (level != loggedLevel) {
            loggedLevel = level;
            getContext()
                    .getLog()
                    .info("the cluster's features are at level {}, this broker has level {}", level, FEATURE_LEVEL);
        }
        views.accept(new NodeView(incarnation, own, leading, oldest(sorted), seen, level));
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

    /** Brokers from before there were levels have none. */
    private static int levelOf(Member member) {
        return role(member, LEVEL_ROLE).map(Integer::parseInt).orElse(0);
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

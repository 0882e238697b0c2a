package io.weir.limiter.supply.actor;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.actor.typed.javadsl.TimerScheduler;
import io.weir.config.WeirSettings.SupplySettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.protocol.AdaptorMoves;
import io.weir.limiter.supply.protocol.PeerMessage;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * SRTM's TB adaptor, a cluster singleton: asks every broker about the topics that chose it, works out how much each
 * broker should have, and orders transfers between any two brokers, which their ledgers carry out like any other. If
 * two adaptors run for a while, they order twice; a ledger gives only what it has, so no order can exceed a limit.
 */
public final class Adaptor extends AbstractBehavior<Adaptor.Command> {
    /** What it understands. */
    public sealed interface Command {}

    /** Share and demand of one topic at one broker. */
    public record Report(TopicName topic, long version, Share limit, Holding share, Demand demand) {}

    /** One broker's reports. */
    public record Reported(Holder from, long round, List<Report> reports) implements Command {}

    private record RoundDue() implements Command {}

    private record CollectedLongEnough(long round) implements Command {}

    private record Found(SupplyCoordinator.Peers peers) implements Command {}

    private final ActorRef<SupplyCoordinator.Command> local;
    private final SupplySettings settings;
    private final TimerScheduler<Command> timers;
    private final ActorRef<SupplyCoordinator.Peers> peersReply;
    private final Map<Holder, List<Report>> collected = new LinkedHashMap<>();
    private Map<BrokerId, ActorRef<SupplyCoordinator.Command>> asked = Map.of();
    private long round;
    private boolean collecting;

    /** @param local the coordinator of the broker that it runs on, which knows where the others are */
    public static Behavior<Command> create(ActorRef<SupplyCoordinator.Command> local, SupplySettings settings) {
        return Behaviors.setup(
                context -> Behaviors.withTimers(timers -> new Adaptor(context, timers, local, settings)));
    }

    private Adaptor(
            ActorContext<Command> context,
            TimerScheduler<Command> timers,
            ActorRef<SupplyCoordinator.Command> local,
            SupplySettings settings) {
        super(context);
        // Akka would otherwise derive the logger's name from the withTimers wrapper.
        context.setLoggerName(Adaptor.class);
        this.local = local;
        this.settings = settings;
        this.timers = timers;
        this.peersReply = context.messageAdapter(SupplyCoordinator.Peers.class, Found::new);
        timers.startTimerWithFixedDelay(new RoundDue(), settings.adaptation());
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(RoundDue.class, due -> onRoundDue())
                .onMessage(Found.class, this::onFound)
                .onMessage(Reported.class, this::onReported)
                .onMessage(CollectedLongEnough.class, this::onCollectedLongEnough)
                .build();
    }

    private Behavior<Command> onRoundDue() {
        local.tell(new SupplyCoordinator.WhoIsThere(peersReply));
        return this;
    }

    private Behavior<Command> onFound(Found found) {
        round++;
        collecting = true;
        collected.clear();
        asked = found.peers.refs();
        asked.values()
                .forEach(peer -> peer.tell(new SupplyCoordinator.ReportWanted(
                        round, getContext().getSelf().narrow())));
        timers.startSingleTimer(
                new CollectedLongEnough(round), settings.adaptation().dividedBy(2));
        return this;
    }

    private Behavior<Command> onReported(Reported reported) {
        if (collecting && reported.round == round) {
            collected.put(reported.from, reported.reports);
            if (collected.size() == asked.size()) {
                adapt();
            }
        }
        return this;
    }

    /** Brokers that did not answer keep what they have; what the others reported is divided among those. */
    private Behavior<Command> onCollectedLongEnough(CollectedLongEnough enough) {
        if (collecting && enough.round == round && collected.size() > 1) {
            adapt();
        }
        return this;
    }

    private void adapt() {
        collecting = false;
        Map<TopicName, Map<Holder, Report>> byTopic = new LinkedHashMap<>();
        collected.forEach((holder, reports) ->
                reports.forEach(report -> byTopic.computeIfAbsent(report.topic, topic -> new LinkedHashMap<>())
                        .put(holder, report)));
        Map<AdaptorMoves.Edge, Map<TopicName, Share>> orders = new HashMap<>();
        byTopic.forEach((topic, reports) -> {
            List<Holder> holders = new ArrayList<>(reports.keySet());
            List<Share> shares = holders.stream()
                    .map(holder -> reports.get(holder).share.share())
                    .toList();
            List<Demand> demands =
                    holders.stream().map(holder -> reports.get(holder).demand).toList();
            AdaptorMoves.moves(holders, shares, demands, settings.deadBand())
                    .forEach((edge, part) -> orders.computeIfAbsent(edge, e -> new LinkedHashMap<>())
                            .put(topic, part));
        });
        orders.forEach((edge, parts) -> {
            ActorRef<SupplyCoordinator.Command> giver = asked.get(edge.from().broker());
            if (giver != null) {
                giver.tell(new SupplyCoordinator.Mail(new PeerMessage.Give(edge.from(), edge.to(), parts)));
            }
        });
    }
}

package io.weir.limiter.supply;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.supply.algorithm.Bookkeeper;
import io.weir.limiter.supply.algorithm.Effect;
import io.weir.limiter.supply.algorithm.Exchange;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.Holding;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * One broker's end of a ring edge: tells the neighbour what it holds and what is asked of it, and hands supply over where the
 * neighbour is worse off. All topics of a round go in one message and move in one transfer, so a round costs one write on
 * either side, and none where nothing moves.
 *
 * <p>Only what changed is told, and a part of all topics in turn, in case a message was lost: a ring at rest is nearly silent. A topic
 * of which something moved is left alone until the neighbour has told it anew, else the same gap would be closed twice.
 */
final class RingNeighbour extends AbstractBehavior<RingNeighbour.Command> {
    /** So many rounds after a move that the wide dead band let pass, the narrow one counts: long enough to get there. */
    private static final int GO_ON_ROUNDS = 20;

    /** A demand that moved by less than this part is as it was told. */
    private static final double SAME_DEMAND = 0.02;

    sealed interface Command {}

    /** What this broker holds of one topic and what is asked of it. */
    record Told(TopicName topic, Holding share, Demand demand) {}

    /**
     * A topic whose share the ring moves.
     *
     * @param begin the step by which it begins to move, with a wide dead band
     * @param goOn the step by which it goes on for a while, with a narrow one: noise does not set it off, nor does it end early by chance what
     *     was set off
     * @param refresh whether it is to be told though nothing changed
     */
    record Mine(Told told, SupplyEdge begin, SupplyEdge goOn, boolean refresh) {}

    /** A topic that both ends have told of. */
    private record Offer(Mine mine, Told theirs, boolean moving) {
        Holding handedOver(SupplyEdge edge, Holding share) {
            return Exchange.handedOver(edge, share, mine.told.demand(), theirs.share(), theirs.demand());
        }
    }

    /** A round is due: the topics of which something may have changed, and those that the ring moves no more. */
    record Round(Collection<Mine> mine, Collection<TopicName> gone) implements Command {}

    /** The neighbour has told. */
    record Heard(List<Told> told) implements Command {}

    /** @param begun those that moved by more than the wide dead band */
    private record Moved(Set<TopicName> topics, Set<TopicName> begun) implements Command {}

    /** A transfer was still open; the same topics are looked at again in the next round. */
    private record Later(List<TopicName> topics) implements Command {}

    private final Holder peer;
    private final Consumer<List<Told>> tell;
    private final ActorRef<SupplyLedger.Command> ledger;
    private final Map<TopicName, Told> told = new HashMap<>();
    private final Map<TopicName, Told> heard = new HashMap<>();
    private final Set<TopicName> awaitingNews = new HashSet<>();
    private final Set<TopicName> postponed = new HashSet<>();
    /** For how many rounds they go on to move. */
    private final Map<TopicName, Integer> moving = new HashMap<>();

    private final Map<TopicName, Mine> mine = new HashMap<>();

    static Behavior<Command> create(Holder peer, Consumer<List<Told>> tell, ActorRef<SupplyLedger.Command> ledger) {
        return Behaviors.setup(context -> new RingNeighbour(context, peer, tell, ledger));
    }

    private RingNeighbour(
            ActorContext<Command> context,
            Holder peer,
            Consumer<List<Told>> tell,
            ActorRef<SupplyLedger.Command> ledger) {
        super(context);
        this.peer = peer;
        this.tell = tell;
        this.ledger = ledger;
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Round.class, this::onRound)
                .onMessage(Heard.class, this::onHeard)
                .onMessage(Moved.class, this::onMoved)
                .onMessage(Later.class, this::onLater)
                .build();
    }

    private Behavior<Command> onRound(Round due) {
        List<Told> news = new ArrayList<>();
        List<TopicName> changed = new ArrayList<>(postponed);
        postponed.clear();
        moving.replaceAll((topic, rounds) -> rounds - 1);
        moving.values().removeIf(rounds -> rounds == 0);
        for (Mine own : due.mine) {
            TopicName topic = own.told.topic();
            mine.put(topic, own);
            boolean isNews = news(own.told);
            if (isNews) {
                changed.add(topic);
            }
            if (isNews || own.refresh) {
                told.put(topic, own.told);
                news.add(own.told);
            }
        }
        due.gone.forEach(topic -> {
            mine.remove(topic);
            told.remove(topic);
            heard.remove(topic);
            awaitingNews.remove(topic);
            moving.remove(topic);
        });
        if (!news.isEmpty()) {
            tell.accept(news);
        }
        move(changed);
        return this;
    }

    private boolean news(Told now) {
        Told before = told.get(now.topic());
        return before == null
                || !before.share().share().equals(now.share().share())
                || differs(before.demand().rateMicros(), now.demand().rateMicros())
                || differs(before.demand().backlogMicros(), now.demand().backlogMicros());
    }

    private static boolean differs(long before, long now) {
        return Math.abs(now - before) > SAME_DEMAND * Math.max(before, now);
    }

    private Behavior<Command> onHeard(Heard news) {
        List<TopicName> topics = new ArrayList<>(news.told.size());
        for (Told theirs : news.told) {
            heard.put(theirs.topic(), theirs);
            awaitingNews.remove(theirs.topic());
            topics.add(theirs.topic());
        }
        move(topics);
        return this;
    }

    private Behavior<Command> onMoved(Moved moved) {
        awaitingNews.addAll(moved.topics);
        moved.begun.forEach(topic -> moving.put(topic, GO_ON_ROUNDS));
        return this;
    }

    private Behavior<Command> onLater(Later later) {
        postponed.addAll(later.topics);
        return this;
    }

    private void move(Collection<TopicName> topics) {
        List<Offer> offers = new ArrayList<>();
        for (TopicName topic : topics) {
            if (mine.containsKey(topic) && heard.containsKey(topic) && !awaitingNews.contains(topic)) {
                offers.add(new Offer(mine.get(topic), heard.get(topic), moving.containsKey(topic)));
            }
        }
        if (!offers.isEmpty()) {
            ActorRef<Command> self = getContext().getSelf();
            ledger.tell(new SupplyLedger.Decide(keeper -> handOver(keeper, offers, self)));
        }
    }

    /** In the ledger's turn, with what it holds then. */
    private List<Effect> handOver(Bookkeeper keeper, List<Offer> offers, ActorRef<Command> self) {
        if (!keeper.canDebit(peer)) {
            self.tell(
                    new Later(offers.stream().map(offer -> offer.theirs.topic()).toList()));
            return List.of();
        }
        Map<TopicName, Holding> wanted = new LinkedHashMap<>();
        Set<TopicName> begun = new HashSet<>();
        for (Offer offer : offers) {
            TopicName topic = offer.theirs.topic();
            Holding share = keeper.ledger().share(topic);
            Holding large = offer.handedOver(offer.mine.begin, share);
            Holding part = offer.moving ? offer.handedOver(offer.mine.goOn, share) : large;
            if (!part.isNone()) {
                wanted.put(topic, part);
            }
            if (!large.isNone()) {
                begun.add(topic);
            }
        }
        if (!wanted.isEmpty()) {
            self.tell(new Moved(Set.copyOf(wanted.keySet()), begun));
        }
        return wanted.isEmpty() ? List.of() : keeper.debit(peer, wanted);
    }
}

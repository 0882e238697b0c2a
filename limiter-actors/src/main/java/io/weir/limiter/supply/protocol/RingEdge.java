package io.weir.limiter.supply.protocol;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.supply.protocol.PeerMessage.Told;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * One holder's end of a ring edge: tells the neighbour what it holds and what is asked of it, and hands supply over where the
 * neighbour is worse off. All topics of a round go in one message and move in one transfer, so a round costs one write on either
 * side, and none where nothing moves.
 *
 * <p>Only what changed is told, and a part of all topics in turn, in case a message was lost: a ring at rest is nearly silent. A topic
 * of which something moved is left alone until the neighbour has told it anew, else the same gap would be closed twice.
 */
final class RingEdge {
    /** So many rounds after a move that the wide dead band let pass, the narrow one counts: long enough to get there. */
    private static final int GO_ON_ROUNDS = 20;

    /** A demand that moved by less than this part is as it was told. */
    private static final double SAME_DEMAND = 0.02;

    /** A topic's steps at rest and under way: noise does not set it off, nor does it end early what was set off. */
    record Steps(SupplyEdge begin, SupplyEdge goOn) {}

    /**
     * A topic whose share the ring moves.
     *
     * @param refresh whether it is to be told though nothing changed
     */
    record Mine(Told told, Steps steps, boolean refresh) {}

    /** What a round tells the neighbour, and what may be handed over. */
    record Round(List<Told> news, Optional<PendingDecision> handOver) {}

    /** A topic that both ends have told of. */
    private record Offer(Mine mine, Told theirs, boolean moving) {
        Holding handedOver(Bookkeeper keeper, SupplyEdge edge) {
            Holding share = keeper.ledger().share(theirs.topic());
            return Exchange.handedOver(keeper, edge, share, mine.told.demand(), theirs.share(), theirs.demand());
        }
    }

    /** Decides with what the ledger holds then. */
    private record HandOver(RingEdge edge, List<Offer> offers) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return edge.handOver(keeper, offers);
        }
    }

    private final Holder peer;
    private final Map<TopicName, Told> told = new HashMap<>();
    private final Map<TopicName, Told> heard = new HashMap<>();
    private final Set<TopicName> awaitingNews = new HashSet<>();
    /** A transfer was still open; they are looked at again in the next round. */
    private final Set<TopicName> postponed = new HashSet<>();
    /** For how many rounds they go on to move. */
    private final Map<TopicName, Integer> moving = new HashMap<>();

    private final Map<TopicName, Mine> mine = new HashMap<>();

    RingEdge(Holder peer) {
        this.peer = peer;
    }

    Holder peer() {
        return peer;
    }

    /**
     * @param changed the topics of which something may have changed
     * @param gone those that the ring moves no more
     */
    Round round(Collection<Mine> changed, Collection<TopicName> gone) {
        List<Told> news = new ArrayList<>();
        List<TopicName> topics = new ArrayList<>(postponed);
        postponed.clear();
        moving.replaceAll((topic, rounds) -> rounds - 1);
        moving.values().removeIf(rounds -> rounds == 0);
        for (Mine own : changed) {
            TopicName topic = own.told.topic();
            mine.put(topic, own);
            boolean isNews = news(own.told);
            if (isNews) {
                topics.add(topic);
            }
            if (isNews || own.refresh) {
                told.put(topic, own.told);
                news.add(own.told);
            }
        }
        gone.forEach(this::forget);
        return new Round(news, handOver(topics));
    }

    private void forget(TopicName topic) {
        mine.remove(topic);
        told.remove(topic);
        heard.remove(topic);
        awaitingNews.remove(topic);
        moving.remove(topic);
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

    /** The neighbour has told. */
    Optional<PendingDecision> heard(List<Told> news) {
        List<TopicName> topics = new ArrayList<>(news.size());
        for (Told theirs : news) {
            heard.put(theirs.topic(), theirs);
            awaitingNews.remove(theirs.topic());
            topics.add(theirs.topic());
        }
        return handOver(topics);
    }

    private Optional<PendingDecision> handOver(Collection<TopicName> topics) {
        List<Offer> offers = new ArrayList<>();
        for (TopicName topic : topics) {
            if (mine.containsKey(topic) && heard.containsKey(topic) && !awaitingNews.contains(topic)) {
                offers.add(new Offer(mine.get(topic), heard.get(topic), moving.containsKey(topic)));
            }
        }
        return offers.isEmpty() ? Optional.empty() : Optional.of(new HandOver(this, offers));
    }

    private List<Effect> handOver(Bookkeeper keeper, List<Offer> offers) {
        if (!keeper.canDebit(peer)) {
            offers.forEach(offer -> postponed.add(offer.theirs.topic()));
            return List.of();
        }
        Map<TopicName, Holding> wanted = new LinkedHashMap<>();
        for (Offer offer : offers) {
            TopicName topic = offer.theirs.topic();
            if (awaitingNews.contains(topic)) {
                continue;
            }
            Holding large = offer.handedOver(keeper, offer.mine.steps.begin);
            Holding part = offer.moving ? offer.handedOver(keeper, offer.mine.steps.goOn) : large;
            if (!part.isNone()) {
                wanted.put(topic, part);
            }
            if (!large.isNone()) {
                moving.put(topic, GO_ON_ROUNDS);
            }
        }
        awaitingNews.addAll(wanted.keySet());
        return wanted.isEmpty() ? List.of() : keeper.debit(peer, wanted);
    }
}

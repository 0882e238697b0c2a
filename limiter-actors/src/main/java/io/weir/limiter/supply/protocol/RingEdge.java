package io.weir.limiter.supply.protocol;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Estimate;
import io.weir.limiter.algorithm.SupplyEdge;
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
 * One holder's end of a ring edge: tells the neighbour its share and demand of each topic, and hands supply over where
 * the neighbour is worse off. All topics of a round go in one message and move in one transfer, so a round costs each
 * side one write, and none where nothing moves.
 *
 * <p>A round tells only what changed, and a slice of all topics in turn in case a message was lost: a ring at rest is
 * nearly silent. After a topic moved, it rests until the neighbour has told it again; else the same gap would be closed
 * twice.
 */
final class RingEdge {
    /**
     * An estimate of which neither mean nor bounds changed by more than this fraction of the mean is not told again.
     */
    private static final double SAME_DEMAND = 0.02;

    /**
     * This end's view of a topic whose share the ring moves.
     *
     * @param refresh whether to tell it though nothing changed
     */
    record Mine(PeerMessage.ShareAndDemand now, SupplyEdge step, boolean refresh) {}

    /** What a round tells the neighbour, and the hand-over that it leads to. */
    record Round(List<PeerMessage.ShareAndDemand> news, Optional<PendingDecision> handOver) {}

    /** A topic that both ends know of each other. */
    private record Offer(Mine mine, PeerMessage.ShareAndDemand theirs) {
        Holding handedOver(Bookkeeper keeper, Reserve reserve, BrokerId peer) {
            TopicName topic = theirs.topic();
            Holding share = keeper.ledger().share(topic);
            SupplyEdge.Floors floors =
                    reserve.floors(topic, peer, share.share(), theirs.share().share(), mine.now.reserve());
            return RingStep.handedOver(
                    keeper, mine.step, share, mine.now.demand(), theirs.share(), theirs.demand(), floors);
        }
    }

    /** Decides by what the ledger holds when its turn comes. */
    private record HandOver(RingEdge edge, List<Offer> offers) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return edge.handOver(keeper, offers);
        }
    }

    private final Holder peer;
    private final Reserve reserve;
    private final Map<TopicName, PeerMessage.ShareAndDemand> lastTold = new HashMap<>();
    private final Map<TopicName, PeerMessage.ShareAndDemand> lastHeard = new HashMap<>();
    private final Set<TopicName> awaitingNews = new HashSet<>();
    /** Topics that the next round looks at again, because a transfer was still open. */
    private final Set<TopicName> postponed = new HashSet<>();

    private final Map<TopicName, Mine> mine = new HashMap<>();

    RingEdge(Holder peer, Reserve reserve) {
        this.peer = peer;
        this.reserve = reserve;
    }

    Holder peer() {
        return peer;
    }

    /**
     * @param changed topics whose share or demand may have changed
     * @param gone topics that the ring no longer moves
     */
    Round round(Collection<Mine> changed, Collection<TopicName> gone) {
        List<PeerMessage.ShareAndDemand> news = new ArrayList<>();
        List<TopicName> topics = new ArrayList<>(postponed);
        postponed.clear();
        for (Mine own : changed) {
            TopicName topic = own.now.topic();
            mine.put(topic, own);
            boolean isNews = news(own.now);
            if (isNews) {
                topics.add(topic);
            }
            if (isNews || own.refresh) {
                lastTold.put(topic, own.now);
                news.add(own.now);
            }
        }
        gone.forEach(this::forget);
        return new Round(news, handOver(topics));
    }

    void forget(TopicName topic) {
        postponed.remove(topic);
        mine.remove(topic);
        lastTold.remove(topic);
        lastHeard.remove(topic);
        awaitingNews.remove(topic);
    }

    private boolean news(PeerMessage.ShareAndDemand now) {
        PeerMessage.ShareAndDemand before = lastTold.get(now.topic());
        return before == null
                || before.reserve() != now.reserve()
                || !before.share().share().equals(now.share().share())
                || differs(before.demand().rate(), now.demand().rate())
                || differs(before.demand().backlog(), now.demand().backlog())
                || differs(before.demand().waiting(), now.demand().waiting());
    }

    private static boolean differs(Estimate before, Estimate now) {
        double same = SAME_DEMAND * Math.max(before.meanMicros(), now.meanMicros());
        return Math.abs(now.meanMicros() - before.meanMicros()) > same
                || Math.abs(now.leastMicros() - before.leastMicros()) > same
                || Math.abs(now.mostMicros() - before.mostMicros()) > same;
    }

    /** @param news what the neighbour told */
    Optional<PendingDecision> heard(List<PeerMessage.ShareAndDemand> news) {
        List<TopicName> topics = new ArrayList<>(news.size());
        for (PeerMessage.ShareAndDemand theirs : news) {
            lastHeard.put(theirs.topic(), theirs);
            awaitingNews.remove(theirs.topic());
            topics.add(theirs.topic());
        }
        return handOver(topics);
    }

    private Optional<PendingDecision> handOver(Collection<TopicName> topics) {
        List<Offer> offers = new ArrayList<>();
        for (TopicName topic : topics) {
            if (mine.containsKey(topic) && lastHeard.containsKey(topic) && !awaitingNews.contains(topic)) {
                offers.add(new Offer(mine.get(topic), lastHeard.get(topic)));
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
            Holding part = offer.handedOver(keeper, reserve, peer.broker());
            if (!part.isNone()) {
                wanted.put(topic, part);
            }
        }
        awaitingNews.addAll(wanted.keySet());
        return wanted.isEmpty() ? List.of() : keeper.debit(peer, wanted);
    }
}

package io.weir.limiter.supply.protocol;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Ring;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.supply.value.GateSample;
import io.weir.limiter.supply.value.LimitRow;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Supply that a best buddy keeps for the broker before it. If all publishers of a topic are at one broker, it has all
 * of the limit, and when it dies the others have nothing until they have inherited. So its buddy keeps a part f of what
 * it holds. Where brokers borrow tokens this costs next to nothing: what the buddy does not use the busy broker
 * borrows, and after a crash everybody borrows it from the buddy.
 *
 * <p>A broker says of each topic whether it wants a reserve: if it has demand, borrows, and has no floor φ, because
 * only leased tokens are lent. And only if the reserve's burst is {@value #LEAST_MESSAGES} messages at least: a bucket
 * that rests keeps one and is asked when it has half of the rest again, so a smaller one is full before somebody asks,
 * and what it refills then is lost (seen in the simulation: with a burst of 6.5 messages in all, 8% of the limit). With
 * demand everywhere nobody keeps more than it has anyway.
 *
 * <p>The TB adaptor's topics have none: it divides by demand alone, as its paper says.
 */
final class Reserve {
    static final int LEAST_MESSAGES = 3;

    private final double part;
    private final BrokerId me;
    private final Map<TopicName, Share> heldBefore = new HashMap<>();
    private Optional<BrokerId> before = Optional.empty();
    private Optional<BrokerId> buddy = Optional.empty();
    private Set<TopicName> borrowed = Set.of();

    /** @param part f, of what the broker before holds; 0: none is kept */
    Reserve(double part, BrokerId me) {
        this.part = part;
        this.me = me;
    }

    void ring(Ring ring) {
        Optional<BrokerId> now = ring.members().size() == 1 ? Optional.empty() : Optional.of(ring.predecessor(me));
        if (!now.equals(before)) {
            heldBefore.clear();
        }
        before = now;
        buddy = ring.buddy(me);
    }

    void forgotten(Set<TopicName> topics) {
        heldBefore.keySet().removeAll(topics);
    }

    void sampled(List<GateSample> busy) {
        Set<TopicName> now = new HashSet<>();
        busy.forEach(sample -> {
            if (sample.borrows()) {
                now.add(sample.topic());
            }
        });
        borrowed = now;
    }

    /** Whether this broker's buddy is to keep a reserve of a topic. */
    boolean wanted(LimitRow row) {
        return part > 0
                && borrowed.contains(row.topic())
                && row.floorPermille() == 0
                && (row.sharing() == Sharing.GOSSIP || row.sharing() == Sharing.PLACED)
                && ofBoth(row.limit(), Share.NONE).burstMicros() >= LEAST_MESSAGES * Limit.MICROS;
    }

    void heard(PeerMessage.Indicators indicators) {
        if (before.equals(Optional.of(indicators.from().broker()))) {
            indicators.topics().forEach(told -> {
                if (told.reserve()) {
                    heldBefore.put(told.topic(), told.share().share());
                } else {
                    heldBefore.remove(told.topic());
                }
            });
        }
    }

    /**
     * What both ends of an edge keep.
     *
     * @param wanted whether this end wants a reserve of the topic
     */
    SupplyEdge.Floors floors(TopicName topic, BrokerId peer, Share mine, Share theirs, boolean wanted) {
        Share forBefore = heldBefore.get(topic);
        Share kept = forBefore == null
                ? Share.NONE
                // Of what both have, so that it comes to the same before and after the move.
                : before.equals(Optional.of(peer)) ? ofBoth(mine, theirs) : times(part, forBefore);
        return new SupplyEdge.Floors(
                kept, wanted && buddy.equals(Optional.of(peer)) ? ofBoth(mine, theirs) : Share.NONE);
    }

    private Share ofBoth(Share one, Share other) {
        return times(part / (1 + part), one.plus(other));
    }

    private static Share times(double factor, Share share) {
        return new Share((long) (factor * share.rateMicros()), (long) (factor * share.burstMicros()));
    }
}

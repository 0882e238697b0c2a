package io.weir.supervisor.placement.algorithm;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;

/**
 * A topic as placement sees it. Its expected rate is the sum of its publishers'.
 *
 * @param batch the messages that a publisher sends at once, on average; 1 if nobody knows
 */
public record PlacedTopic(TopicName name, Limit limit, Slo slo, double batch) {
    public PlacedTopic {
        if (!(batch >= 1 && Double.isFinite(batch))) {
            throw new IllegalArgumentException("topic " + name + ": a batch of " + batch + " messages is below 1");
        }
    }

    public PlacedTopic(TopicName name, Limit limit, Slo slo) {
        this(name, limit, slo, 1);
    }
}

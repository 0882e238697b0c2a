package io.weir.supervisor.placement.algorithm;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;

/** A topic as placement sees it. Its expected rate is the sum of its publishers'. */
public record PlacedTopic(TopicName name, Limit limit, Slo slo) {}

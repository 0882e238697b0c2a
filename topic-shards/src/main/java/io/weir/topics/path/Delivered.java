package io.weir.topics.path;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.topics.algorithm.DelayCounts;

/**
 * How long a topic's messages took since the last look, from their arrival at the cluster until a consumer of this
 * broker had them, or could have had them if one had been free.
 *
 * @param home the broker that let the messages pass the limit; null: this one
 * @param delays of all of them
 * @param late of those that waited here for a consumer, with that time
 */
public record Delivered(TopicName topic, BrokerId home, DelayCounts.Window delays, DelayCounts.Window late) {}

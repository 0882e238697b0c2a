package io.weir.topics.path;

import io.weir.topics.algorithm.DelayTotals;

/**
 * How long messages took from their arrival at the cluster until consumers of this broker had them, of all topics,
 * since it started.
 *
 * @param delays until a consumer had them, or could have had them if one had been free
 * @param late of those that waited for a consumer, with that time
 */
public record DeliveryTotals(DelayTotals delays, DelayTotals late) {}

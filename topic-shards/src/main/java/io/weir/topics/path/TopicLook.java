package io.weir.topics.path;

import io.weir.topics.algorithm.DelayTotals;

/**
 * One topic at one moment.
 *
 * @param delays what its messages waited between their arrival at the cluster and their passing the limit here
 */
public record TopicLook(TopicStats stats, DelayTotals delays) {}

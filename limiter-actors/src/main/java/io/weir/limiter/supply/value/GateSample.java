package io.weir.limiter.supply.value;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;

/**
 * One topic's gate as the thread that admits saw it.
 *
 * @param borrows whether it borrows tokens, and there are brokers to borrow from
 */
public record GateSample(TopicName topic, Holding held, Demand demand, long waiting, boolean borrows) {}

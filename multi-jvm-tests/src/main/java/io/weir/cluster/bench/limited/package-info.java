/**
 * A limited topic on several brokers, which these commands start for themselves: what it costs to split its bucket
 * ({@code weir bench penalty}), and what it brings to place its publishers ({@code weir bench placement}).
 */
package io.weir.cluster.bench.limited;

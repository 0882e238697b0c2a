/**
 * One gate without threads or clock: the buckets of a share, the lease that it admits under, and the level that it
 * lends.
 */
package io.weir.limiter.supply.gate.algorithm;

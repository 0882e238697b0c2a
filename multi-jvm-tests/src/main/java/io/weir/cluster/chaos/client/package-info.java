/** Chaos' publishers and consumers, in processes of their own, and what they record. */
package io.weir.cluster.chaos.client;

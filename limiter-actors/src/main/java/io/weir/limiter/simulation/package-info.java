/** Worlds in which the algorithms run under a simulated clock, network and load, replayed from a seed. */
package io.weir.limiter.simulation;

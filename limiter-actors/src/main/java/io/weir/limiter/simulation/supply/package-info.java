/**
 * A world of brokers that run the supply protocol's own classes over a network, a store and clocks that fail in every
 * way the protocol claims to survive, and a checker with arithmetic of its own.
 */
package io.weir.limiter.simulation.supply;

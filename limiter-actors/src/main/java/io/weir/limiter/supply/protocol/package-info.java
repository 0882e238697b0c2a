/**
 * The supply protocol without Akka, clock or store: who holds which part of a topic's limit, how it moves, and how it
 * survives a broker. Begin with {@code SupplyNode}: inputs go in, effects come out; actors and simulation run the same
 * classes.
 */
package io.weir.limiter.supply.protocol;

/**
 * The supply protocol without Akka, clock or store: who holds which part of a topic's limit, how it moves, and how it
 * survives a broker. Events and answers go in, decisions come out; the actors and the simulation both run these classes.
 */
package io.weir.limiter.supply.protocol;

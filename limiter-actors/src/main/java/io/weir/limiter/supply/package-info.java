/**
 * The supply protocol as it runs in a broker: the gates that admit, and the actors that move supply between brokers. What they
 * decide is in {@code algorithm}; here is who asks, and when.
 */
package io.weir.limiter.supply;

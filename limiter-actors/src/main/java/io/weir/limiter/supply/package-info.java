/**
 * How a limit is split over brokers, and stays hard: {@code protocol} decides, {@code actor} carries it out, {@code gate}
 * admits, {@code value} is what they speak of, {@code wire} how it travels.
 */
package io.weir.limiter.supply;

/**
 * How a limit is split over brokers and stays hard: {@code protocol} decides, {@code actor} carries decisions out,
 * {@code gate} admits messages; {@code value} has what they all speak of, {@code wire} writes it as bytes.
 */
package io.weir.limiter.supply;

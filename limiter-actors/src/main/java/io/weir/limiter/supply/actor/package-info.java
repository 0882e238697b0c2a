/** The actors around {@code protocol}: they feed it messages, rows, ticks and answers, and perform its effects. */
package io.weir.limiter.supply.actor;

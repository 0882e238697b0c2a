/**
 * What is held, moved and written down: supply, who holds it, the events of a ledger and the rows of the store. Values
 * only.
 */
package io.weir.limiter.supply.value;

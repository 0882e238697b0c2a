/** Where a token is taken: a broker's gates as its message path uses them, and the record of what they admitted. */
package io.weir.limiter.supply.gate;

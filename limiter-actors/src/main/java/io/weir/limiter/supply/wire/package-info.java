/** The supply protocol's messages and events as bytes, for Akka's remoting and journal. */
package io.weir.limiter.supply.wire;

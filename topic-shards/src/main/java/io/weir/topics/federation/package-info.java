/** Messages between brokers, on the message path's thread: to their publisher's home, and to consumers elsewhere. */
package io.weir.topics.federation;

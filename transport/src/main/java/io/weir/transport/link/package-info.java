/**
 * The links that carry messages between brokers: an Aeron stream for each direction of each pair.
 * {@link io.weir.transport.link.Links} is one broker's end of all of them.
 */
package io.weir.transport.link;

/**
 * {@code weir bench}: open-loop load on a broker and its peers, measured from the times at which messages were meant to
 * be sent. One generator thread sends and receives; a wire is what a broker speaks.
 */
package io.weir.cluster.bench;

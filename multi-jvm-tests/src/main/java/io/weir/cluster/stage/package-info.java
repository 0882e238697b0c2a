/** A network that can be cut: every broker in a network namespace of its own, on a bridge. */
package io.weir.cluster.stage;

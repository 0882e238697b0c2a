/**
 * A network that can be broken, on one machine: hosts in network namespaces of their own, joined by a switch that this
 * package runs itself, and brokers, their store and their clients on them.
 */
package io.weir.cluster.stage;

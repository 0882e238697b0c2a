/** The protocols that the load generator speaks, each as a state machine over bytes. */
package io.weir.cluster.bench.wire;

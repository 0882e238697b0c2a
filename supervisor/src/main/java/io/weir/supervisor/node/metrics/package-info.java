/**
 * What a broker tells a Prometheus: path, supply, placement.
 */
package io.weir.supervisor.node.metrics;

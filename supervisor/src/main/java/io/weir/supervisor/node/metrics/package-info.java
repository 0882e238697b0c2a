/** What a broker shows to Prometheus: message path, supply, placement. */
package io.weir.supervisor.node.metrics;

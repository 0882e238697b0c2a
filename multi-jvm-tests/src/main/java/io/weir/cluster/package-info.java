/**
 * Clusters of real JVMs that are started, killed, stopped and watched from outside.
 *
 * <p>This module's name says what its tests do; its {@code src/main} is what users run and get: {@code weir chaos}
 * ({@link io.weir.cluster.chaos}, with the network that it breaks in {@link io.weir.cluster.stage}, what it breaks
 * inside brokers in {@link io.weir.cluster.failpoints} and what it checks in {@link io.weir.cluster.history}),
 * {@code weir bench} ({@link io.weir.cluster.bench}), {@code weir demo} ({@link io.weir.cluster.demo}), and the release
 * itself, which this module packs because it stands at the end of all arrows. {@link io.weir.cluster.BrokerCluster}, a
 * cluster on loopback, serves all of them and the tests.
 */
package io.weir.cluster;

/**
 * The failpoints themselves. They are packed into {@code chaos/chaos-failpoints.jar}, apart from {@code lib/}, so that
 * no setting can reach them in a broker that was started as usual.
 */
package io.weir.cluster.failpoints.armed;

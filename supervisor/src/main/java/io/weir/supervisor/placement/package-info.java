/**
 * Placement in a running cluster: every broker's {@link io.weir.supervisor.placement.PlacementAgent} reports who publishes there and lays what
 * was decided on its message path; {@link io.weir.supervisor.placement.Placement}, a cluster singleton, decides. What it decides is a row in
 * the store, replaced by compare-and-set, so two of it do no harm and the next goes on from there.
 */
package io.weir.supervisor.placement;

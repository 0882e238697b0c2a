/**
 * Placement in a running cluster: every broker's {@link io.weir.supervisor.placement.PlacementAgent} reports who
 * publishes there, and gives decided seats to its message path; {@link io.weir.supervisor.placement.Placement}, a
 * cluster singleton, decides. A decision is a row in the store, replaced by compare-and-set, so two singletons do no
 * harm, and the next one goes on from the rows.
 */
package io.weir.supervisor.placement;

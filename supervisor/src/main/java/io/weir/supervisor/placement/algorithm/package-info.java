/**
 * SRTM's Load Distributor without Akka: where a topic's publishers go. Time, randomness, the brokers' capacities and
 * what they measure are arguments.
 *
 * <p>How to drive it, as a cluster singleton or a simulation does:
 *
 * <ol>
 *   <li>Keep a {@link io.weir.supervisor.placement.algorithm.PublisherTable}: {@code define} topics, {@code register}
 *       publishers (refusals are values), {@code leave}. Keep a
 *       {@link io.weir.supervisor.placement.algorithm.BrokerCapacities} from calibration.
 *   <li>Ask {@link io.weir.supervisor.placement.algorithm.ReplanRule} of every event and window; it answers with the
 *       topics to place again.
 *   <li>For each, make a {@link io.weir.supervisor.placement.algorithm.LoadDistribution} of
 *       {@code table.members(topic)}, the capacities without that topic's own part, and a forecast:
 *       {@link io.weir.supervisor.placement.algorithm.TraceForecast} if the topic was profiled,
 *       {@link io.weir.supervisor.placement.algorithm.BucketForecast} if not.
 *   <li>Apply {@code assignment()}: a compare-and-set on its revision. Then hand it one
 *       {@link io.weir.supervisor.placement.algorithm.Measurement} a broker and window (half a second or so) with that
 *       revision, and call {@code onTime} now and then. Whenever the revision has grown, apply again.
 *   <li>When {@code state()} is FITTED or KEPT_BEST, allocate what each broker got and tell the rule. KEPT_BEST is what
 *       an autoscaler wants to hear; {@code contradicted(broker)} is what calibration does.
 * </ol>
 *
 * <p>{@code reasons()} is every decision so far as data, for {@code explain}. For what-if,
 * {@link io.weir.supervisor.placement.algorithm.Planner} plans a topic, or all of them at once, and applies nothing.
 */
package io.weir.supervisor.placement.algorithm;

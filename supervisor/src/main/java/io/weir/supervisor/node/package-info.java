/**
 * A broker node: the process, the lives of its actor system within it, and what it shows over HTTP. The process
 * outlives the actor system: a broker that the split brain resolver has removed starts a new one and joins again.
 */
package io.weir.supervisor.node;

/** Services of several processes each that requests run through, as in Wisp's evaluation; the world is simulated. */
package io.weir.supervisor.lab.workflow.simulation;

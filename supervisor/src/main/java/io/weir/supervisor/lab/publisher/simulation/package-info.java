/** The auto-tuned publisher's world as a discrete-event simulation, replayed from a seed. */
package io.weir.supervisor.lab.publisher.simulation;

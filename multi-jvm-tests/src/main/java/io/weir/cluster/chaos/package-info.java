/** Chaos on purpose: a catalogue of faults, a seeded schedule of them, clients that record what they saw, and the run that joins it all. */
package io.weir.cluster.chaos;

/**
 * What a chaos test does to the inside of a broker: crashes at a step of the supply protocol, a clock that runs wrong,
 * rules left out. Here it is only written down; what carries it out is in {@code armed}, in a jar that a broker has
 * only if it is put there.
 */
package io.weir.cluster.failpoints;

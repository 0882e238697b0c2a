/**
 * A broker's topics: {@code definition} says what a topic is, {@code path} moves its messages, {@code federation} takes
 * them to other brokers, {@code api} lets actors publish and consume.
 */
package io.weir.topics;

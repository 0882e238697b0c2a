/**
 * The broker's end of the actor API, and the way in for everything that publishes without a socket of the gateway's.
 */
package io.weir.topics.api;

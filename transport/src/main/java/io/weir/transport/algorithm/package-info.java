/**
 * The publisher's batching: how many messages a request carries and how long the first of them waits. Told the time.
 */
package io.weir.transport.algorithm;

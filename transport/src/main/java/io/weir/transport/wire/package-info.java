/**
 * Bytes between a socket and a connection: plain, or through TLS, snappy or deflate, with memory from one bounded pool.
 */
package io.weir.transport.wire;

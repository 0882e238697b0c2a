/**
 * Bytes in, bytes out: the media driver that one host's brokers share, the links between brokers, and later the
 * gateway.
 */
package io.weir.transport;

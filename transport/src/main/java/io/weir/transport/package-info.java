/** Bytes in, bytes out: the media driver that one host's brokers share, and later the gateway and the links between brokers. */
package io.weir.transport;

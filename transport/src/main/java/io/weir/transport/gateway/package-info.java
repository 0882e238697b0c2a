/**
 * Clients' way in and out over TCP, in NSQ's V2 protocol: one selector thread that reads, decodes, lets the broker act
 * and writes. What it needs of a broker it declares as ports ({@link io.weir.transport.gateway.MessagePort}).
 */
package io.weir.transport.gateway;

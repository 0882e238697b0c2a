/**
 * The Java client: publishers that tune their batches and consumers with credit, over NSQ V2. One thread does all input
 * and output of a client, and a fixed few run the handlers of its consumers.
 */
package io.weir.transport.client;

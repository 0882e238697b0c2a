/** The durable store: its schema, the broker registry in it, and the embedded server that {@code weir up} starts. */
package io.weir.supervisor.store;

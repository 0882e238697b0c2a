/** A broker's HTTP: its own REST routes, and nsqd's and nsqlookupd's. */
package io.weir.supervisor.node.http;

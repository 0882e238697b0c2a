/** A cluster on one machine: its data directory, its processes, and how they are started, watched and stopped. */
package io.weir.supervisor.local;

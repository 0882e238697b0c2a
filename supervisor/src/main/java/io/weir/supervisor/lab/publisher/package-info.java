/** Experiments with the auto-tuned publisher. */
package io.weir.supervisor.lab.publisher;

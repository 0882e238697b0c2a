/** Wisp's experiments: rates, order and deadlines of workflows, with a broker's own classes. */
package io.weir.supervisor.lab.workflow;

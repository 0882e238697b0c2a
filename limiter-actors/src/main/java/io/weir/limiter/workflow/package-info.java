/** Limits along a workflow: messages that follow from each other through many topics. */
package io.weir.limiter.workflow;

/** Experiments with limits: what splitting a bucket costs, GDRL, membership, the supply protocol under faults. */
package io.weir.supervisor.lab.limiter;

package io.weir.limiter.workflow.algorithm;

import java.util.List;

/** How a shard's resources are divided over workflows (Wisp, 4.3): line 1 of Algorithm 1. */
public interface LocalPolicy {
    /**
     * Sets what each workflow may send a second, infinite where nothing binds it, and the resource that binds.
     *
     * @param weights by workflow
     */
    void divide(List<Resource> resources, double[] weights, double[] sigmas, long[] binding);
}

package io.weir.limiter.workflow.algorithm;

import java.util.List;

/** What an operator set, whatever the resources say. */
public final class StaticRates implements LocalPolicy {
    private final double[] rates;
    private final long resource;

    /**
     * @param rates messages a second by workflow; infinite for no limit
     * @param resource the name under which these limits bind
     */
    public StaticRates(double[] rates, long resource) {
        this.rates = rates.clone();
        this.resource = resource;
    }

    @Override
    public void divide(List<Resource> resources, double[] weights, double[] sigmas, long[] binding) {
        for (int w = 0; w < sigmas.length; w++) {
            sigmas[w] = w < rates.length ? rates[w] : Double.POSITIVE_INFINITY;
            binding[w] = Double.isInfinite(sigmas[w]) ? Announcement.NOTHING : resource;
        }
    }
}

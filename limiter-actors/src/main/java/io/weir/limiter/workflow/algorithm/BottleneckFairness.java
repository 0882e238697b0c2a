package io.weir.limiter.workflow.algorithm;

import java.util.Arrays;
import java.util.List;

/**
 * Weighted max-min fairness at each resource that is overloaded, in that resource's unit; a workflow's rate is what the
 * tightest of them leaves it. While a resource is calm its water level probes upwards by 5% of C × (spare + 0.05) an
 * interval, which doubles every five calm intervals, up to twenty times that. A level above everybody's demand is no
 * level: then each may send as much for its weight as the largest offers, and all that is spare. Its own demand and
 * what is spare would be too little for a light workflow: in a full resource nothing is spare, and its Poisson arrivals
 * would wait for a rate that is no more than their mean (4% of them were refused beside bulk reads,
 * {@code wisp-low-latency}).
 *
 * <p>Shares are of what is offered, not of what passed: a workflow that is throttled would otherwise claim no more than
 * it was left.
 */
public final class BottleneckFairness implements LocalPolicy {
    static final double PROBE = 0.05;
    private static final int CALM_DOUBLES = 5;
    private static final double FASTEST = 20;

    private final double probe;
    private final double[] demands = new double[WorkflowSlots.COUNT];
    private final double[] shares = new double[WorkflowSlots.COUNT];

    public BottleneckFairness() {
        this(PROBE);
    }

    /** @param probe the part of the capacity by which a calm level rises, before it is scaled by what is spare */
    public BottleneckFairness(double probe) {
        this.probe = probe;
    }

    @Override
    public void divide(List<Resource> resources, double[] weights, double[] sigmas, long[] binding) {
        Arrays.fill(sigmas, Double.POSITIVE_INFINITY);
        Arrays.fill(binding, Announcement.NOTHING);
        for (Resource resource : resources) {
            if (resource.known()) {
                divide(resource, weights, sigmas, binding);
            }
        }
    }

    private void divide(Resource resource, double[] weights, double[] sigmas, long[] binding) {
        double sum = 0;
        double active = 0;
        double highest = 0;
        for (int w = 0; w < demands.length; w++) {
            demands[w] = resource.offered[w] * resource.costs[w];
            sum += demands[w];
            active += demands[w] > 0 ? weights[w] : 0;
            highest = Math.max(highest, demands[w] / weights[w]);
        }
        double spare = Math.max(0, resource.capacity() - sum);
        if (resource.overloaded()) {
            resource.calm = 0;
            resource.level = MaxMin.divide(resource.usable(), demands, weights, shares, demands.length);
            spare = Math.max(0, resource.usable() - sum);
        } else {
            resource.level += step(resource, probe) / Math.max(active, 1e-9);
            resource.level = resource.level > highest + spare ? Double.POSITIVE_INFINITY : resource.level;
        }
        for (int w = 0; w < demands.length; w++) {
            double units =
                    Double.isInfinite(resource.level) ? weights[w] * highest + spare : weights[w] * resource.level;
            double sigma = units / resource.costs[w];
            if (sigma < sigmas[w]) {
                sigmas[w] = sigma;
                binding[w] = resource.id();
            }
        }
    }

    /** By how much a calm resource's level rises now, in all. */
    static double step(Resource resource, double probe) {
        double factor = Math.min(FASTEST, Math.pow(2, resource.calm++ / CALM_DOUBLES));
        return probe * resource.capacity() * (resource.spare() + probe) * factor;
    }
}

package io.weir.limiter.workflow.algorithm;

import java.util.Arrays;
import java.util.List;

/**
 * Dominant resource fairness (Ghodsi et al., 2011): the largest part that a workflow has of any resource is made equal,
 * by weight. Filled progressively: all dominant shares rise together until a resource is used up, which stops the
 * workflows that use it, or a workflow has what it offers. A calm resource is taken a little larger each interval, as
 * {@link BottleneckFairness} probes; a resource of unknown capacity bounds nobody.
 */
public final class DominantResourceFairness implements LocalPolicy {
    private final boolean[] filling = new boolean[WorkflowSlots.COUNT];
    private double[] left = new double[4];
    private double[] sizes = new double[4];

    @Override
    public void divide(List<Resource> resources, double[] weights, double[] sigmas, long[] binding) {
        Arrays.fill(sigmas, Double.POSITIVE_INFINITY);
        Arrays.fill(binding, Announcement.NOTHING);
        List<Resource> bounded = resources.stream().filter(Resource::known).toList();
        if (bounded.isEmpty()) {
            return;
        }
        size(bounded);
        double[] offered = bounded.get(0).offered;
        for (int w = 0; w < sigmas.length; w++) {
            filling[w] = offered[w] > 0;
            sigmas[w] = 0;
        }
        fill(bounded, offered, weights, sigmas, binding);
        for (int w = 0; w < sigmas.length; w++) {
            if (binding[w] == Announcement.NOTHING) {
                spare(bounded, w, sigmas, binding);
            }
        }
    }

    private void size(List<Resource> resources) {
        if (left.length < resources.size()) {
            left = new double[resources.size()];
            sizes = new double[resources.size()];
        }
        for (int r = 0; r < resources.size(); r++) {
            Resource resource = resources.get(r);
            if (resource.overloaded()) {
                resource.calm = 0;
                resource.level = resource.usable();
            } else if (!Double.isInfinite(resource.level)) {
                double raised = resource.level + BottleneckFairness.step(resource, BottleneckFairness.PROBE);
                resource.level = Math.min(raised, 2 * resource.capacity());
            }
            sizes[r] = Double.isInfinite(resource.level) ? resource.capacity() : resource.level;
            left[r] = sizes[r];
        }
    }

    private void fill(List<Resource> resources, double[] offered, double[] weights, double[] sigmas, long[] binding) {
        while (true) {
            double step = Double.POSITIVE_INFINITY;
            int full = -1;
            for (int r = 0; r < resources.size(); r++) {
                double speed = 0;
                for (int w = 0; w < sigmas.length; w++) {
                    speed += filling[w] ? speed(resources, w, weights) * resources.get(r).costs[w] : 0;
                }
                double until = speed > 0 ? left[r] / speed : Double.POSITIVE_INFINITY;
                if (until < step) {
                    step = until;
                    full = r;
                }
            }
            int met = -1;
            for (int w = 0; w < sigmas.length; w++) {
                double until = filling[w] ? (offered[w] - sigmas[w]) / speed(resources, w, weights) : step;
                if (until < step) {
                    step = Math.max(0, until);
                    met = w;
                }
            }
            if (Double.isInfinite(step)) {
                return;
            }
            advance(resources, weights, sigmas, step);
            if (met >= 0) {
                filling[met] = false;
            } else {
                stop(resources.get(full), sigmas, binding);
            }
        }
    }

    /** Messages a second that one unit of dominant share is worth to the workflow. */
    private double speed(List<Resource> resources, int workflow, double[] weights) {
        double dominant = 0;
        for (int r = 0; r < resources.size(); r++) {
            dominant = Math.max(dominant, resources.get(r).costs[workflow] / Math.max(sizes[r], 1e-9));
        }
        return weights[workflow] / dominant;
    }

    private void advance(List<Resource> resources, double[] weights, double[] sigmas, double step) {
        for (int w = 0; w < sigmas.length; w++) {
            if (filling[w]) {
                double more = step * speed(resources, w, weights);
                sigmas[w] += more;
                for (int r = 0; r < resources.size(); r++) {
                    left[r] = Math.max(0, left[r] - more * resources.get(r).costs[w]);
                }
            }
        }
    }

    /** Every message costs something of every resource, so one that is used up stops all that still fill. */
    private void stop(Resource resource, double[] sigmas, long[] binding) {
        for (int w = 0; w < sigmas.length; w++) {
            if (filling[w]) {
                filling[w] = false;
                binding[w] = resource.id();
            }
        }
    }

    /** Who has all that it offers may send what is left as well. */
    private void spare(List<Resource> resources, int workflow, double[] sigmas, long[] binding) {
        double most = Double.POSITIVE_INFINITY;
        for (int r = 0; r < resources.size(); r++) {
            double more = left[r] / resources.get(r).costs[workflow];
            if (more < most) {
                most = more;
                binding[workflow] = resources.get(r).id();
            }
        }
        sigmas[workflow] += most;
    }
}

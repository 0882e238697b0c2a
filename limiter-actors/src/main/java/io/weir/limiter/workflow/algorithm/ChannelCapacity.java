package io.weir.limiter.workflow.algorithm;

import java.util.Collection;

/**
 * What a channel's consumers can finish, together, and what a message of each workflow costs them. C is the sum of
 * their FIN rates over pressed intervals; backlog is what is queued and what lies in clients beyond their handlers. The
 * channel is overloaded when it is pressed and its backlog is more than 50 ms of C.
 */
public final class ChannelCapacity {
    private static final int COST_SAMPLES = 64;
    private static final double MIX_WEIGHT = 0.2;

    private final double[] costNs = new double[WorkflowSlots.COUNT];
    private final int[] samples = new int[WorkflowSlots.COUNT];
    private double finishedCostNs;
    private long finished;
    private double mixNs;
    private double rate;
    private double usedRate;
    private double backlog;
    private boolean exact;
    private boolean pressed;

    private boolean waiting;
    private long waitingSinceNs;
    private long waitedNs;
    private long intervalNs;

    public ChannelCapacity(long nowNs) {
        intervalNs = nowNs;
        waitingSinceNs = nowNs;
    }

    /** Whether messages wait in the channel's queue from now on. */
    public void waiting(boolean some, long nowNs) {
        if (waiting) {
            waitedNs += nowNs - waitingSinceNs;
        }
        waiting = some;
        waitingSinceNs = nowNs;
    }

    /** A delivery was finished or failed; {@code quiet} as {@link ConsumerWindow#delivered} answered. */
    public void finished(int workflow, long tookNs, boolean quiet) {
        if (quiet || samples[workflow] == 0) {
            int count = samples[workflow] = Math.min(COST_SAMPLES, samples[workflow] + 1);
            costNs[workflow] += (tookNs - costNs[workflow]) / count;
        }
        finished++;
        finishedCostNs += costNs[workflow];
    }

    /** Once an interval, after the consumers' own. */
    public void interval(int queued, Collection<ConsumerWindow> consumers, long nowNs) {
        long elapsedNs = Math.max(1, nowNs - intervalNs);
        pressed = pressed(nowNs);
        waitedNs = 0;
        waitingSinceNs = nowNs;
        intervalNs = nowNs;
        if (finished > 0) {
            mixNs += (mixNs == 0 ? 1 : MIX_WEIGHT) * (finishedCostNs / finished - mixNs);
        }
        usedRate = finished * 1e9 / elapsedNs;
        finished = 0;
        finishedCostNs = 0;
        rate = 0;
        backlog = queued;
        exact = !consumers.isEmpty();
        for (ConsumerWindow consumer : consumers) {
            rate += consumer.rate();
            backlog += consumer.waitingInClient();
            exact &= consumer.exact();
        }
    }

    /** Whether messages have waited for more than half of the interval that ends now. */
    public boolean pressed(long nowNs) {
        long inAllNs = waitedNs + (waiting ? nowNs - waitingSinceNs : 0);
        return inAllNs > (nowNs - intervalNs) / 2;
    }

    /** Tells a resource whose unit is a second of consumer time. */
    public void tell(Resource resource) {
        double mix = mixNs / 1e9;
        resource.measured(rate * mix, exact, usedRate * mix, backlog * mix, overloaded());
        for (int w = 0; w < costNs.length; w++) {
            if (costNs[w] > 0) {
                resource.cost(w, costNs[w] / 1e9);
            } else if (mix > 0) {
                resource.cost(w, mix);
            }
        }
    }

    /** C in messages a second, of the mix that was finished lately; only a lower bound unless {@link #exact}. */
    public double rate() {
        return rate;
    }

    public boolean exact() {
        return exact;
    }

    /** Messages that wait, here or in clients. */
    public double backlog() {
        return backlog;
    }

    public boolean overloaded() {
        return pressed && rate > 0 && backlog / rate > Resource.OVERLOADED_SECONDS;
    }

    /** c_w: what a message of the workflow costs in consumer time; that of the mix before the first. */
    public long costNs(int workflow) {
        return (long) (samples[workflow] > 0 ? costNs[workflow] : mixNs);
    }
}

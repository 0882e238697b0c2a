package io.weir.limiter.workflow.algorithm;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Wisp's Algorithm 1 at one process p, a topic at a broker: σ of each workflow is the least of what the local policy
 * leaves it and of what each service downstream allows. Rates bubble up: {@link #announcement} says what p in turn
 * tells those who send to it. Every interval (100 ms) {@link #interval}, after {@link #offered} of every upstream.
 *
 * <p>σ falls at once and rises by a quarter an interval at most. After an interval that took three times as long, σ is
 * held: what was measured is of another time. A bound that names a resource of p itself came around a cycle, and is
 * ignored; otherwise a cycle with α above 1 would drive σ to 0.
 */
public final class ShardRates {
    public static final long INTERVAL_NS = 100_000_000L;
    private static final long STALE_NS = 3 * INTERVAL_NS;
    private static final double RISE = 1.25;
    /** So much a second σ may always rise to, or it would never rise from 0. */
    private static final double LEAST = 1;

    private static final double DEMAND_TAU_NS = 1e9;
    /** The upstream that stands for publications without a parent: they enter here. */
    private static final long ENTRY = -1;
    /** All bits of an edge's topic and broker. */
    private static final long ANY_PROCESS = (1L << 43) - 1;

    /**
     * How the processes of a service downstream count.
     *
     * @param pooled whether they share what they have; else {@code quantile} says which of them decides
     */
    public record Knob(boolean pooled, double quantile) {
        public static final Knob POOL = new Knob(true, 0);

        public static Knob quantile(double q) {
            return new Knob(false, q);
        }
    }

    private final Knob knob;
    private final LocalPolicy policy;
    private final List<Resource> resources;
    private final double[] weights = new double[WorkflowSlots.COUNT];
    private final long[] arrived = new long[WorkflowSlots.COUNT];
    private final double[] entering = new double[WorkflowSlots.COUNT];
    private final double[] offered = new double[WorkflowSlots.COUNT];
    private final double[] sigmas = new double[WorkflowSlots.COUNT];
    private final double[] wanted = new double[WorkflowSlots.COUNT];
    private final long[] binding = new long[WorkflowSlots.COUNT];
    private final Downstream service = new Downstream();
    private final TreeMap<Long, Double> alphas = new TreeMap<>();
    /** What each upstream offers, by {@link Edge#process} of it. */
    private final TreeMap<Long, Double> upstreams = new TreeMap<>();

    private final int mostUpstreams;
    private long intervalNs;
    private boolean begun;

    /**
     * @param resources measured by the caller before each interval; {@link Resource#offered} is set here
     * @param mostUpstreams so many are heard; what others offer is not counted
     */
    public ShardRates(Knob knob, LocalPolicy policy, List<Resource> resources, int mostUpstreams) {
        this.knob = knob;
        this.policy = policy;
        this.resources = List.copyOf(resources);
        this.mostUpstreams = mostUpstreams;
        Arrays.fill(weights, 1);
        Arrays.fill(sigmas, Double.POSITIVE_INFINITY);
    }

    public void weight(int workflow, double weight) {
        if (!(weight > 0)) {
            throw new IllegalArgumentException("a workflow's weight is above 0, not " + weight);
        }
        weights[workflow] = weight;
    }

    /** Messages without a parent came here, whether they pass or not: what is offered, before σ. */
    public void arrived(int workflow, int count) {
        arrived[workflow] += count;
    }

    /** What a process upstream offers in messages a second to this one, before its σ; 0 if it is gone. */
    public void offered(int workflow, int topic, int broker, double rate) {
        long upstream = Edge.of(0, workflow, topic, broker);
        if (rate <= 0) {
            upstreams.remove(upstream);
        } else if (upstreams.size() < mostUpstreams || upstreams.containsKey(upstream)) {
            upstreams.put(upstream, rate);
        }
    }

    /** One round of Algorithm 1. */
    public void interval(Amplification amplification, Announced announced, long nowNs) {
        long elapsedNs = begun ? nowNs - intervalNs : INTERVAL_NS;
        boolean stale = elapsedNs > STALE_NS;
        intervalNs = nowNs;
        measureDemand(Math.max(1, elapsedNs), !begun);
        begun = true;
        announced.interval();
        if (stale) {
            return;
        }
        policy.divide(resources, weights, wanted, binding);
        alphas.clear();
        amplification.visit((edge, alpha) -> {
            if (alpha > 0) {
                alphas.merge(Edge.process(edge), alpha, Double::sum);
            }
        });
        boundByServices(announced);
        for (int w = 0; w < sigmas.length; w++) {
            double highest = Math.max(LEAST, sigmas[w] * RISE);
            sigmas[w] = Math.min(wanted[w], highest);
        }
    }

    private void measureDemand(long elapsedNs, boolean first) {
        double weight = first ? 1 : 1 - Math.exp(-elapsedNs / DEMAND_TAU_NS);
        for (int w = 0; w < offered.length; w++) {
            entering[w] += weight * (arrived[w] * 1e9 / elapsedNs - entering[w]);
            arrived[w] = 0;
            offered[w] = entering[w];
        }
        upstreams.forEach((upstream, rate) -> offered[Edge.workflow(upstream)] += rate);
        for (Resource resource : resources) {
            System.arraycopy(offered, 0, resource.offered, 0, offered.length);
        }
    }

    /** Keys are sorted by workflow, then topic, then broker: the processes of a service follow each other. */
    private void boundByServices(Announced announced) {
        long current = -1;
        long tightest = Announcement.NOTHING;
        double least = Double.POSITIVE_INFINITY;
        service.clear();
        for (Map.Entry<Long, Double> entry : alphas.entrySet()) {
            long process = entry.getKey();
            double alpha = entry.getValue();
            if (process >>> 16 != current) {
                bound(current, tightest);
                current = process >>> 16;
                least = Double.POSITIVE_INFINITY;
                tightest = Announcement.NOTHING;
            }
            Announcement announcement = announced.of(process);
            boolean own = announcement != null && isOwn(announcement.resource());
            double rate = own ? Double.POSITIVE_INFINITY : announced.rate(process);
            service.add(rate, alpha);
            if (rate / alpha < least) {
                least = rate / alpha;
                tightest = announcement.resource();
            }
        }
        bound(current, tightest);
    }

    private void bound(long workflowAndTopic, long resource) {
        if (service.isEmpty()) {
            return;
        }
        int workflow = (int) (workflowAndTopic >>> 27);
        double most = knob.pooled() ? service.pool() : service.quantile(knob.quantile());
        if (most < wanted[workflow]) {
            wanted[workflow] = most;
            binding[workflow] = resource;
        }
        service.clear();
    }

    private boolean isOwn(long resource) {
        for (Resource own : resources) {
            if (own.id() == resource) {
                return true;
            }
        }
        return false;
    }

    /** What the workflow may send through here a second; infinite if nothing binds it. */
    public double sigma(int workflow) {
        return sigmas[workflow];
    }

    /** The resource that binds the workflow, here or downstream. */
    public long binding(int workflow) {
        return binding[workflow];
    }

    /** What all offer a second, before any σ. */
    public double offered(int workflow) {
        return offered[workflow];
    }

    /** The part of σ for messages that enter here. */
    public double entrySigma(int workflow) {
        return part(workflow, ENTRY);
    }

    /** What to tell the process upstream: its part of σ, by max-min over what each of them offers. */
    public Announcement announcement(int workflow, int topic, int broker, long remainingNs, long latencyNs) {
        double rate = part(workflow, Edge.of(0, workflow, topic, broker));
        return new Announcement(
                rate, Double.isInfinite(rate) ? Announcement.NOTHING : binding[workflow], remainingNs, latencyNs);
    }

    private double part(int workflow, long asking) {
        double sigma = sigmas[workflow];
        if (Double.isInfinite(sigma)) {
            return sigma;
        }
        long first = Edge.of(0, workflow, 0, 0);
        Map<Long, Double> here = upstreams.subMap(first, true, first | ANY_PROCESS, true);
        int count = here.size() + 1;
        double[] demands = new double[count];
        double[] ones = new double[count];
        double[] shares = new double[count];
        Arrays.fill(ones, 1);
        demands[0] = entering[workflow];
        int mine = asking == ENTRY ? 0 : -1;
        int at = 1;
        int active = demands[0] > 0 ? 1 : 0;
        double sum = demands[0];
        for (Map.Entry<Long, Double> upstream : here.entrySet()) {
            mine = upstream.getKey() == asking ? at : mine;
            demands[at++] = upstream.getValue();
            sum += upstream.getValue();
            active++;
        }
        MaxMin.divide(sigma, demands, ones, shares, count);
        double spare = Math.max(0, sigma - sum) / Math.max(1, active);
        // Who has offered nothing yet may have what nobody uses.
        return mine < 0 ? spare : shares[mine] + spare;
    }
}

package io.weir.limiter.workflow.algorithm;

import java.util.Arrays;

/**
 * Something at a shard that workflows share, in its own unit: the tokens of the topic's share, or the time of a
 * channel's consumers. The shard measures it and tells it every interval; a {@link LocalPolicy} divides it.
 */
public final class Resource {
    private static final double HEADROOM = 0.97;
    static final double OVERLOADED_SECONDS = 0.05;
    private static final double OVERLOADED_REFUSED = 0.05;
    /** Capacity is remembered for so many intervals: ten seconds of 100 ms. */
    private static final int MEMORY = 100;

    final double[] offered = new double[WorkflowSlots.COUNT];
    final double[] costs = new double[WorkflowSlots.COUNT];
    /** The water level that the policy keeps: units a second for a weight of 1. Infinite: nobody is bound. */
    double level = Double.POSITIVE_INFINITY;

    int calm;

    private final long id;
    private final double headroom;
    private final double[] before = new double[MEMORY];
    private int at;
    private double capacity;
    private double used;
    private double backlog;
    private boolean known;
    private boolean overloaded;

    /** @param id names it among all resources of the cluster; not {@link Announcement#NOTHING} */
    public Resource(long id) {
        this(id, HEADROOM);
    }

    /** @param headroom the part of the capacity that is divided when it is overloaded */
    public Resource(long id, double headroom) {
        if (id == Announcement.NOTHING || !(headroom > 0 && headroom <= 1)) {
            throw new IllegalArgumentException("resource " + id + " with " + headroom + " of its capacity to divide");
        }
        this.id = id;
        this.headroom = headroom;
        Arrays.fill(costs, 1);
    }

    /** What a message of the workflow costs here, in units; 1 unless told. */
    public void cost(int workflow, double units) {
        if (!(units > 0)) {
            throw new IllegalArgumentException("a message costs more than 0 units, not " + units);
        }
        costs[workflow] = units;
    }

    /**
     * What was measured in the last interval.
     *
     * @param units the capacity a second; only a lower bound of it unless {@code exact}
     * @param exact whether the resource was ever seen at its limit
     * @param usedUnits what was used a second
     * @param waitingUnits what waits for it
     */
    public void measured(double units, boolean exact, double usedUnits, double waitingUnits, boolean isOverloaded) {
        before[at] = capacity;
        at = (at + 1) % MEMORY;
        capacity = units;
        known = exact;
        used = usedUnits;
        backlog = waitingUnits;
        overloaded = isOverloaded;
    }

    /**
     * The tokens of the topic's share here: always known, and overloaded when more waits for them than 50 ms of the
     * rate, or, where a topic polices and nothing waits, when more than a twentieth was refused.
     *
     * @param refusedPart of what arrived in the last interval
     */
    public void measuredTokens(double rate, double passedRate, double waiting, double refusedPart) {
        boolean full = waiting > OVERLOADED_SECONDS * rate || refusedPart > OVERLOADED_REFUSED;
        measured(rate, true, passedRate, waiting, full);
    }

    public long id() {
        return id;
    }

    public double capacity() {
        return capacity;
    }

    /** Nobody is bound by a resource whose capacity nobody has seen. */
    public boolean known() {
        return known;
    }

    public boolean overloaded() {
        return overloaded;
    }

    /** The part of the capacity that is not used. */
    double spare() {
        return capacity <= 0 ? 0 : Math.max(0, 1 - used / capacity);
    }

    /**
     * What is divided while it is overloaded: 0.97·C less what drains the backlog within a second, at least C/2. It is
     * never below a quarter of what C was ten seconds ago, because consumers that stand still for two seconds would
     * otherwise drive the workflow's rate to nothing.
     */
    double usable() {
        return Math.max(Math.max(headroom * capacity - backlog, capacity / 2), before[at] / 4);
    }
}

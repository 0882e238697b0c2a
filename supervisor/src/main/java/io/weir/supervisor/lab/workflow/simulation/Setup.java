package io.weir.supervisor.lab.workflow.simulation;

import io.weir.limiter.workflow.algorithm.ShardRates.Knob;
import io.weir.topics.algorithm.Schedule;
import java.util.List;

/**
 * A world of services.
 *
 * @param tiers the first is the entry
 * @param control what is done about load
 */
public record Setup(List<Tier> tiers, Control control) {
    /** A service: so many processes, each with so many handlers. */
    public record Tier(String name, int processes, int handlers) {}

    /**
     * What Wisp does, or does not.
     *
     * @param rates whether σ is adapted and enforced at entries, with admission by deadline
     * @param fair whether workflows share handlers by deficit round robin; {@code order} is inside then
     * @param drops whether a request that can't be in time any more is given up
     * @param knob how the processes of a service count
     */
    public record Control(boolean rates, boolean fair, Schedule order, boolean drops, Knob knob) {
        /** Timeouts only. */
        public static final Control BASELINE = new Control(false, false, Schedule.FIFO, false, Knob.quantile(0.5));

        public static Control rates(Schedule order) {
            return new Control(true, false, order, true, Knob.quantile(0.5));
        }

        public Control fairly() {
            return new Control(rates, true, order, drops, knob);
        }

        public Control with(Knob other) {
            return new Control(rates, fair, order, drops, other);
        }
    }

    /**
     * A step of a request: {@code tasks} side by side, each at a process of {@code tier}; the next step begins when all
     * are done.
     *
     * @param caller the step whose process sends them; -1 for the first
     * @param meanNs the mean service time of a task, exponential
     */
    public record Step(int tier, int caller, int tasks, double meanNs) {}

    /**
     * What a workflow's requests do.
     *
     * @param number its number, from 1
     * @param homes the processes of each tier that its tasks go to; an empty list is any of them
     */
    public record Flow(int number, String name, List<Step> steps, List<List<Integer>> homes) {}
}

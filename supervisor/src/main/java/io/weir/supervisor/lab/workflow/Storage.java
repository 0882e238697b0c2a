package io.weir.supervisor.lab.workflow;

import io.weir.supervisor.lab.workflow.simulation.Setup.Flow;
import io.weir.supervisor.lab.workflow.simulation.Setup.Step;
import io.weir.supervisor.lab.workflow.simulation.Setup.Tier;
import java.util.ArrayList;
import java.util.List;

/**
 * The topology of Wisp's evaluation: ten front ends, five authentication servers, ten partition servers, ten extent
 * nodes. A front end asks an authentication server, then a partition server, which works and then sends tasks to extent
 * nodes. The paper does not print service times and pool sizes: those here are ours, and each experiment says on which
 * of the paper's numbers they were fitted. The paper's partition server computes after the extent nodes have answered;
 * here it computes before, because nothing is held while a message is on its way.
 */
final class Storage {
    static final int FE = 0;
    static final int AUTH = 1;
    static final int PS = 2;
    static final int EN = 3;
    static final long SECOND_NS = 1_000_000_000L;
    private static final double MS = 1e6;

    private Storage() {}

    static List<Tier> tiers(int psHandlers, int enHandlers) {
        return List.of(
                new Tier("FE", 10, 16),
                new Tier("AUTH", 5, 16),
                new Tier("PS", 10, psHandlers),
                new Tier("EN", 10, enHandlers));
    }

    /**
     * @param enSteps so many times, one after the other, {@code enTasks} tasks go to extent nodes
     * @param partitions its partition servers; empty for any
     */
    static Flow flow(
            int number, String name, double psMs, int enSteps, int enTasks, double enMs, List<Integer> partitions) {
        List<Step> steps = new ArrayList<>();
        steps.add(new Step(FE, -1, 1, 1 * MS));
        steps.add(new Step(AUTH, 0, 1, 1 * MS));
        steps.add(new Step(PS, 0, 1, psMs * MS));
        for (int i = 0; i < enSteps; i++) {
            steps.add(new Step(EN, 2, enTasks, enMs * MS));
        }
        return new Flow(number, name, List.copyOf(steps), List.of(List.of(), List.of(), partitions, List.of()));
    }
}

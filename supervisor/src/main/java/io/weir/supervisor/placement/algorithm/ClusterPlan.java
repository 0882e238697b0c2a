package io.weir.supervisor.placement.algorithm;

import java.util.Arrays;
import java.util.List;

/** Where every publisher of the cluster goes, four bytes each, and why, topic by topic. */
public final class ClusterPlan {
    private final int[] homes;
    private final List<Reason>[] reasons;
    private final int[] brokersUsed;
    private int unplaced;
    private double unplacedRate;

    @SuppressWarnings({"unchecked", "rawtypes"})
    ClusterPlan(int publishers, int topics) {
        this.homes = new int[publishers];
        Arrays.fill(homes, Assignment.UNPLACED);
        this.reasons = new List[topics];
        this.brokersUsed = new int[topics];
    }

    void add(int topic, Planner.Plan plan) {
        Assignment assignment = plan.assignment();
        for (int m = 0; m < assignment.members().size(); m++) {
            homes[assignment.members().publisher(m)] = assignment.home(m);
        }
        reasons[topic] = plan.reasons();
        brokersUsed[topic] = assignment.brokersUsed();
        unplaced += assignment.unplaced();
        unplacedRate += assignment.unplacedRate();
    }

    /** A publisher's broker, or {@link Assignment#UNPLACED}. */
    public int home(int publisher) {
        return homes[publisher];
    }

    public List<Reason> reasons(int topic) {
        return reasons[topic];
    }

    public int brokersUsed(int topic) {
        return brokersUsed[topic];
    }

    public int unplaced() {
        return unplaced;
    }

    public double unplacedRate() {
        return unplacedRate;
    }
}

package io.weir.supervisor.placement;

import io.weir.config.value.BrokerId;
import io.weir.supervisor.placement.Decision.Part;
import io.weir.supervisor.placement.Decision.State;
import io.weir.supervisor.placement.TopicPlacement.Run;
import io.weir.supervisor.placement.algorithm.Assignment;
import io.weir.supervisor.placement.algorithm.BrokerCapacities;
import io.weir.supervisor.placement.algorithm.Planner;
import io.weir.supervisor.placement.algorithm.Reason;
import io.weir.supervisor.placement.algorithm.Trigger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;

/** Writes down how far a topic's run is, or that the topic is gone, as the topic's next decision. */
final class DecisionDrafts {
    private static final int KEPT_REASONS = 200;

    private final String me;
    private final Capacities capacities;
    private final RandomGenerator random;

    DecisionDrafts(String me, Capacities capacities, RandomGenerator random) {
        this.me = me;
        this.capacities = capacities;
        this.random = random;
    }

    /**
     * @param news whether the assignment is another than the last one proposed: measurements count from its revision on
     */
    Decision ofRun(TopicPlacement topic, Run run, boolean news) {
        Assignment assignment = run.distribution.assignment();
        long revision = topic.revision() + 1;
        run.proposed = assignment.revision();
        if (news) {
            run.sinceRevision = revision;
            topic.gathered.clear();
        }
        capacities.allocate(topic, run.rates());
        BrokerCapacities room = capacities.of(run.brokers, topic);
        Planner planner = new Planner(run.policy, random);
        double[] quotas = planner.plan(assignment.members(), room).quotas().perBroker();
        List<Part> parts = new ArrayList<>();
        for (int broker = 0; broker < assignment.brokers(); broker++) {
            if (assignment.publishers(broker) > 0) {
                parts.add(new Part(
                        run.brokers.get(broker),
                        assignment.rate(broker),
                        quotas[broker],
                        groups(assignment, broker),
                        capacities.predictedP99Ns(
                                topic.placed, run.brokers, run.trace, assignment, broker, room.allocated(broker)),
                        Decision.pack(idsOf(run, assignment, broker))));
            }
        }
        State state =
                switch (run.distribution.state()) {
                    case MEASURING -> State.MEASURING;
                    case FITTED -> State.FITTED;
                    case KEPT_BEST -> State.KEPT_BEST;
                };
        return new Decision(
                topic.name,
                revision,
                me,
                run.policy.label(),
                state,
                run.trigger.name(),
                run.distribution.round(),
                topic.placed.slo().latencyNs(),
                parts,
                Decision.pack(idsOf(run, assignment, Assignment.UNPLACED)),
                assignment.unplacedRate(),
                latest(reasons(run)));
    }

    private static List<String> reasons(Run run) {
        List<String> reasons = new ArrayList<>();
        run.trace.ifPresent(
                trace -> reasons.add("round 0: forecasts go by " + trace.size() + " sendings that were recorded live"));
        reasons.addAll(sentences(run.distribution.reasons(), run.brokers));
        return reasons;
    }

    /** Nobody has a home by it any more. */
    Decision dissolved(Decision last) {
        return new Decision(
                last.topic(),
                last.revision() + 1,
                me,
                last.policy(),
                State.DISSOLVED,
                Trigger.TOPIC_LEFT.name(),
                last.rounds(),
                last.objectiveNs(),
                List.of(),
                new byte[0],
                0,
                List.of("the topic is gone, or nobody is registered for it any more"));
    }

    static List<String> sentences(List<Reason> reasons, List<BrokerId> brokers) {
        return latest(reasons).stream()
                .map(reason -> "round " + reason.round() + ": "
                        + reason.sentence(broker -> brokers.get(broker).value()))
                .toList();
    }

    /** As many reasons as a row keeps. */
    static <T> List<T> latest(List<T> reasons) {
        return reasons.subList(Math.max(0, reasons.size() - KEPT_REASONS), reasons.size());
    }

    private static int groups(Assignment assignment, int broker) {
        int groups = 0;
        for (int group = 0; group < assignment.members().groups(); group++) {
            boolean named = !assignment.members().alone(group);
            groups += named && assignment.inGroup(broker, group) > 0 ? 1 : 0;
        }
        return groups;
    }

    private static long[] idsOf(Run run, Assignment assignment, int broker) {
        long[] ids = new long[run.ids.length];
        int count = 0;
        for (int member = 0; member < ids.length; member++) {
            if (assignment.home(member) == broker) {
                ids[count++] = run.ids[member];
            }
        }
        return Arrays.copyOf(ids, count);
    }
}

package io.weir.supervisor.placement;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.Decision.Part;
import io.weir.supervisor.placement.algorithm.Assignment;
import io.weir.supervisor.placement.algorithm.BrokerCapacities;
import io.weir.supervisor.placement.algorithm.PlacedTopic;
import io.weir.supervisor.placement.algorithm.Planner;
import io.weir.supervisor.placement.algorithm.Policy;
import io.weir.supervisor.placement.algorithm.PublisherTable;
import io.weir.supervisor.placement.algorithm.TopicMembers;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * What operators may ask of the {@link Distributor}: how topics are placed, why, and how they would be. Changes
 * nothing.
 */
final class PlacementQuestions {
    /** Planning for more publishers would hold everything else up for seconds. */
    private static final int MOST_PLANNED = 200_000;
    /** Of a plan for all topics, the answer has the largest. */
    private static final int MOST_ANSWERED = 200;
    /** Of a topic's groups, the answer has the largest. */
    private static final int MOST_GROUPS = 100;

    private final Distributor.Settings settings;
    private final TopicPlacements topics;
    private final ReportedPublishers publishers;
    private final Capacities capacities;
    private final RandomGenerator random;

    PlacementQuestions(
            Distributor.Settings settings,
            TopicPlacements topics,
            ReportedPublishers publishers,
            Capacities capacities,
            RandomGenerator random) {
        this.settings = settings;
        this.topics = topics;
        this.publishers = publishers;
        this.capacities = capacities;
        this.random = random;
    }

    /** All brokers, and {@code most} topics whose names come after {@code after}. */
    PlacementView view(String after, int most, long nowNs) {
        List<TopicPlacement> later = topics.sorted().stream()
                .filter(topic -> topic.name.value().compareTo(after) > 0)
                .toList();
        List<PlacementView.OfTopic> shown = later.stream()
                .limit(most)
                .map(topic -> view(topic, false, nowNs))
                .toList();
        BrokerCapacities now = capacities.of(publishers.brokers());
        List<PlacementView.OfBroker> brokers = new ArrayList<>();
        for (int i = 0; i < now.size(); i++) {
            BrokerId broker = now.broker(i);
            brokers.add(new PlacementView.OfBroker(
                    broker.value(),
                    now.mcap(i),
                    now.allocated(i),
                    now.rcap(i),
                    capacities.isCalibrated(broker),
                    capacities.isOverrated(broker)));
        }
        return new PlacementView(
                settings.policy().label(),
                settings.me(),
                publishers.count(),
                brokers,
                shown,
                later.size() > most ? shown.get(most - 1).topic() : null);
    }

    /** One topic with the reasons; empty if it has no publishers, or does not exist. */
    Optional<PlacementView.OfTopic> explain(TopicName topic, long nowNs) {
        return topics.find(topic).map(found -> view(found, true, nowNs));
    }

    private PlacementView.OfTopic view(TopicPlacement topic, boolean why, long nowNs) {
        Decision stored = topic.stored;
        List<PlacementView.OfPart> parts = new ArrayList<>();
        if (stored != null) {
            for (Part part : stored.parts()) {
                TopicPlacement.Seen passed = topic.passed.get(part.broker());
                TopicPlacement.Seen late = topic.late.get(part.broker());
                parts.add(new PlacementView.OfPart(
                        part.broker().value(),
                        part.publishers(),
                        part.rate(),
                        part.quota(),
                        part.groups(),
                        part.predictedP99Ns() == 0 ? null : part.predictedP99Ns() / 1e6,
                        p99Ms(topic.seen.get(part.broker()), nowNs),
                        rate(passed, nowNs),
                        p99Ms(passed, nowNs),
                        rate(late, nowNs),
                        p99Ms(late, nowNs)));
            }
        }
        return new PlacementView.OfTopic(
                topic.name.value(),
                stored == null ? "UNPLACED" : stored.state().name(),
                stored == null ? topics.policy(topic).label() : stored.policy(),
                topic.revision(),
                stored == null ? "" : stored.decidedBy(),
                stored == null ? "" : stored.trigger(),
                stored == null ? 0 : stored.rounds(),
                topic.placed.slo().latencyNs() / 1e6,
                stored == null ? 0 : stored.homes().size(),
                stored == null ? 0 : stored.placedRate(),
                stored == null ? 0 : stored.unplaced().length / Long.BYTES,
                stored == null ? 0 : stored.unplacedRate(),
                topic.newcomers.size(),
                parts,
                List.copyOf(topic.refusals),
                publishers.found().groups(topic.name),
                why ? groups(topic) : List.of(),
                why && stored != null ? stored.reasons() : List.of());
    }

    private static Double p99Ms(TopicPlacement.Seen seen, long nowNs) {
        return seen != null && seen.recent(nowNs) ? seen.p99Ns() / 1e6 : null;
    }

    private static double rate(TopicPlacement.Seen seen, long nowNs) {
        return seen != null && seen.recent(nowNs) ? seen.rate(nowNs) : 0;
    }

    /** Told and found groups, the largest first. */
    private List<PlacementView.OfGroup> groups(TopicPlacement topic) {
        PublisherTable table = publishers.table();
        TopicMembers members = publishers.members(topic);
        Map<String, GroupSum> told = new HashMap<>();
        Map<Integer, GroupSum> found = new HashMap<>();
        for (int member = 0; member < members.size(); member++) {
            String key = table.toldGroup(members.publisher(member));
            int number = table.foundGroup(members.publisher(member));
            if (key != null) {
                told.computeIfAbsent(key, fresh -> new GroupSum()).add(members.rate(member), true, number);
            }
            if (number >= 0) {
                found.computeIfAbsent(number, fresh -> new GroupSum()).add(members.rate(member), key == null, number);
            }
        }
        List<PlacementView.OfGroup> all = new ArrayList<>();
        told.forEach((key, sum) -> all.add(sum.view(key, false)));
        found.forEach((number, sum) -> all.add(sum.view("found-" + number, true)));
        all.sort(Comparator.comparingInt((PlacementView.OfGroup each) -> -each.publishers())
                .thenComparing(PlacementView.OfGroup::found)
                .thenComparing(PlacementView.OfGroup::group));
        return List.copyOf(all.subList(0, Math.min(all.size(), MOST_GROUPS)));
    }

    private static final class GroupSum {
        private int publishers;
        private int placedBy;
        private double rate;
        private final Map<Integer, Integer> found = new HashMap<>();

        void add(double itsRate, boolean placesIt, int foundIn) {
            publishers++;
            rate += itsRate;
            placedBy += placesIt ? 1 : 0;
            if (foundIn >= 0) {
                found.merge(foundIn, 1, Integer::sum);
            }
        }

        PlacementView.OfGroup view(String name, boolean isFound) {
            int together =
                    found.values().stream().mapToInt(Integer::intValue).max().orElse(0);
            return new PlacementView.OfGroup(name, isFound, publishers, rate, together, placedBy);
        }
    }

    /** Plans by rates and rooms. For all topics, every publisher is planned anew, the largest topics first. */
    WhatIf.Plan plan(WhatIf what) {
        Optional<TopicPlacement> only =
                Optional.ofNullable(what.topic()).flatMap(name -> topics.find(TopicName.of(name)));
        if (what.topic() != null && only.isEmpty()) {
            return refused("topic " + what.topic() + " has no publishers, or there is no such topic");
        }
        if (only.isEmpty() && publishers.count() > MOST_PLANNED) {
            return refused(publishers.count() + " publishers are too many to plan for at once: name a topic");
        }
        List<BrokerId> then = new ArrayList<>(publishers.brokers());
        then.removeIf(broker -> what.without().contains(broker.value()));
        for (int i = 1; i <= what.more(); i++) {
            then.add(new BrokerId("new-" + i));
        }
        if (then.isEmpty()) {
            return refused("no broker would be left");
        }
        double[] mcap = new double[then.size()];
        double[] taken = new double[then.size()];
        for (int i = 0; i < mcap.length; i++) {
            BrokerId broker = then.get(i);
            // Twice the load is half the capacity.
            mcap[i] = (what.capacity() == null ? capacities.mcap(broker) : what.capacity()) / what.load();
            taken[i] = only.map(topic -> capacities.allocatedToOthers(broker, topic))
                    .orElse(0.0);
        }
        Optional<Policy> policy = Optional.ofNullable(what.policy()).map(Policy::of);
        return plan(only, policy, then, new BrokerCapacities(then, mcap, taken), what.load());
    }

    /** @param forced by this policy instead of each topic's */
    private WhatIf.Plan plan(
            Optional<TopicPlacement> only,
            Optional<Policy> forced,
            List<BrokerId> brokers,
            BrokerCapacities rooms,
            double load) {
        Map<TopicPlacement, TopicMembers> members = membersByTopic();
        List<TopicPlacement> largestFirst = only.map(List::of).orElseGet(topics::sorted).stream()
                .filter(topic ->
                        members.containsKey(topic) && members.get(topic).size() > 0)
                .sorted(Comparator.comparingDouble(
                        (TopicPlacement topic) -> -members.get(topic).rate()))
                .toList();
        List<WhatIf.OfTopic> planned = new ArrayList<>();
        int unplaced = 0;
        double unplacedRate = 0;
        for (TopicPlacement topic : largestFirst) {
            Planner planner = new Planner(forced.orElse(topics.policy(topic)), random);
            Planner.Plan plan = planner.plan(members.get(topic), rooms);
            Assignment assignment = plan.assignment();
            unplaced += assignment.unplaced();
            unplacedRate += assignment.unplacedRate() * load;
            planned.add(new WhatIf.OfTopic(
                    topic.name.value(),
                    assignment.members().size(),
                    assignment.members().rate() * load,
                    topic.stored == null ? 0 : topic.stored.parts().size(),
                    assignment.brokersUsed(),
                    assignment.unplaced(),
                    assignment.unplacedRate() * load,
                    allocate(assignment, rooms, load),
                    only.isPresent() ? DecisionDrafts.sentences(plan.reasons(), brokers) : List.of()));
        }
        String by = forced.or(() -> only.map(topics::policy))
                .orElse(settings.policy())
                .label();
        List<WhatIf.OfTopic> answered = planned.subList(0, Math.min(planned.size(), MOST_ANSWERED));
        return new WhatIf.Plan(null, by, rooms.size(), unplaced, unplacedRate, List.copyOf(answered));
    }

    private Map<TopicPlacement, TopicMembers> membersByTopic() {
        Map<TopicPlacement, TopicMembers> members = new HashMap<>();
        PublisherTable.ByTopic byTopic = publishers.table().byTopic();
        for (int i = 0; i < byTopic.topics(); i++) {
            PlacedTopic defined = byTopic.topic(i);
            if (defined != null) {
                members.put(topics.get(defined.name()), byTopic.members(i));
            }
        }
        return members;
    }

    /** Takes the rooms of what is planned later, and names the parts. */
    private static List<WhatIf.Part> allocate(Assignment assignment, BrokerCapacities rooms, double load) {
        List<WhatIf.Part> parts = new ArrayList<>();
        for (int broker = 0; broker < rooms.size(); broker++) {
            rooms.allocate(broker, assignment.rate(broker));
            if (assignment.publishers(broker) > 0) {
                parts.add(new WhatIf.Part(
                        rooms.broker(broker).value(), assignment.publishers(broker), assignment.rate(broker) * load));
            }
        }
        return parts;
    }

    private static WhatIf.Plan refused(String problem) {
        return new WhatIf.Plan(problem, "", 0, 0, 0, List.of());
    }
}

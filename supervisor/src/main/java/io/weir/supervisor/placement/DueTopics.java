package io.weir.supervisor.placement;

import io.weir.config.value.BrokerId;
import io.weir.supervisor.placement.algorithm.ReplanRule;
import io.weir.supervisor.placement.algorithm.ReplanRule.Replan;
import io.weir.supervisor.placement.algorithm.Trigger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Which topics have to be placed, and why: what {@link ReplanRule} says as things happen, and what shows at every look,
 * such as newcomers or another policy.
 */
final class DueTopics {
    /** A window with fewer messages says nothing about a p99. */
    private static final int LEAST_MESSAGES = 50;

    private final Distributor.Settings settings;
    private final long startedNs;
    private final TopicPlacements topics;
    private final ReportedPublishers publishers;
    private final Seating seating;
    private final ReplanRule rule;
    private final Map<BrokerId, Integer> brokerNumbers = new HashMap<>();
    /** What the rule said and nobody has acted on yet. */
    private final List<Replan> replans = new ArrayList<>();

    DueTopics(
            Distributor.Settings settings,
            long startedNs,
            TopicPlacements topics,
            ReportedPublishers publishers,
            Seating seating) {
        this.settings = settings;
        this.startedNs = startedNs;
        this.topics = topics;
        this.publishers = publishers;
        this.seating = seating;
        this.rule = new ReplanRule(settings.brokenForNs(), settings.pauseNs());
    }

    void brokerJoined() {
        replans.addAll(rule.onBrokerJoined());
    }

    /** @param settled the topics that had publishers there and are not being placed already */
    void brokerGone(BrokerId broker, List<TopicPlacement> settled) {
        replans.addAll(rule.onBrokerGone(
                number(broker), settled.stream().map(topic -> topic.index).toList()));
    }

    void topicLeft(TopicPlacement topic) {
        replans.addAll(rule.onTopicLeft(topic.index));
    }

    void runBegan(TopicPlacement topic) {
        rule.onTopicArrived(topic.index);
    }

    void runEnded(TopicPlacement topic, boolean fitted, long nowNs) {
        rule.onRunEnded(topic.index, fitted, nowNs);
    }

    /** A window of a topic that is placed. */
    void measured(TopicPlacement topic, BrokerId broker, long tooSlow, long messages, long windowNs, long nowNs) {
        if (messages >= LEAST_MESSAGES) {
            boolean broken = tooSlow > topic.placed.slo().tolerated() * messages;
            rule.onWindow(topic.index, number(broker), broken, windowNs, nowNs).ifPresent(replans::add);
        }
    }

    private int number(BrokerId broker) {
        return brokerNumbers.computeIfAbsent(broker, fresh -> brokerNumbers.size());
    }

    /** Topics to place now; who can't begin with one says {@link #later}. */
    Map<TopicPlacement, Trigger> take(long nowNs) {
        Map<TopicPlacement, Trigger> due = new LinkedHashMap<>();
        for (Replan replan : replans) {
            topics.get(replan.topic())
                    .filter(topic -> topic.run == null && !topic.gone)
                    .ifPresent(topic -> due.put(topic, replan.trigger()));
        }
        replans.clear();
        for (TopicPlacement topic : topics.all()) {
            visible(topic, nowNs).ifPresent(trigger -> due.putIfAbsent(topic, trigger));
        }
        return due;
    }

    void later(TopicPlacement topic, Trigger trigger) {
        if (trigger.givenOnce()) {
            replans.add(new Replan(topic.index, trigger));
        }
    }

    private Optional<Trigger> visible(TopicPlacement topic, long nowNs) {
        if (topic.run != null
                || topic.pending != null
                || topic.gone
                || publishers.brokers().isEmpty()) {
            return Optional.empty();
        }
        if (topic.stored != null && !topic.stored.isOver() && orphaned(topic, nowNs)) {
            return Optional.of(Trigger.PUBLISHERS_UNFINISHED);
        }
        if (topic.settled()
                && !topic.stored.policy().equals(topics.policy(topic).label())
                && publishers.members(topic).size() > 0) {
            return Optional.of(Trigger.POLICY_CHANGED);
        }
        boolean soon = topic.hadRun && nowNs - topic.runEndedNs < settings.pauseNs();
        if (topic.settled() && !soon && topics.policy(topic).mindsGroups() && groupsMatter(topic)) {
            return Optional.of(Trigger.GROUPS_FOUND);
        }
        if (!seating.due(topic, nowNs)) {
            return Optional.empty();
        }
        if (topic.dissolved()) {
            return Optional.of(Trigger.PUBLISHERS_ARRIVED);
        }
        return seating.few(topic) || soon || !topic.stored.isOver()
                ? Optional.empty()
                : Optional.of(Trigger.PUBLISHERS_CAME);
    }

    /** Whether groups were found since the topic was placed that its brokers have unevenly. Looked at once a change. */
    private boolean groupsMatter(TopicPlacement topic) {
        long changes = publishers.found().changes(topic.name);
        if (changes == topic.placedAtChange) {
            return false;
        }
        if (changes != topic.judgedAtChange) {
            topic.judgedAtChange = changes;
            topic.groupsUneven = publishers.found().unevenly(topic);
        }
        return topic.groupsUneven;
    }

    /** Whoever measures the topic has stored nothing for longer than a round can take. */
    private boolean orphaned(TopicPlacement topic, long nowNs) {
        long roundNs = settings.fitting().settleNs() + settings.fitting().mostNs();
        boolean foundAtTheStart = topic.storedNs - startedNs < Distributor.LEARN_NS;
        return foundAtTheStart || nowNs - topic.storedNs > 2 * roundNs;
    }
}

package io.weir.cluster.history;

import io.weir.cluster.history.History.BrokerState;
import io.weir.cluster.history.History.Nemesis;
import io.weir.cluster.history.History.Traffic;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * C9: what a broker acknowledged reaches every channel that was there when it was published, at least once, unless that
 * broker's process ended afterwards; what nobody published, or what was refused, reaches none. Where publishers have
 * homes, the broker that answers is not always the one that let the message in and holds it: that may be any that
 * admitted something of the topic between the question and the answer.
 */
final class MessageCheck {
    /** Faults that end a broker's process, and with it the messages that it held. */
    private static final Set<String> DEADLY = Set.of("kill", "crash", "failpoint", "leave", "stop", "restart");
    /**
     * A message that a consumer took and did not finish comes again after so long; before the end of a history it may
     * be under way.
     */
    private static final long REDELIVERY_NS = 60_000_000_000L;

    private static final long NEVER = Long.MIN_VALUE;

    private final History history;
    /** When each broker's process ended for the last time. */
    private final Map<String, Long> lastDeathNs = new HashMap<>();

    /** By topic and time; only where publishers have homes. */
    private final Map<TopicName, NavigableMap<Long, Set<String>>> admitting = new HashMap<>();

    private final List<Violation> violations = new ArrayList<>();
    private long anyDeathNs = NEVER;
    private long wrong;
    private long acknowledged;
    private long refused;
    private long unknown;
    private long lost;
    private long underWay;
    private long deliveries;
    private long duplicates;

    private MessageCheck(History history) {
        this.history = history;
        for (BrokerState state : history.brokerStates()) {
            if (!state.up()) {
                died(state.broker(), state.atNs());
            }
        }
        for (Nemesis fault : history.faults()) {
            if (fault.start() && DEADLY.contains(fault.fault())) {
                fault.hosts().forEach(host -> died(host, fault.atNs()));
            }
        }
        if (history.hasHomes()) {
            for (Admission admission : history.admissions()) {
                admitting
                        .computeIfAbsent(admission.topic(), topic -> new TreeMap<>())
                        .computeIfAbsent(admission.stampNs(), stamp -> new HashSet<>(2))
                        .add(admission.broker().value());
            }
        }
    }

    private void died(String broker, long atNs) {
        lastDeathNs.merge(broker, atNs, Math::max);
        anyDeathNs = Math.max(anyDeathNs, atNs);
    }

    static Verdict of(History history) {
        if (history.count("publish") == 0) {
            return Verdict.notChecked(Invariant.C9, "there are no publish records");
        }
        if (history.count("deliver") == 0) {
            return Verdict.notChecked(Invariant.C9, "there are no deliver records");
        }
        MessageCheck check = new MessageCheck(history);
        history.traffic().forEach(check::topic);
        return check.verdict();
    }

    private Verdict verdict() {
        StringBuilder text = new StringBuilder(acknowledged + " acknowledged, " + refused + " refused, " + unknown
                + " of unknown outcome; " + deliveries + " deliveries, " + duplicates + " of them again");
        if (lost > 0) {
            text.append("; ").append(lost).append(" went with a broker that ended");
        }
        if (underWay > 0) {
            text.append("; ").append(underWay).append(" of the last minute may still be under way");
        }
        if (wrong > 0) {
            text.append("; ").append(wrong).append(" are wrong");
        }
        return Verdict.of(Invariant.C9, violations, text.toString());
    }

    private void topic(TopicName topic, Traffic traffic) {
        deliveries += traffic.deliveries();
        duplicates += traffic.duplicates();
        boolean published = traffic.messages().values().stream().anyMatch(Message::isPublished);
        if (published) {
            traffic.messages().forEach((id, message) -> message(topic, traffic, id, message));
        }
    }

    private void message(TopicName topic, Traffic traffic, String id, Message message) {
        if (message.isAcknowledged()) {
            acknowledged++;
            reachedEveryChannel(topic, traffic, id, message);
        } else if (message.isRefused()) {
            refused++;
        } else if (message.isPublished()) {
            unknown++;
        }
        if (message.isDelivered()) {
            if (!message.isPublished()) {
                violated(
                        topic,
                        message.deliveredNs(),
                        message.deliveredNs(),
                        id + " is delivered, and nobody published it");
            } else if (message.isRefused()) {
                violated(topic, message.deliveredNs(), message.deliveredNs(), id + " is delivered, and it was refused");
            } else if (message.deliveredNs() < message.invokedNs()) {
                violated(
                        topic, message.deliveredNs(), message.invokedNs(), id + " is delivered before it is published");
            }
        }
    }

    private void reachedEveryChannel(TopicName topic, Traffic traffic, String id, Message message) {
        for (int channel = 0; channel < traffic.channels().size(); channel++) {
            boolean owed = traffic.channelFromNs(channel) < message.invokedNs() && !message.isDelivered(channel);
            if (!owed) {
                continue;
            }
            if (deathOf(topic, message) >= message.invokedNs()) {
                lost++;
            } else if (history.phase("end").isEmpty() && message.acknowledgedNs() > history.lastNs() - REDELIVERY_NS) {
                underWay++;
            } else {
                violated(
                        topic,
                        message.invokedNs(),
                        message.acknowledgedNs(),
                        id + " is acknowledged"
                                + (message.broker() < 0 ? "" : " by " + history.broker(message.broker()))
                                + " and never delivered on channel "
                                + traffic.channels().get(channel));
            }
        }
    }

    /** Where nobody says who acknowledged it, any broker may have. */
    private long deathOf(TopicName topic, Message message) {
        if (message.broker() < 0) {
            return anyDeathNs;
        }
        long deathNs = lastDeathNs.getOrDefault(history.broker(message.broker()), NEVER);
        if (history.hasHomes()) {
            for (Set<String> there : admitting
                    .getOrDefault(topic, Collections.emptyNavigableMap())
                    .subMap(message.invokedNs(), true, message.acknowledgedNs(), true)
                    .values()) {
                for (String broker : there) {
                    deathNs = Math.max(deathNs, lastDeathNs.getOrDefault(broker, NEVER));
                }
            }
        }
        return deathNs;
    }

    private void violated(TopicName topic, long fromNs, long toNs, String text) {
        wrong++;
        if (violations.size() < Verdict.SHOWN) {
            violations.add(new Violation(
                    "C9", topic + ": " + text, Optional.of(new Violation.Window(topic, fromNs, toNs, 1))));
        }
    }
}

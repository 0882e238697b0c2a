package io.weir.topics.path;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.topics.algorithm.DelayCounts;
import io.weir.topics.algorithm.MessageStore;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * When a topic's messages came, and how long they took until consumers of this broker had them: from their arrival at
 * the cluster's first broker until a consumer had them, or could have had them if one had been free. Messages that were
 * kept waiting by their consumers (no credit, a full buffer, the channel's own limit, a pause) count apart as well,
 * when they are handed over.
 *
 * <p>All times are durations on clocks that nobody sets: a message's age goes with it over links, and is added to.
 * Copies count: a message of two channels counts twice. What was published to be delivered later, and what is delivered
 * again, does not count. Counted for all topics together, and for this one if somebody wants to know: then by the
 * broker that let the messages pass the limit.
 */
public final class MessageTimes {
    private final Shards shards;
    private final Agenda agenda;
    private final MessageStore store;
    private final TopicGate gate;
    /** Null while nobody wants to know. */
    private DelayCounts own;

    private DelayCounts late;
    /** By the broker that let them pass: as many as there are brokers. */
    private final Map<BrokerId, DelayCounts> others = new HashMap<>();

    private boolean fresh;
    private boolean wentToPeer;

    MessageTimes(Shards shards, Agenda agenda, MessageStore store, TopicGate gate) {
        this.shards = shards;
        this.agenda = agenda;
        this.store = store;
        this.gate = gate;
    }

    /** When a message came to the cluster, in wall-clock time. The store has it by a clock that nobody sets. */
    long timestampNs(int message) {
        return store.timestampNs(message) + shards.wallOffsetNs();
    }

    /** Whether the message that is being handed over came just now, so that only brokers took its time. */
    boolean fresh() {
        return fresh;
    }

    /** @param passesNow whether a message that is going to be dispatched passed the limit in this moment */
    void begin(boolean passesNow) {
        fresh = passesNow;
    }

    /** A consumer has the message, or none can take it now. */
    void end(int message, boolean taken) {
        if (fresh && !(taken && wentToPeer)) {
            passed(message);
        }
        fresh = false;
    }

    /** A message that passed just now is ready for consumers. */
    void passed(int message) {
        ready(null, gate.readNs() - store.timestampNs(message));
    }

    /** The same for one that another broker let pass, and that came straight from there. */
    public void cameFrom(BrokerId home, long arrivalNs) {
        ready(home, agenda.clock().getAsLong() - arrivalNs);
    }

    private void ready(BrokerId home, long delayNs) {
        shards.countReady(delayNs);
        if (own != null) {
            counts(home).add(delayNs, 1);
        }
    }

    private DelayCounts counts(BrokerId home) {
        if (home == null) {
            return own;
        }
        DelayCounts counts = others.get(home);
        if (counts == null) {
            counts = new DelayCounts();
            others.put(home, counts);
        }
        return counts;
    }

    /** A consumer took the message; {@code toPeer}: another broker. */
    void handedOver(long entry, boolean toPeer, long nowNs) {
        wentToPeer = toPeer;
        int message = Channel.message(entry);
        if (!fresh && Channel.slot(entry) == 0 && store.dueNs(message) == 0) {
            waited(entry, nowNs);
        }
    }

    /** The message waited here for a consumer, which has it now. */
    public void waited(long entry, long nowNs) {
        if (Channel.attempts(entry) == 0) {
            long delayNs = nowNs - store.timestampNs(Channel.message(entry));
            shards.countLate(delayNs);
            if (late != null) {
                late.add(delayNs, 1);
            }
        }
    }

    /** Whether this topic's are counted for themselves. */
    void measure(boolean wanted) {
        if (wanted != (own != null)) {
            own = wanted ? new DelayCounts() : null;
            late = wanted ? new DelayCounts() : null;
            others.clear();
        }
    }

    List<Delivered> take(TopicName topic) {
        if (own == null) {
            return List.of();
        }
        List<Delivered> taken = new ArrayList<>();
        if (!(own.isEmpty() && late.isEmpty())) {
            taken.add(new Delivered(topic, null, own.take(), late.take()));
        }
        others.forEach((home, counts) -> {
            if (!counts.isEmpty()) {
                taken.add(new Delivered(topic, home, counts.take(), new DelayCounts().take()));
            }
        });
        return taken;
    }
}

package io.weir.supervisor.placement;

import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.Decisions.Registered;
import io.weir.transport.gateway.Publisher;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiPredicate;

/**
 * The publishers that said who they are. They outlive their broker and the singleton, since they are in the store, and
 * count as present until they say otherwise or were not heard of for {@code ttlMs}.
 *
 * <p>What has changed is written in batches: at once what somebody waits for, the rest every {@link #WRITE_EVERY_NS}. A
 * renewal alone is written ten times in {@code ttlMs}.
 *
 * <p>Bound: {@link #MOST}. Who comes beyond is refused if it asked, and otherwise known for as long as its broker has
 * it, as one that said nothing.
 */
final class Registrations {
    static final int MOST = 100_000;
    static final long WRITE_EVERY_NS = 5_000_000_000L;

    private static final int RENEWALS = 10;

    private record Key(TopicName topic, long id) {}

    /** What is to be written. */
    record Batch(List<Registered> put, List<Registered> gone) {
        boolean isEmpty() {
            return put.isEmpty() && gone.isEmpty();
        }
    }

    private final long ttlMs;
    private final Map<TopicName, Map<Long, Registered>> byTopic = new HashMap<>();
    private int count;
    /** What the store does not have yet: a registration, or null where one is gone. */
    private final Map<Key, Registered> unwritten = new LinkedHashMap<>();

    private final Map<Key, Long> writtenAtMs = new HashMap<>();
    private boolean urgent;
    private long lastTakenNs;

    Registrations(long ttlMs, long nowNs) {
        this.ttlMs = ttlMs;
        lastTakenNs = nowNs - WRITE_EVERY_NS;
    }

    /** From the store. What was said since then counts. */
    void load(List<Registered> rows) {
        for (Registered row : rows) {
            Key key = new Key(row.topic(), row.id());
            if (get(row.topic(), row.id()) == null && !unwritten.containsKey(key) && count < MOST) {
                keep(row);
                writtenAtMs.put(key, row.renewedAtMs());
            }
        }
    }

    /**
     * It said who it is, or said so again; false if there is no room. What it does not say again stays as it was said.
     *
     * @param asked somebody waits for this to be written
     */
    boolean put(TopicName topic, long id, double rate, String group, boolean asked, long nowMs) {
        Registered before = get(topic, id);
        if (before == null && count >= MOST) {
            return false;
        }
        // What somebody asked for is not replaced by what is measured.
        boolean keepsRate = before != null && before.rate() > 0 && (rate <= 0 || before.asked() && !asked);
        Registered now = new Registered(
                topic,
                id,
                keepsRate ? before.rate() : rate,
                group.isEmpty() && before != null ? before.group() : group,
                asked || before != null && before.asked(),
                nowMs);
        keep(now);
        boolean news = before == null
                || before.rate() != now.rate()
                || !before.group().equals(now.group())
                || before.asked() != now.asked();
        Key key = new Key(topic, id);
        if (asked || news || nowMs - writtenAtMs.getOrDefault(key, 0L) > ttlMs / RENEWALS) {
            unwritten.put(key, now);
        }
        urgent |= asked;
        return true;
    }

    private void keep(Registered registered) {
        Registered before = byTopic.computeIfAbsent(registered.topic(), fresh -> new HashMap<>())
                .put(registered.id(), registered);
        count += before == null ? 1 : 0;
    }

    /** False if it was not registered. */
    boolean remove(TopicName topic, long id, boolean asked) {
        Map<Long, Registered> of = byTopic.get(topic);
        Registered was = of == null ? null : of.remove(id);
        if (was == null) {
            return false;
        }
        if (of.isEmpty()) {
            byTopic.remove(topic);
        }
        count--;
        Key key = new Key(topic, id);
        if (writtenAtMs.remove(key) == null) {
            unwritten.remove(key);
        } else {
            unwritten.put(key, null);
        }
        urgent |= asked;
        return true;
    }

    void forget(TopicName topic) {
        for (long id : List.copyOf(byTopic.getOrDefault(topic, Map.of()).keySet())) {
            remove(topic, id, false);
        }
    }

    /** Null if it is not registered. */
    Registered get(TopicName topic, long id) {
        Map<Long, Registered> of = byTopic.get(topic);
        return of == null ? null : of.get(id);
    }

    List<Registered> of(TopicName topic) {
        return List.copyOf(byTopic.getOrDefault(topic, Map.of()).values());
    }

    boolean has(TopicName topic) {
        return byTopic.containsKey(topic);
    }

    Set<TopicName> topics() {
        return Set.copyOf(byTopic.keySet());
    }

    int count() {
        return count;
    }

    /**
     * Takes away whom nobody has heard of for too long.
     *
     * @param present whether a broker has it now, which renews it
     * @return those that are gone
     */
    List<Registered> expire(BiPredicate<TopicName, Long> present, long nowMs) {
        List<Registered> over = new ArrayList<>();
        for (TopicName topic : topics()) {
            for (Registered each : of(topic)) {
                // A clock that was set back must not keep anybody for longer.
                if (present.test(topic, each.id()) || each.renewedAtMs() > nowMs) {
                    put(topic, each.id(), each.rate(), each.group(), false, nowMs);
                } else if (nowMs - each.renewedAtMs() > ttlMs) {
                    remove(topic, each.id(), false);
                    over.add(each);
                }
            }
        }
        return over;
    }

    /** What is to be written now; empty if nothing is, or it is too early. */
    Batch take(long nowNs) {
        if (unwritten.isEmpty() || !urgent && nowNs - lastTakenNs < WRITE_EVERY_NS) {
            return new Batch(List.of(), List.of());
        }
        lastTakenNs = nowNs;
        urgent = false;
        List<Registered> put = new ArrayList<>();
        List<Registered> gone = new ArrayList<>();
        unwritten.forEach((key, registered) -> {
            if (registered == null) {
                gone.add(new Registered(key.topic, key.id, 0, "", false, 0));
            } else {
                put.add(registered);
                writtenAtMs.put(key, registered.renewedAtMs());
            }
        });
        unwritten.clear();
        return new Batch(put, gone);
    }

    /** It could not be written, or perhaps it was: it is written again, unless something newer is. */
    void again(Batch batch) {
        batch.put.forEach(
                each -> unwritten.putIfAbsent(new Key(each.topic(), each.id()), get(each.topic(), each.id())));
        batch.gone.forEach(
                each -> unwritten.putIfAbsent(new Key(each.topic(), each.id()), get(each.topic(), each.id())));
    }

    /** The topics of which somebody is registered who has no name, so that only the topic is kept. */
    void unnamed(Set<TopicName> topics, long nowMs) {
        Set<TopicName> before = new HashSet<>();
        byTopic.forEach((topic, of) -> {
            if (of.containsKey(Publisher.NOBODY)) {
                before.add(topic);
            }
        });
        for (TopicName topic : topics) {
            put(topic, Publisher.NOBODY, 0, "", false, nowMs);
            before.remove(topic);
        }
        before.forEach(topic -> remove(topic, Publisher.NOBODY, false));
    }
}

package io.weir.limiter.supply.protocol;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.value.LimitRow;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The limits as one process has read them from the store: each topic's last version, and what the one before it
 * allowed.
 */
public final class KnownLimits {
    /** A topic's last version, and the limit that it replaces. */
    public record Entry(LimitRow last, Share before) {}

    private final Map<TopicName, Entry> entries = new LinkedHashMap<>();
    private final Set<TopicName> unfinished = new LinkedHashSet<>();
    private final List<TopicName> topics = new ArrayList<>();
    private long upTo;

    /** The store's number of the last change that was read. */
    long upTo() {
        return upTo;
    }

    /** Takes in what changed after {@link #upTo}, up to the given number; answers as {@link #read(List)}. */
    Set<TopicName> read(long newUpTo, List<LimitRow> rows) {
        upTo = Math.max(upTo, newUpTo);
        return read(rows);
    }

    /** Takes rows in, in any order and however often; answers the topics that have a new last version. */
    public Set<TopicName> read(List<LimitRow> rows) {
        Set<TopicName> changed = new LinkedHashSet<>();
        for (LimitRow row : rows) {
            Entry entry = entries.get(row.topic());
            if (entry == null) {
                topics.add(row.topic());
            }
            if (entry == null || row.version() > entry.last.version()) {
                Share before = entry != null && entry.last.version() == row.version() - 1
                        ? entry.last.limit()
                        : limitBefore(row, rows);
                entries.put(row.topic(), new Entry(row, before));
                changed.add(row.topic());
            } else if (row.version() == entry.last.version() && !entry.last.done()) {
                entries.put(row.topic(), new Entry(row, entry.before));
            }
            if (entries.get(row.topic()).last.done()) {
                unfinished.remove(row.topic());
            } else {
                unfinished.add(row.topic());
            }
        }
        return changed;
    }

    /**
     * The limit before {@code row}, found among the same rows: a version is inserted before its successor, so if
     * neither was read before, both come together. The one before a version that is done may have been removed
     * ({@link Retention}); it is not needed.
     */
    private static Share limitBefore(LimitRow row, List<LimitRow> rows) {
        if (row.first() || row.done()) {
            return Share.NONE;
        }
        return rows.stream()
                .filter(other -> other.topic().equals(row.topic()) && other.version() == row.version() - 1)
                .map(LimitRow::limit)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(
                        "version " + row.version() + " of " + row.topic() + " was read without the one before it"));
    }

    /** Those of these topics that are known. */
    List<Entry> of(Collection<TopicName> wanted) {
        return wanted.stream().map(entries::get).filter(entry -> entry != null).toList();
    }

    /** Whether exactly that version, or a later one, was done: nobody mints it any more, or has a debt of it. */
    boolean settled(TopicName topic, long version) {
        return last(topic)
                .filter(last -> last.version() > version || last.version() == version && last.done())
                .isPresent();
    }

    boolean hasDeleted() {
        return entries.values().stream().anyMatch(KnownLimits::isDeleted);
    }

    private static boolean isDeleted(Entry entry) {
        return entry.last.done() && entry.last.limit().isNone();
    }

    /** Forgets deleted names that are not among all that the store has; answers them. */
    Set<TopicName> forgetAllBut(Set<TopicName> stored) {
        Set<TopicName> forgotten = new HashSet<>();
        entries.forEach((topic, entry) -> {
            if (isDeleted(entry) && !stored.contains(topic)) {
                forgotten.add(topic);
            }
        });
        entries.keySet().removeAll(forgotten);
        if (!forgotten.isEmpty()) {
            topics.removeAll(forgotten);
        }
        return forgotten;
    }

    Optional<LimitRow> last(TopicName topic) {
        return Optional.ofNullable(entries.get(topic)).map(Entry::last);
    }

    /** All topics, divided into so many parts: the one with this number. */
    Set<TopicName> slice(long slice, int parts) {
        Set<TopicName> part = new LinkedHashSet<>();
        for (int i = (int) slice; i < topics.size(); i += parts) {
            part.add(topics.get(i));
        }
        return part;
    }

    public Collection<Entry> entries() {
        return entries.values();
    }

    List<TopicName> topics() {
        return topics;
    }

    /** The last versions that are not done. */
    List<Entry> unfinished() {
        return unfinished.stream().map(entries::get).toList();
    }
}

package io.weir.limiter.supply.protocol;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.value.LimitRow;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What one broker has read of the limits' rows: of each topic the last version and what the one before it allowed. */
public final class LimitBook {
    /** A topic's last version, and the limit that it replaces. */
    public record Page(LimitRow last, Share before) {}

    private final Map<TopicName, Page> pages = new LinkedHashMap<>();
    private final Set<TopicName> unfinished = new LinkedHashSet<>();
    private final List<TopicName> topics = new ArrayList<>();
    private long upTo;

    /** The number of the last change that was read. */
    public long upTo() {
        return upTo;
    }

    /** What changed since {@link #upTo}, up to the given number. */
    public Set<TopicName> read(long newUpTo, List<LimitRow> rows) {
        upTo = Math.max(upTo, newUpTo);
        return read(rows);
    }

    /** Takes rows in, in any order and as often as they come; answers the topics whose last version is another now. */
    public Set<TopicName> read(List<LimitRow> rows) {
        Set<TopicName> changed = new LinkedHashSet<>();
        for (LimitRow row : rows) {
            Page page = pages.get(row.topic());
            if (page == null) {
                topics.add(row.topic());
            }
            if (page == null || row.version() > page.last.version()) {
                Share before = page != null && page.last.version() == row.version() - 1
                        ? page.last.limit()
                        : limitBefore(row, rows);
                pages.put(row.topic(), new Page(row, before));
                changed.add(row.topic());
            } else if (row.version() == page.last.version()) {
                pages.put(row.topic(), new Page(row, page.before));
            }
            if (pages.get(row.topic()).last.done()) {
                unfinished.remove(row.topic());
            } else {
                unfinished.add(row.topic());
            }
        }
        return changed;
    }

    /**
     * Among the same rows: a version is inserted before its successor, so both come together if neither was read before. Before one that is
     * done there may be none any more ({@link Retention}), and nobody need know.
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

    public Optional<LimitRow> last(TopicName topic) {
        return Optional.ofNullable(pages.get(topic)).map(Page::last);
    }

    /** The {@code slice}th of so many parts of all topics. */
    public Set<TopicName> slice(long slice, int parts) {
        Set<TopicName> part = new LinkedHashSet<>();
        for (int i = (int) slice; i < topics.size(); i += parts) {
            part.add(topics.get(i));
        }
        return part;
    }

    public Collection<Page> pages() {
        return pages.values();
    }

    public List<TopicName> topics() {
        return topics;
    }

    /** The topics whose last version is not done. */
    public List<Page> unfinished() {
        return unfinished.stream().map(pages::get).toList();
    }
}

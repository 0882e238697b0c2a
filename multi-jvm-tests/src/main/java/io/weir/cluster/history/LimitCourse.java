package io.weir.cluster.history;

import io.weir.config.value.Limit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What a topic's limit was, when. What a change adds counts from the moment it was asked for, what it takes away from the moment
 * it was seen to be done: in between either limit may hold.
 */
public final class LimitCourse {
    /** More or less of a limit from a moment on. */
    record Change(long atNs, long rateMicros, long burstMicros, long levelMicros) {
        boolean adds() {
            return rateMicros >= 0 && burstMicros >= 0;
        }
    }

    private final List<Change> changes = new ArrayList<>();
    private Limit last;

    /** @param askedNs before the topic was created; its bucket begins full */
    public LimitCourse(Limit first, long askedNs) {
        changes.add(new Change(askedNs, first.rateMicros(), first.burstMicros(), first.burstMicros()));
        last = first;
    }

    public void changed(Limit next, long askedNs, long doneNs) {
        long rate = next.rateMicros() - last.rateMicros();
        long burst = next.burstMicros() - last.burstMicros();
        changes.add(new Change(askedNs, Math.max(0, rate), Math.max(0, burst), 0));
        changes.add(new Change(doneNs, Math.min(0, rate), Math.min(0, burst), 0));
        last = next;
    }

    List<Change> changes() {
        return changes.stream().sorted(Comparator.comparingLong(Change::atNs)).toList();
    }
}

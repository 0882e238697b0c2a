package io.weir.cluster.history;

import io.weir.cluster.history.LimitCourse.Change;
import io.weir.config.value.Limit;
import io.weir.limiter.simulation.supply.MovingBound;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Finds, where admissions break a bound, the shortest window of them that shows it: a window is too much if a bucket
 * that is full at its first message, with the rate and burst of that moment and all changes after it, could not have
 * let all of it through.
 *
 * <p>A window that begins earlier begins with no fuller a bucket, and one that ends later has more in it, so each shows
 * whatever a window inside it shows. Hence the windows that have no other inside them come in order, and one is found
 * from the next: go to the first message that is too much, then as far forward with the beginning as it still is, then
 * begin again one message later.
 */
final class SmallestExcess {
    /** Steps of the bound after which it is content with the smallest window so far; a few seconds. */
    private static final long MOST_STEPS = 100_000_000L;

    /**
     * Messages {@code from} to {@code to}, both in it.
     *
     * @param windows that show an excess and have no other inside them
     * @param all whether these were all of them
     */
    record Found(int from, int to, long tokens, int windows, boolean all) {}

    private final List<Admission> admissions;
    private final List<Change> changes;
    private final long[] rates;
    private final long[] bursts;
    private long steps;

    private SmallestExcess(List<Admission> admissions, List<Change> changes) {
        this.admissions = admissions;
        this.changes = changes.stream()
                .sorted(Comparator.comparingLong(Change::atNs).thenComparing(Change::adds, Comparator.reverseOrder()))
                .toList();
        rates = new long[changes.size() + 1];
        bursts = new long[changes.size() + 1];
        for (int i = 0; i < changes.size(); i++) {
            rates[i + 1] = rates[i] + changes.get(i).rateMicros();
            bursts[i + 1] = bursts[i] + changes.get(i).burstMicros();
        }
    }

    /** @param admissions in the order of their stamps */
    static Optional<Found> in(List<Admission> admissions, List<Change> changes) {
        return new SmallestExcess(admissions, changes).search();
    }

    private Optional<Found> search() {
        int size = admissions.size();
        int from = -1;
        int to = -1;
        int windows = 0;
        int begin = 0;
        int end = firstExcess(0, size);
        while (end >= 0) {
            int last = lastBeginning(begin, end);
            windows++;
            if (from < 0 || lengthNs(last, end) < lengthNs(from, to)) {
                from = last;
                to = end;
            }
            begin = last + 1;
            if (begin >= size || steps > MOST_STEPS) {
                break;
            }
            end = firstExcess(begin, size);
        }
        if (windows == 0) {
            return Optional.empty();
        }
        long tokens = 0;
        for (int i = from; i <= to; i++) {
            tokens += admissions.get(i).tokens();
        }
        return Optional.of(new Found(from, to, tokens, windows, steps <= MOST_STEPS));
    }

    private long lengthNs(int from, int to) {
        return admissions.get(to).stampNs() - admissions.get(from).stampNs();
    }

    /**
     * The latest beginning of a window that shows the excess at {@code end}; it is known to show from {@code earliest}
     * on.
     */
    private int lastBeginning(int earliest, int end) {
        int tooLate = end + 1;
        int shows = end;
        for (int stride = 1; shows > earliest && firstExcess(shows, end + 1) < 0; stride *= 2) {
            tooLate = shows;
            shows = Math.max(earliest, shows - stride);
        }
        while (shows + 1 < tooLate) {
            int middle = (shows + tooLate) >>> 1;
            if (firstExcess(middle, end + 1) >= 0) {
                shows = middle;
            } else {
                tooLate = middle;
            }
        }
        return shows;
    }

    /** The first admission in [from, to) that is too much, if the bucket is full before {@code from}; -1 if none. */
    private int firstExcess(int from, int to) {
        if (from >= to) {
            return -1;
        }
        // Times are counted from the first message or change: nanoTime may begin anywhere.
        long originNs = originNs();
        MovingBound bound = new MovingBound();
        int next = 0;
        if (from > 0) {
            next = changesBefore(admissions.get(from));
            bound.change(
                    rates[next],
                    bursts[next],
                    bursts[next],
                    admissions.get(from).stampNs() - originNs);
        }
        for (int i = from; i < to; i++) {
            Admission each = admissions.get(i);
            for (; next < changes.size() && comesBefore(changes.get(next), each); next++) {
                Change change = changes.get(next);
                bound.change(change.rateMicros(), change.burstMicros(), change.levelMicros(), change.atNs() - originNs);
            }
            steps++;
            if (bound.admitted(each.tokens() * Limit.MICROS, each.stampNs() - originNs) > 0) {
                return i;
            }
        }
        return -1;
    }

    private long originNs() {
        long first = admissions.get(0).stampNs();
        return changes.isEmpty() ? first : Math.min(first, changes.get(0).atNs());
    }

    private int changesBefore(Admission admission) {
        int low = 0;
        int high = changes.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (comesBefore(changes.get(middle), admission)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** At the same time, what adds comes before the message and what takes away after it. */
    private static boolean comesBefore(Change change, Admission admission) {
        return change.atNs() < admission.stampNs() || change.atNs() == admission.stampNs() && change.adds();
    }
}

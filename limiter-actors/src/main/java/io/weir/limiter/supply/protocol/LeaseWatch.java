package io.weir.limiter.supply.protocol;

import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * The watcher's side of everybody's lease: how long has a row been as it is? It gets rows together with the watcher's
 * own clock, which was read <i>after</i> the store's answer came.
 *
 * <p>Why a holder whose renewSeq was seen unchanged for W = L(1+ε)/(1−ε) + guard has stopped: its last renewal was sent
 * before the watcher's first sight of that renewSeq, so in real time it stops L/(1−ε) after that at the latest; W on a
 * clock that is fast by ε is at least as long. The fence is conditional on the same renewSeq, so there was no later
 * renewal.
 *
 * <p>What was seen lives in memory. After a gap in the reads it is forgotten: during an outage of the store nobody
 * could renew, and the first watcher to reach it again would fence all others.
 */
public final class LeaseWatch {
    private record Sight(LeaseRow row, long sinceNs) {}

    private final long patienceNs;
    private final long longestGapNs;
    private final Map<Holder, Sight> sights = new LinkedHashMap<>();
    /** Holders that were ever seen fenced or stopped. Grows by one for each death while this process lives. */
    private final Set<Holder> gone = new HashSet<>();

    private boolean reading;
    private long lastReadNs;

    /**
     * @param patienceNs W, see {@link #patienceNs(long, long, long)}
     * @param longestGapNs between two successful reads: L/4. Rows should be read at least twice as often
     */
    public LeaseWatch(long patienceNs, long longestGapNs) {
        this.patienceNs = patienceNs;
        this.longestGapNs = longestGapNs;
    }

    /** W for a lease of L; rounded up. */
    public static long patienceNs(long leaseNs, long epsilonPpm, long guardNs) {
        long drift =
                (2 * leaseNs / 1_000 * epsilonPpm + (1_000_000 - epsilonPpm) - 1) / (1_000_000 - epsilonPpm) * 1_000;
        return leaseNs + drift + 2_000 + guardNs;
    }

    public void read(Collection<LeaseRow> rows, long nowNs) {
        if (!reading || nowNs - lastReadNs > longestGapNs) {
            sights.clear();
        }
        reading = true;
        lastReadNs = nowNs;
        for (LeaseRow row : rows) {
            if (row.state() != LeaseRow.State.LIVE) {
                gone.add(row.holder());
            }
            Sight sight = sights.get(row.holder());
            if (sight == null || !sight.row.equals(row)) {
                sights.put(row.holder(), new Sight(row, nowNs));
            }
        }
    }

    /** Whether the holder was ever seen fenced or stopped; no row goes back from that. */
    boolean gone(Holder holder) {
        return gone.contains(holder);
    }

    /** Whether the holder may be fenced: a live row, unchanged for W and for {@code courtesyNs} more. */
    public boolean expired(LeaseRow row, long courtesyNs, long nowNs) {
        return row.state() == LeaseRow.State.LIVE && unchanged(row, patienceNs + courtesyNs, nowNs);
    }

    /**
     * Whether a row's unfinished inheritance has not moved for {@code courtesyNs}, so that it is this watcher's turn.
     */
    boolean waiting(LeaseRow row, long courtesyNs, long nowNs) {
        return row.unfinished() && unchanged(row, courtesyNs, nowNs);
    }

    private boolean unchanged(LeaseRow row, long durationNs, long nowNs) {
        Sight sight = sights.get(row.holder());
        return sight != null && sight.row.equals(row) && nowNs - sight.sinceNs >= durationNs;
    }
}

package io.weir.limiter.supply.protocol;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What the store may forget, as one watcher sees it. It gets rows together with the watcher's own clock, read
 * <i>after</i> the store's answer came, asks all live holders, and says what may be removed. In the step that removes,
 * the store checks once more what it can see ({@code SupplyStore}). Everything here is memory: a new watcher begins
 * anew, which only delays.
 *
 * <p><b>A closed holder</b> V (stopped, both accounts inherited), with its journal and snapshots, is needed
 *
 * <ul>
 *   <li>while anybody has an open transfer to V, own, adopted or about to be written: V's journal says whether it was
 *       credited. If that journal vanished, "contains the credit" would become "refund", and supply would double. So
 *       every live holder is asked; one that did not answer may have such a transfer. A holder that has none, and has
 *       seen that V is not live, never opens one, but it may inherit one from a holder that opened it with an old view
 *       of the rows. So whenever somebody was inherited from, all are asked again (the specification's
 *       {@code wordTakenBack}: without it an heir's old answer lets a journal go that the heir needs);
 *   <li>while the leased account of a holder that is no longer live is not yet inherited: its open transfers go to the
 *       heir with it;
 *   <li>while V is the heir in somebody's row that is not done: V's journal says whether the inheritance landed;
 *   <li>while V is the minter of a version that is not done: V's journal says whether it was minted.
 * </ul>
 *
 * A holder that registers later reads rows in which V is not live, and inherits from holders of which all of this
 * holds.
 *
 * <p><b>Versions of a limit</b>: the last two of every name stay, because only their difference says how much to mint
 * or burn. <b>A deleted name</b>'s last two go when the watcher has seen the deletion done for 2·b/r + W, with the r
 * and b that were deleted: until then a re-creation continues the versions and so begins empty; else two full buckets
 * would follow each other.
 *
 * <p>Besides, everything stays for a while ({@link ProtocolTimes#retentionNs}) after nobody needs it: for those who
 * look for a fault, and because a write that a process sent before it died may land late, and in a removed journal it
 * would find its sequence number free. So this relies on a store that carries such a write out within that while, or
 * never.
 */
public final class Retention {
    /** Something that may be removed. */
    public sealed interface Removal {}

    /** A holder's row, journal and snapshots. */
    public record OfHolder(Holder closed) implements Removal {}

    /** The versions of a limit below this one. */
    public record OfVersions(TopicName topic, long below) implements Removal {}

    /** All that is left of a deleted name, whose last version is this one. */
    public record OfName(TopicName topic, long version) implements Removal {}

    /** At most so many closed holders go into one question. */
    static final int MOST_ASKED = 200;

    private static final long MILLION = 1_000_000L;
    private static final double NANOS = 1e9;

    /**
     * What was read of a name: its last version, since when it is as it is, the limit before it, and the oldest version
     * left.
     */
    private record Name(LimitRow last, long sinceNs, Optional<Share> before, long oldest) {
        boolean deleted() {
            return last.limit().isNone() && last.done();
        }
    }

    private final long retentionNs;
    private final long patienceNs;
    private final long epsilonPpm;
    private final Map<Holder, Long> closedSinceNs = new LinkedHashMap<>();
    /** By closed holder: the live ones that said they will never need it again. */
    private final Map<Holder, Set<Holder>> cleared = new HashMap<>();

    private final Map<TopicName, Name> names = new HashMap<>();
    private List<LeaseRow> openRows = List.of();
    /** Holders that may have had open transfers of their own at the last read. */
    private Set<Holder> heldOpen = Set.of();

    private long round;
    private boolean readLeases;
    private boolean readLimits;

    /**
     * @param retentionNs how long what nobody needs stays all the same
     * @param patienceNs W, see {@link LeaseWatch#patienceNs}
     * @param epsilonPpm ε in millionths, by which clocks may run wrong
     */
    public Retention(long retentionNs, long patienceNs, long epsilonPpm) {
        this.retentionNs = retentionNs;
        this.patienceNs = patienceNs;
        this.epsilonPpm = epsilonPpm;
    }

    /**
     * The leases' rows.
     *
     * @param rows all that are not closed
     * @param closed the closed ones; read <i>before</i> {@code rows}, so that nobody is missing from both
     */
    public void leases(Collection<Holder> closed, List<LeaseRow> rows, long nowNs) {
        Set<Holder> mayHaveOpen = new HashSet<>();
        for (LeaseRow row : rows) {
            if (row.state() == LeaseRow.State.LIVE || !row.leased().done()) {
                mayHaveOpen.add(row.holder());
            }
        }
        if (!mayHaveOpen.containsAll(heldOpen)) {
            // Somebody's open transfers are its heir's now, whatever that heir answered before.
            cleared.clear();
            round++;
        }
        heldOpen = mayHaveOpen;
        openRows = List.copyOf(rows);
        readLeases = true;
        closedSinceNs.keySet().retainAll(closed);
        cleared.keySet().retainAll(closed);
        closed.forEach(holder -> closedSinceNs.putIfAbsent(holder, nowNs));
    }

    /** @param rows limits' rows that changed since the last call, oldest first; all of them the first time */
    public void limits(List<LimitRow> rows, long nowNs) {
        readLimits = true;
        for (LimitRow row : rows) {
            Name name = names.get(row.topic());
            if (name == null) {
                names.put(row.topic(), new Name(row, nowNs, Optional.empty(), row.version()));
            } else if (row.version() > name.last.version()) {
                boolean follows = row.version() == name.last.version() + 1;
                names.put(
                        row.topic(),
                        new Name(row, nowNs, follows ? Optional.of(name.last.limit()) : Optional.empty(), name.oldest));
            } else if (row.version() == name.last.version() && !row.equals(name.last)) {
                names.put(row.topic(), new Name(row, nowNs, name.before, name.oldest));
            }
        }
    }

    /** The store does not have these names any more. */
    void forgotten(Set<TopicName> topics) {
        names.keySet().removeAll(topics);
    }

    /** Answers count only if they are of this round: earlier ones were given before somebody inherited. */
    public long round() {
        return round;
    }

    /** The closed holders to ask all live ones about, this watcher's own holder included. */
    public Set<Holder> question(long nowNs) {
        Set<Holder> asked = new LinkedHashSet<>();
        closedSinceNs.forEach((holder, sinceNs) -> {
            if (asked.size() < MOST_ASKED && nowNs - sinceNs >= retentionNs && !clearedByAllLive(holder)) {
                asked.add(holder);
            }
        });
        return asked;
    }

    /**
     * A holder's answer.
     *
     * @param live the holders that its last look at the rows found live; empty if it has not looked yet
     */
    public static PeerMessage.Needed answer(
            long round, Set<Holder> question, Bookkeeper keeper, Optional<Set<Holder>> live) {
        Set<Holder> still = new HashSet<>();
        for (Holder closed : question) {
            if (live.isEmpty() || live.get().contains(closed) || keeper.mayLookUp(closed)) {
                still.add(closed);
            }
        }
        return new PeerMessage.Needed(keeper.ledger().holder(), round, question, still);
    }

    /** A holder that does not need a closed one now never will, unless it inherits; then a new round begins. */
    public void answered(PeerMessage.Needed answer) {
        if (answer.round() != round) {
            return;
        }
        for (Holder holder : answer.asked()) {
            if (closedSinceNs.containsKey(holder) && !answer.still().contains(holder)) {
                cleared.computeIfAbsent(holder, closed -> new HashSet<>()).add(answer.from());
            }
        }
    }

    /** What may be removed now. */
    public List<Removal> due(long nowNs) {
        List<Removal> due = new ArrayList<>();
        if (!readLeases || !readLimits) {
            return due;
        }
        closedSinceNs.forEach((holder, sinceNs) -> {
            if (nowNs - sinceNs >= retentionNs && nobodyNeeds(holder)) {
                due.add(new OfHolder(holder));
            }
        });
        names.forEach((topic, name) -> {
            long seenNs = nowNs - name.sinceNs;
            if (name.deleted()
                    && name.before.isPresent()
                    && seenNs >= Math.max(retentionNs, emptiedNs(name.before.get()))) {
                due.add(new OfName(topic, name.last.version()));
            } else if (name.oldest < name.last.version() - 1 && seenNs >= retentionNs) {
                due.add(new OfVersions(topic, name.last.version() - 1));
            }
        });
        return due;
    }

    /** It is removed; or the store found a reason against it, and it is considered again when its rows change. */
    public void done(Removal removal) {
        if (removal instanceof OfHolder of) {
            closedSinceNs.remove(of.closed);
            cleared.remove(of.closed);
        } else if (removal instanceof OfName of) {
            names.computeIfPresent(of.topic, (topic, name) -> name.last.version() == of.version ? null : name);
        } else if (removal instanceof OfVersions of) {
            names.computeIfPresent(
                    of.topic,
                    (topic, name) -> new Name(name.last, name.sinceNs, name.before, Math.max(name.oldest, of.below)));
        }
    }

    private boolean nobodyNeeds(Holder holder) {
        for (LeaseRow row : openRows) {
            boolean mayHaveTransfers =
                    row.state() != LeaseRow.State.LIVE && !row.leased().done();
            if (mayHaveTransfers || row.holder().equals(holder) || isHeir(holder, row)) {
                return false;
            }
        }
        return clearedByAllLive(holder)
                && names.values().stream()
                        .noneMatch(
                                name -> !name.last.done() && name.last.minter().equals(Optional.of(holder)));
    }

    private static boolean isHeir(Holder holder, LeaseRow row) {
        for (Account account : Account.values()) {
            LeaseRow.Legacy legacy = row.of(account);
            if (!legacy.done() && legacy.heir().equals(Optional.of(holder))) {
                return true;
            }
        }
        return false;
    }

    private boolean clearedByAllLive(Holder holder) {
        Set<Holder> by = cleared.getOrDefault(holder, Set.of());
        return openRows.stream().allMatch(row -> row.state() != LeaseRow.State.LIVE || by.contains(row.holder()));
    }

    /** 2·b/r + W on a clock that may be fast; for ever if a long can't hold it. */
    private long emptiedNs(Share limit) {
        double ns = (2 * NANOS * limit.burstMicros() / limit.rateMicros() + patienceNs)
                * (MILLION + 2 * epsilonPpm)
                / MILLION;
        return ns < Long.MAX_VALUE / 2 ? (long) Math.ceil(ns) : Long.MAX_VALUE;
    }
}

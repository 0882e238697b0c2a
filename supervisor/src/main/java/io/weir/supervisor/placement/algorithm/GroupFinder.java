package io.weir.supervisor.placement.algorithm;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Finds which of a topic's publishers send together, from when their bursts begin. SRTM (4.1, 4.3) leaves this to the
 * user, because to measure the correlation of every two publishers costs too much. Here only publishers are compared
 * that are likely to be alike.
 *
 * <p>Time is cut into slots. Of every publisher the last {@link #KEPT} slots in which a burst began are kept, so that a
 * slow one is known for as many bursts as a fast one. Two bursts coincide if their slots are neighbours or the same:
 * clocks of brokers may differ by a slot.
 *
 * <p><b>Alike.</b> Over the time that both are known, S slots, publishers A and B began n and m bursts, of which c
 * coincide. If they were independent, a burst of A would meet one of B with the probability q = 3m/S, and by Chernoff's
 * bound P(C ≥ c) ≤ exp(−n·D(c/n ‖ q)), where D is the relative entropy of two coins. They join if this is below
 * {@link #MISTAKES} for all pairs of the topic's M publishers together, n·D ≥ ln(M²/2 / MISTAKES), and if c is at least
 * half of n and of m: whatever stalls a broker now and then makes few of their bursts coincide. Who begins bursts in
 * more than one of {@link #BUSY} slots coincides with everybody, and is in no group.
 *
 * <p><b>Near-linear.</b> A publisher is compared with those that share a band of min-hashes with it, of the slots of
 * its bursts and their neighbours: {@link #BANDS} bands of {@link #BAND} hashes. With the similarity J (Jaccard) two
 * share one with the probability 1 − (1 − J³)³²: 0.99 for J = ½, as between two whose clocks differ by a slot and whose
 * bursts all coincide; 0.0001 for two independent ones that send once a second. Hashes are made by one permutation in
 * bins. Only one of each group, its leader, is compared with, so that groups do not grow together through chains.
 *
 * <p><b>Steady.</b> A member leaves when less than a third of its bursts coincided with the leader's in {@link #MISSES}
 * rounds in a row. If that is so for most members, it is the leader that is different: another leads.
 *
 * <p>Memory: 256 bytes a publisher for its bursts and about 120 beside them, 4 MB for 10,000, and half of that again
 * where the arrays have just grown. A round takes another 500 bytes for each that is in no group, and gives them back.
 * Beyond the given number, publishers are not looked at.
 *
 * <p>Publishers with the same period send together, or never do, for as long as their clocks agree. They are grouped by
 * what they do; groups whose phases differ by a slot or two are taken for one.
 */
public final class GroupFinder {
    /** The number of no group. */
    public static final int NONE = -1;

    /** So many bursts of each publisher are kept. */
    static final int KEPT = 64;
    /** How many pairs of independent publishers, of all, may be taken for a group in a round. */
    static final double MISTAKES = 1e-6;
    /** Who begins bursts in more than one of so many slots is busy. */
    static final int BUSY = 16;
    /** So many rounds in a row without enough coincidence, and a member leaves. */
    static final int MISSES = 3;

    static final int BANDS = 32;
    static final int BAND = 3;

    /** Bursts of fewer say nothing. */
    private static final int LEAST = 4;
    /** Bursts coincide that are so many slots apart. */
    private static final int APART = 1;
    /** A publisher is compared with so many at most; further candidates wait for a later round. */
    private static final int MOST_COMPARED = 64;

    private static final int BINS = BANDS * BAND;

    private final int most;
    private final int oldestSlots;
    private final long seed;
    private final Map<Long, Integer> rows = new HashMap<>();
    private long[] ids = new long[16];
    /** Ascending, {@link #KEPT} for each row; slot numbers may wrap, so only differences count. */
    private int[] bursts = new int[16 * KEPT];

    private int[] counts = new int[16];
    private int[] groupOf = new int[16];
    private byte[] missed = new byte[16];
    private int used;
    private int free = NONE;
    /** The row of each group's leader, by the group's number. */
    private final TreeMap<Integer, Integer> leaders = new TreeMap<>();

    private int nextGroup = 1;
    private long changes;

    // What the last comparison found: bursts of either, how many coincide, and over how many slots.
    private int ofOne;
    private int ofOther;
    private int coincide;
    private int span;

    /**
     * @param most so many publishers are looked at
     * @param oldestSlots bursts longer ago do not count
     * @param seed of the hashes
     */
    public GroupFinder(int most, int oldestSlots, long seed) {
        this.most = most;
        this.oldestSlots = oldestSlots;
        this.seed = seed;
    }

    // What is heard

    /**
     * A publisher began bursts in the slots whose bits are set, bit 0 being {@code fromSlot}. False: there is no room
     * for it.
     */
    public boolean heard(long id, long fromSlot, long began) {
        Integer row = rows.get(id);
        if (row == null) {
            if (rows.size() >= most) {
                return false;
            }
            row = takeRow(id);
        }
        for (long left = began; left != 0; left &= left - 1) {
            add(row, (int) (fromSlot + Long.numberOfTrailingZeros(left)));
        }
        return true;
    }

    /** Usually the newest, but a publisher may be at two brokers, one of which reports later. */
    private void add(int row, int slot) {
        int from = row * KEPT;
        if (counts[row] > 0 && bursts[from + counts[row] - 1] - slot > oldestSlots) {
            // A clock was set back by so much that all that is known would seem to lie ahead.
            counts[row] = 0;
        }
        int at = from + counts[row];
        while (at > from && bursts[at - 1] - slot >= 0) {
            at--;
        }
        boolean known =
                at > from && slot - bursts[at - 1] <= APART || at < from + counts[row] && bursts[at] - slot <= APART;
        if (known || at == from && counts[row] == KEPT) {
            return;
        }
        if (counts[row] == KEPT) {
            System.arraycopy(bursts, from + 1, bursts, from, at - from - 1);
            bursts[at - 1] = slot;
        } else {
            System.arraycopy(bursts, at, bursts, at + 1, from + counts[row] - at);
            bursts[at] = slot;
            counts[row]++;
        }
    }

    /** Forgets a publisher; false if it was not known. */
    public boolean leave(long id) {
        Integer row = rows.remove(id);
        if (row == null) {
            return false;
        }
        leaveGroup(row);
        counts[row] = 0;
        ids[row] = 0;
        groupOf[row] = free;
        free = row;
        return true;
    }

    private int takeRow(long id) {
        int row = free;
        if (row != NONE) {
            free = groupOf[row];
        } else {
            row = used++;
            if (row == ids.length) {
                int larger = Math.min(most, row + row / 2);
                ids = Arrays.copyOf(ids, larger);
                bursts = Arrays.copyOf(bursts, larger * KEPT);
                counts = Arrays.copyOf(counts, larger);
                groupOf = Arrays.copyOf(groupOf, larger);
                missed = Arrays.copyOf(missed, larger);
            }
        }
        rows.put(id, row);
        ids[row] = id;
        counts[row] = 0;
        groupOf[row] = NONE;
        missed[row] = 0;
        return row;
    }

    // What is found

    /** How many publishers are looked at. */
    public int size() {
        return rows.size();
    }

    public boolean knows(long id) {
        return rows.containsKey(id);
    }

    /** The number of the group that the publisher was found in, or {@link #NONE}. Numbers are not given again. */
    public int groupOf(long id) {
        Integer row = rows.get(id);
        return row == null ? NONE : groupOf[row];
    }

    public int groups() {
        return leaders.size();
    }

    /** Grows whenever somebody joins a group or leaves one. */
    public long changes() {
        return changes;
    }

    /** Receives publishers and their groups. */
    @FunctionalInterface
    public interface Sink {
        void found(long id, int group);
    }

    /** Tells everybody's group, {@link #NONE} included. */
    public void forEach(Sink sink) {
        rows.forEach((id, row) -> sink.found(id, groupOf[row]));
    }

    /**
     * Looks for groups anew, once in some seconds.
     *
     * @param upToSlot what began later was not heard of everybody yet
     */
    public void round(long upToSlot) {
        int now = (int) upToSlot;
        judgeMembers(now);
        LeaderIndex index = new LeaderIndex(now);
        // By number: of two groups that are one, the younger goes.
        for (Map.Entry<Integer, Integer> each : new TreeMap<>(leaders).entrySet()) {
            int leader = each.getValue();
            int twin = index.alike(leader);
            if (twin == NONE) {
                index.add(leader);
            } else {
                merge(each.getKey(), groupOf[twin]);
            }
        }
        for (int row = 0; row < used; row++) {
            if (isFree(row) || groupOf[row] != NONE || !speaks(row, now)) {
                continue;
            }
            int alike = index.alike(row);
            if (alike == NONE) {
                index.add(row);
            } else {
                if (groupOf[alike] == NONE) {
                    found(alike);
                }
                join(row, groupOf[alike]);
            }
        }
    }

    private void found(int leader) {
        leaders.put(nextGroup, leader);
        join(leader, nextGroup++);
    }

    private void join(int row, int group) {
        groupOf[row] = group;
        missed[row] = 0;
        changes++;
    }

    private void merge(int from, int to) {
        leaders.remove(from);
        for (int row = 0; row < used; row++) {
            if (!isFree(row) && groupOf[row] == from) {
                join(row, to);
            }
        }
    }

    /** A group of one is none. */
    private void leaveGroup(int row) {
        int group = groupOf[row];
        if (group == NONE) {
            return;
        }
        groupOf[row] = NONE;
        changes++;
        int first = NONE;
        int left = 0;
        for (int other = 0; other < used; other++) {
            if (!isFree(other) && groupOf[other] == group) {
                first = first == NONE ? other : first;
                left++;
            }
        }
        if (left == 1) {
            groupOf[first] = NONE;
            leaders.remove(group);
        } else if (left > 1 && leaders.get(group) == row) {
            leaders.put(group, first);
        }
    }

    private boolean isFree(int row) {
        return ids[row] == 0;
    }

    private void judgeMembers(int now) {
        Map<Integer, int[]> verdicts = new HashMap<>();
        Map<Integer, Integer> strangers = new HashMap<>();
        for (int row = 0; row < used; row++) {
            if (isFree(row) || groupOf[row] == NONE || leaders.get(groupOf[row]) == row) {
                continue;
            }
            int leader = leaders.get(groupOf[row]);
            compare(row, leader, now);
            if (Math.max(ofOne, ofOther) < LEAST && speaks(leader, now)) {
                // Silence says nothing.
                continue;
            }
            boolean stays = 3 * coincide >= Math.max(ofOne, ofOther) && speaks(leader, now);
            missed[row] = (byte) (stays ? 0 : missed[row] + 1);
            verdicts.computeIfAbsent(groupOf[row], fresh -> new int[2])[stays ? 0 : 1]++;
            if (!stays && speaks(row, now)) {
                strangers.putIfAbsent(groupOf[row], row);
            }
        }
        for (int row = 0; row < used; row++) {
            if (!isFree(row) && groupOf[row] != NONE && missed[row] >= MISSES) {
                leaveGroup(row);
            }
        }
        verdicts.forEach((group, counted) -> {
            Integer stranger = strangers.get(group);
            if (counted[1] > counted[0] && stranger != null && groupOf[stranger] == group) {
                leaders.put(group, stranger);
            }
        });
    }

    /** Whether enough is known of a publisher, and it is not busy. */
    private boolean speaks(int row, int now) {
        int first = row * KEPT + firstSince(row, now - oldestSlots);
        int count = firstAfter(row, now) + row * KEPT - first;
        return count >= LEAST && (long) count * BUSY <= now - bursts[first] + 1;
    }

    /** The place, within the row, of the first burst that is not before {@code slot}. */
    private int firstSince(int row, int slot) {
        int at = 0;
        while (at < counts[row] && bursts[row * KEPT + at] - slot < 0) {
            at++;
        }
        return at;
    }

    private int firstAfter(int row, int slot) {
        int end = counts[row];
        while (end > 0 && bursts[row * KEPT + end - 1] - slot > 0) {
            end--;
        }
        return end;
    }

    private void compare(int one, int other, int now) {
        ofOne = 0;
        ofOther = 0;
        coincide = 0;
        span = 0;
        if (counts[one] == 0 || counts[other] == 0) {
            return;
        }
        int from = later(later(bursts[one * KEPT], bursts[other * KEPT]), now - oldestSlots);
        span = now - from + 1;
        // The first burst of the one may have met a burst of the other just before.
        int i = firstSince(one, from - APART);
        int j = firstSince(other, from - APART);
        int endOne = firstAfter(one, now);
        int endOther = firstAfter(other, now);
        ofOne = Math.max(0, endOne - i);
        ofOther = Math.max(0, endOther - j);
        while (i < endOne && j < endOther) {
            int ahead = bursts[one * KEPT + i] - bursts[other * KEPT + j];
            if (Math.abs(ahead) <= APART) {
                coincide++;
            }
            i += ahead <= APART ? 1 : 0;
            j += ahead >= -APART ? 1 : 0;
        }
    }

    private static int later(int one, int other) {
        return one - other > 0 ? one : other;
    }

    /** Whether what was compared makes a group: see the class's text. */
    private boolean joins() {
        return coincide >= LEAST
                && 2 * coincide >= Math.max(ofOne, ofOther)
                && evidence(ofOne, coincide, (2 * APART + 1.0) * ofOther / span)
                        >= Math.log(0.5 * size() * size() / MISTAKES);
    }

    /** n·D(c/n ‖ q), or 0 if c is what chance gives. */
    static double evidence(int n, int c, double q) {
        double part = (double) c / n;
        if (part <= q) {
            return 0;
        }
        double others = c == n ? 0 : (1 - part) * Math.log((1 - part) / (1 - q));
        return n * (part * Math.log(part / q) + others);
    }

    /** Leaders, and those that may become one, by the bands of their min-hashes; for one round. */
    private final class LeaderIndex {
        private final int now;
        private final int[] heads;
        /** One entry a band and row that was added: where the next is, whose, and the band's hash. */
        private final int[] next;

        private final int[] owners;
        private final int[] keys;
        private int entries;
        private final int[] asked = new int[used];
        private int questions;
        /** Whose hashes are in {@code bands}. */
        private int hashed = NONE;

        private final int[] bands = new int[BANDS];
        private final int[] least = new int[BINS];
        private final int[] filled = new int[BINS];

        LeaderIndex(int now) {
            this.now = now;
            int added = leaders.size();
            for (int row = 0; row < used; row++) {
                added += !isFree(row) && groupOf[row] == NONE ? 1 : 0;
            }
            next = new int[added * BANDS];
            owners = new int[added * BANDS];
            keys = new int[added * BANDS];
            heads = new int[Math.max(64, Integer.highestOneBit(added * BANDS))];
        }

        void add(int row) {
            hash(row);
            for (int band = 0; band < BANDS; band++) {
                int head = bands[band] & heads.length - 1;
                next[entries] = heads[head];
                owners[entries] = row;
                keys[entries] = bands[band];
                heads[head] = ++entries;
            }
        }

        /** Whom the publisher coincides with most, and enough for a group; or {@link #NONE}. */
        int alike(int row) {
            if (counts[row] == 0) {
                return NONE;
            }
            hash(row);
            questions++;
            int best = NONE;
            double most = 0;
            int compared = 0;
            for (int band = 0; band < BANDS; band++) {
                for (int at = heads[bands[band] & heads.length - 1]; at != 0; at = next[at - 1]) {
                    int owner = owners[at - 1];
                    if (keys[at - 1] != bands[band] || asked[owner] == questions || compared == MOST_COMPARED) {
                        continue;
                    }
                    asked[owner] = questions;
                    compared++;
                    compare(row, owner, now);
                    double part = (double) coincide / Math.max(1, Math.max(ofOne, ofOther));
                    if (part > most && joins()) {
                        best = owner;
                        most = part;
                    }
                }
            }
            return best;
        }

        private void hash(int row) {
            if (row == hashed) {
                return;
            }
            hashed = row;
            Arrays.fill(least, Integer.MAX_VALUE);
            int end = firstAfter(row, now);
            for (int i = firstSince(row, now - oldestSlots); i < end; i++) {
                for (int near = -APART; near <= APART; near++) {
                    long mixed = mix(bursts[row * KEPT + i] + near ^ seed);
                    int bin = (int) ((mixed >>> 32) * BINS >>> 32);
                    least[bin] = Math.min(least[bin], (int) mixed & Integer.MAX_VALUE - 1);
                }
            }
            fillEmptyBins();
            for (int band = 0; band < BANDS; band++) {
                long key = band;
                for (int i = 0; i < BAND; i++) {
                    key = mix(key * 31 + least[band * BAND + i]);
                }
                bands[band] = (int) key;
            }
        }

        /**
         * An empty bin borrows from the next one that is not, changed by the distance, so that J is estimated still.
         */
        private void fillEmptyBins() {
            System.arraycopy(least, 0, filled, 0, BINS);
            for (int bin = 0; bin < BINS; bin++) {
                for (int far = 1; far < BINS && filled[bin] == Integer.MAX_VALUE; far++) {
                    int from = least[(bin + far) % BINS];
                    filled[bin] = from == Integer.MAX_VALUE ? from : from + far * 0x9E3779B9;
                }
            }
            System.arraycopy(filled, 0, least, 0, BINS);
        }
    }

    private static long mix(long value) {
        long mixed = value + 0x9E3779B97F4A7C15L;
        mixed = (mixed ^ mixed >>> 30) * 0xBF58476D1CE4E5B9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94D049BB133111EBL;
        return mixed ^ mixed >>> 31;
    }
}

package io.weir.limiter.simulation.supply;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.gate.algorithm.Gate.Verdict;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.Supply;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.Transfer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * The invariants C1 to C8 over what happened, with arithmetic of its own: it adds and subtracts four numbers a topic
 * and holder instead of asking a {@code Ledger}. C2, C3, C5 and C7 are checked at every commit and every change at a
 * gate, C4 at every admission, C1 over all admissions in the order of their gate time, C6 and C8 at the end.
 */
final class SupplyChecker {
    /** An invariant that did not hold; {@code what} names both values. */
    record Violation(String invariant, long atNs, String what) {
        @Override
        public String toString() {
            return invariant + " at " + atNs / 1_000_000 + " ms: " + what;
        }
    }

    private record Change(long atNs, long rate, long burst, long level) {}

    private record Ask(Holder asker, TopicName topic, long id) {}

    private record Part(Holder victim, Account account) {}

    private static final int MOST_VIOLATIONS = 20;

    /** Leased ρ and β, kept ρ and β. */
    private static final int NUMBERS = 4;

    private final LongSupplier clock;
    private final Predicate<String> watched;
    private final List<Violation> violations = new ArrayList<>();
    private final Map<Holder, Map<TopicName, long[]>> held = new LinkedHashMap<>();
    /** What each holder's own journal says: what was inherited from it stays in it. */
    private final Map<Holder, Map<TopicName, long[]>> stated = new LinkedHashMap<>();

    private final Map<Transfer.Id, Transfer> inFlight = new LinkedHashMap<>();
    private final Set<Transfer.Id> ended = new HashSet<>();
    private final Set<Holder> closed = new HashSet<>();
    private final Set<Part> inherited = new HashSet<>();
    private final Map<TopicName, Long> mintedVersion = new HashMap<>();
    private final Map<TopicName, long[]> existing = new LinkedHashMap<>();
    private final Map<TopicName, List<LimitRow>> limits = new HashMap<>();
    private final Map<SupplyEvent, Long> invokedNs = new HashMap<>();
    private final Map<TopicName, List<Change>> changes = new LinkedHashMap<>();
    private final Map<TopicName, long[]> stamps = new LinkedHashMap<>();
    private final Map<TopicName, Integer> admissions = new HashMap<>();
    private final Map<Holder, Long> leaseEndLocalNs = new HashMap<>();
    private final Map<Holder, Map<TopicName, MovingBound>> local = new HashMap<>();
    private final Map<Ask, Long> asked = new HashMap<>();
    private long commits;

    /** @param watched whether to look at this invariant at all */
    SupplyChecker(LongSupplier clock, Predicate<String> watched) {
        this.clock = clock;
        this.watched = watched;
    }

    List<Violation> violations() {
        return violations;
    }

    long commits() {
        return commits;
    }

    long admitted() {
        return admissions.values().stream().mapToLong(Integer::longValue).sum();
    }

    void violated(String invariant, String what) {
        if (violations.size() < MOST_VIOLATIONS && watched.test(invariant)) {
            violations.add(new Violation(invariant, clock.getAsLong(), what));
        }
    }

    /** The row's versions as the store has them: the same list that it changes. */
    void limit(LimitRow row) {
        limits.computeIfAbsent(row.topic(), t -> new ArrayList<>()).add(row);
    }

    /** A mint counts from its invocation. */
    void invoked(SupplyEvent event) {
        if (event instanceof SupplyEvent.Minted) {
            invokedNs.putIfAbsent(event, clock.getAsLong());
        }
    }

    void committed(Holder holder, SupplyEvent event) {
        commits++;
        if (closed.contains(holder)) {
            violated("C7", event + " after Fenced in the journal of " + holder);
        }
        if (event instanceof SupplyEvent.Minted e) {
            onMinted(holder, e);
        } else if (event instanceof SupplyEvent.Debited e) {
            e.transfer().holdings().forEach((topic, holding) -> add(holder, topic, holding, -1));
            inFlight.put(e.transfer().id(), e.transfer());
            e.transfer().holdings().keySet().forEach(this::conserved);
        } else if (event instanceof SupplyEvent.Credited e) {
            end(e.transfer().id(), e.transfer().holdings(), holder, "credited");
        } else if (event instanceof SupplyEvent.Refunded e) {
            Transfer open = inFlight.get(e.transfer());
            end(e.transfer(), open == null ? Map.of() : open.holdings(), holder, "refunded");
        } else if (event instanceof SupplyEvent.Inherited e) {
            onInherited(holder, e);
        } else if (event instanceof SupplyEvent.Burned e) {
            add(holder, e.topic(), e.burned(), -1);
            exist(e.topic(), e.burned().share(), -1);
            Share share = e.burned().share();
            change(e.topic(), new Change(clock.getAsLong(), -share.rateMicros(), -share.burstMicros(), 0));
            conserved(e.topic());
        } else if (event instanceof SupplyEvent.Refloored e) {
            for (int i = 0; i < NUMBERS; i++) {
                held(holder, e.topic())[i] = number(e.split(), i);
                numbers(stated, holder, e.topic())[i] = number(e.split(), i);
            }
            conserved(e.topic());
        } else if (event instanceof SupplyEvent.Fenced) {
            closed.add(holder);
        }
    }

    private void onMinted(Holder holder, SupplyEvent.Minted e) {
        Long before = mintedVersion.put(e.topic(), e.version());
        if (before != null && before >= e.version()) {
            violated("C3", "version " + e.version() + " of " + e.topic() + " is minted after version " + before);
        }
        add(holder, e.topic(), e.minted(), 1);
        Share share = e.minted().share();
        exist(e.topic(), share, 1);
        long level = e.minted().leased().levelMicros() + e.minted().kept().levelMicros();
        long atNs = invokedNs.getOrDefault(e, clock.getAsLong());
        change(e.topic(), new Change(atNs, share.rateMicros(), share.burstMicros(), first(e) ? level : 0));
        long[] all = existing.get(e.topic());
        long rate = 0;
        long burst = 0;
        for (LimitRow row : limits.get(e.topic())) {
            if (row.version() == e.version() || row.version() == e.version() - 1) {
                rate = Math.max(rate, row.limit().rateMicros());
                burst = Math.max(burst, row.limit().burstMicros());
            }
        }
        if (all[0] > rate || all[1] > burst) {
            violated(
                    "C1",
                    "of " + e.topic() + " exist " + Arrays.toString(all) + " after minting version " + e.version()
                            + ", allowed are [" + rate + ", " + burst + "]");
        }
        conserved(e.topic());
    }

    /** Of a name that the store knew nothing of. */
    private boolean first(SupplyEvent.Minted minted) {
        return limits.get(minted.topic()).stream().anyMatch(row -> row.version() == minted.version() && row.first());
    }

    private void onInherited(Holder holder, SupplyEvent.Inherited e) {
        if (!closed.contains(e.victim())) {
            violated("C7", holder + " inherits from " + e.victim() + ", whose journal is open");
        }
        if (!inherited.add(new Part(e.victim(), e.account()))) {
            violated("C3", e.account() + " of " + e.victim() + " is inherited again, by " + holder);
        }
        e.shares().forEach((topic, supply) -> {
            add(holder, topic, Holding.of(e.account(), supply), 1);
            add(held(e.victim(), topic), e.victim(), topic, Holding.of(e.account(), supply), -1);
            conserved(topic);
        });
        int from = e.account() == Account.LEASED ? 0 : 2;
        held.getOrDefault(e.victim(), Map.of()).forEach((topic, left) -> {
            if (left[from] != 0 || left[from + 1] != 0) {
                violated("C2", holder + " leaves " + Arrays.toString(left) + " of " + topic + " with " + e.victim());
            }
        });
    }

    private void end(Transfer.Id id, Map<TopicName, Holding> holdings, Holder holder, String how) {
        Transfer open = inFlight.remove(id);
        if (!ended.add(id)) {
            violated("C3", id + " is " + how + " after it had ended");
        } else if (open == null) {
            violated("C7", id + " is " + how + " before it was debited");
        } else if (!open.holdings().equals(holdings)) {
            violated("C2", id + " debited " + open.holdings() + " but " + how + " " + holdings);
        }
        holdings.forEach((topic, holding) -> add(holder, topic, holding, 1));
        holdings.keySet().forEach(this::conserved);
    }

    private void add(Holder holder, TopicName topic, Holding holding, int sign) {
        add(held(holder, topic), holder, topic, holding, sign);
        add(numbers(stated, holder, topic), holder, topic, holding, sign);
    }

    private void add(long[] numbers, Holder holder, TopicName topic, Holding holding, int sign) {
        for (int i = 0; i < NUMBERS; i++) {
            numbers[i] += sign * number(holding, i);
            if (numbers[i] < 0) {
                violated("C2", holder + " holds " + Arrays.toString(numbers) + " of " + topic);
            }
        }
    }

    private long[] held(Holder holder, TopicName topic) {
        return numbers(held, holder, topic);
    }

    private static long[] numbers(Map<Holder, Map<TopicName, long[]>> all, Holder holder, TopicName topic) {
        return all.computeIfAbsent(holder, h -> new LinkedHashMap<>()).computeIfAbsent(topic, t -> new long[NUMBERS]);
    }

    private static long number(Holding holding, int i) {
        Supply supply = i < 2 ? holding.leased() : holding.kept();
        return i % 2 == 0 ? supply.rateMicros() : supply.burstMicros();
    }

    private void exist(TopicName topic, Share share, int sign) {
        long[] all = existing.computeIfAbsent(topic, t -> new long[2]);
        all[0] += sign * share.rateMicros();
        all[1] += sign * share.burstMicros();
    }

    /** C2: what exists is what is held, by the living and the dead, and what is on its way. */
    private void conserved(TopicName topic) {
        long rate = 0;
        long burst = 0;
        for (Map<TopicName, long[]> topics : held.values()) {
            long[] numbers = topics.get(topic);
            if (numbers != null) {
                rate += numbers[0] + numbers[2];
                burst += numbers[1] + numbers[3];
            }
        }
        for (Transfer transfer : inFlight.values()) {
            Holding holding = transfer.holdings().getOrDefault(topic, Holding.NONE);
            rate += holding.share().rateMicros();
            burst += holding.share().burstMicros();
        }
        long[] all = existing.getOrDefault(topic, new long[2]);
        if (all[0] != rate || all[1] != burst) {
            violated(
                    "C2",
                    "of " + topic + " exist " + Arrays.toString(all) + ", held and under way are [" + rate + ", "
                            + burst + "]");
        }
    }

    private void change(TopicName topic, Change change) {
        changes.computeIfAbsent(topic, t -> new ArrayList<>()).add(change);
    }

    /** C5: a gate holds at most what its journal says, and what entered and left it keeps the bound by itself. */
    void gate(Holder holder, TopicName topic, Supply delta, int sign, Holding now) {
        MovingBound bound = local(holder, topic);
        bound.change(
                sign * delta.rateMicros(), sign * delta.burstMicros(), sign * delta.levelMicros(), clock.getAsLong());
        backed(holder, topic, now);
    }

    void backed(Holder holder, TopicName topic, Holding gate) {
        long[] numbers = numbers(stated, holder, topic);
        for (int i = 0; i < NUMBERS; i++) {
            if (number(gate, i) > numbers[i]) {
                violated(
                        "C5",
                        "the gate of " + holder + " uses " + gate + " of " + topic + ", stored are "
                                + Arrays.toString(numbers));
                return;
            }
        }
    }

    void asked(SimulatedGates.Borrowed request, TopicName topic) {
        asked.put(
                new Ask(request.asker(), topic, request.loan().id()),
                request.loan().micros());
    }

    /** C4 for the other way out of a bucket. */
    void lent(Holder holder, TopicName topic, long micros, long localNs) {
        local(holder, topic).change(0, 0, -micros, clock.getAsLong());
        withinLease(holder, "lends", localNs);
    }

    /**
     * Σλ + acceptable in flight ≤ Σβ, at each asker: what it may still accept has room, and counts once, for its own
     * life.
     */
    void borrowed(Holder holder, TopicName topic, SimulatedGates.Borrowed reply, long added, Supply before) {
        local(holder, topic).change(0, 0, added, clock.getAsLong());
        if (added == 0) {
            return;
        }
        Long room = asked.remove(new Ask(holder, topic, reply.loan().id()));
        if (!reply.asker().equals(holder)) {
            violated("C5", holder + " borrows " + added + " of " + topic + " that were lent to " + reply.asker());
        } else if (room == null) {
            violated("C5", holder + " borrows " + added + " of " + topic + " again, by " + reply);
        } else if (before.levelMicros() + room > before.burstMicros()) {
            violated("C5", holder + " asked for " + room + " of " + topic + " and has no room kept: " + before);
        }
    }

    private MovingBound local(Holder holder, TopicName topic) {
        return local.computeIfAbsent(holder, h -> new HashMap<>()).computeIfAbsent(topic, t -> new MovingBound());
    }

    void renewed(Holder holder, long endLocalNs) {
        leaseEndLocalNs.merge(holder, endLocalNs, (one, other) -> one - other > 0 ? one : other);
    }

    void admitted(Holder holder, TopicName topic, Verdict verdict, long stampNs, long confirmedLocalNs) {
        int count = admissions.merge(topic, 1, Integer::sum);
        long[] all = stamps.computeIfAbsent(topic, t -> new long[256]);
        if (count > all.length) {
            all = Arrays.copyOf(all, 2 * all.length);
            stamps.put(topic, all);
        }
        all[count - 1] = stampNs;
        long excess = local(holder, topic).admitted(Limit.MICROS, stampNs);
        if (excess > 0) {
            violated("C5", holder + " alone admits " + excess + " micro-tokens of " + topic + " too much");
        }
        Account account = verdict == Verdict.LEASED ? Account.LEASED : Account.KEPT;
        if (inherited.contains(new Part(holder, account))) {
            violated("C4", holder + " admits from " + account + ", which is inherited");
        }
        if (verdict == Verdict.LEASED) {
            withinLease(holder, "admits", confirmedLocalNs);
        }
    }

    private void withinLease(Holder holder, String what, long localNs) {
        long end = leaseEndLocalNs.get(holder);
        if (localNs - end >= 0) {
            violated("C4", holder + " " + what + " at " + localNs + " on a lease until " + end);
        }
    }

    void row(LeaseRow before, LeaseRow after) {
        if (before.state().compareTo(after.state()) > 0) {
            violated("C7", "row goes back from " + before + " to " + after);
        }
    }

    /** C1: changes before admissions of the same moment if they add, after them if they take away. */
    void hardBound() {
        stamps.forEach((topic, all) -> {
            int count = admissions.get(topic);
            long[] sorted = Arrays.copyOf(all, count);
            Arrays.sort(sorted);
            List<Change> steps = new ArrayList<>(changes.getOrDefault(topic, List.of()));
            steps.sort(Comparator.comparingLong(Change::atNs));
            MovingBound bound = new MovingBound();
            int next = 0;
            for (int i = 0; i < count; i++) {
                while (next < steps.size()
                        && (steps.get(next).atNs < sorted[i]
                                || steps.get(next).atNs == sorted[i] && steps.get(next).burst >= 0)) {
                    Change change = steps.get(next++);
                    bound.change(change.rate, change.burst, change.level, change.atNs);
                }
                long excess = bound.admitted(Limit.MICROS, sorted[i]);
                if (excess > 0) {
                    violated(
                            "C1",
                            "admission " + i + " of " + topic + " at " + sorted[i] / 1_000_000 + " ms is "
                                    + excess + " micro-tokens above the limit [" + bound.rateMicros() + ", "
                                    + bound.burstMicros() + "]");
                    return;
                }
            }
        });
    }

    /** C6: only the destination's journal tells whether a transfer arrived. */
    void forgotten(Holder holder) {
        for (Transfer transfer : inFlight.values()) {
            if (transfer.id().to().equals(holder)) {
                violated("C6", holder + " is forgotten, and " + transfer.id() + " is open");
            }
        }
    }

    /** C6 a minute of a broker's time after everything healed: nobody is left uninherited. */
    void settled(List<LeaseRow> rows) {
        for (LeaseRow row : rows) {
            if (row.unfinished()) {
                violated("C6", "not done a minute after all faults: " + row);
            }
        }
    }

    /** C6, after everything healed. */
    void nothingLost(List<LeaseRow> rows, Map<Holder, Map<TopicName, Holding>> gates, List<LimitRow> latest) {
        for (LeaseRow row : rows) {
            if (row.unfinished()) {
                violated("C6", "not done: " + row);
            }
            if (row.state() == LeaseRow.State.LIVE && !gates.containsKey(row.holder())) {
                violated("C6", "nobody fenced " + row);
            }
        }
        for (Transfer transfer : inFlight.values()) {
            violated("C6", "still open: " + transfer);
        }
        for (LimitRow row : latest) {
            long rate = 0;
            long burst = 0;
            for (Map<TopicName, Holding> gate : gates.values()) {
                Share share = gate.getOrDefault(row.topic(), Holding.NONE).share();
                rate += share.rateMicros();
                burst += share.burstMicros();
            }
            Share stranded = stranded(rows, row.topic());
            long[] all = existing.getOrDefault(row.topic(), new long[2]);
            long owedRate = all[0] - row.limit().rateMicros();
            long owedBurst = all[1] - row.limit().burstMicros();
            // A lowering ends only when what is stranded does not belong to it.
            boolean waits =
                    (owedRate > 0 || owedBurst > 0) && (owedRate == 0 || rate == 0) && (owedBurst == 0 || burst == 0);
            if (!row.done() && !waits) {
                violated("C6", "not done: " + row);
            }
            if (rate + stranded.rateMicros() != all[0]
                    || burst + stranded.burstMicros() != all[1]
                    || row.done() && (owedRate != 0 || owedBurst != 0)) {
                violated("C6", "of " + row + " the gates hold [" + rate + ", " + burst + "], stranded are " + stranded);
            }
        }
    }

    /** What the kept accounts of those hold whose stop nobody confirmed. */
    Share stranded(List<LeaseRow> rows, TopicName topic) {
        Share all = Share.NONE;
        for (LeaseRow row : rows) {
            if (row.state() == LeaseRow.State.FENCED) {
                long[] numbers = held(row.holder(), topic);
                all = all.plus(new Share(numbers[2], numbers[3]));
            }
        }
        return all;
    }

    /** What exists and is not stranded. */
    Share usable(List<LeaseRow> rows, TopicName topic) {
        long[] all = existing.getOrDefault(topic, new long[2]);
        return new Share(all[0], all[1]).minus(stranded(rows, topic));
    }

    /** C8: how many of a topic were admitted between two moments. */
    long admittedBetween(TopicName topic, long fromNs, long toNs) {
        long[] all = stamps.getOrDefault(topic, new long[0]);
        long count = 0;
        for (int i = 0; i < admissions.getOrDefault(topic, 0); i++) {
            count += all[i] >= fromNs && all[i] < toNs ? 1 : 0;
        }
        return count;
    }
}

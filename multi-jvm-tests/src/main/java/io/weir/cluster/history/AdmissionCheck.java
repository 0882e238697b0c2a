package io.weir.cluster.history;

import io.weir.cluster.history.LimitCourse.Change;
import io.weir.cluster.history.StoredSupply.Entry;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.simulation.supply.MovingBound;
import io.weir.limiter.supply.AdmissionHistory.Admission;
import io.weir.limiter.supply.algorithm.Account;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.Holding;
import io.weir.limiter.supply.algorithm.Supply;
import io.weir.limiter.supply.algorithm.SupplyEvent;
import io.weir.limiter.supply.algorithm.Transfer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Checks what passed the gates of all brokers of one machine, whose stamps are comparable. */
public final class AdmissionCheck {
    private static final long NANOS = 1_000_000_000L;
    /** The store's times are whole milliseconds of a clock that is not the gates'. */
    private static final long CLOCKS_APART_NS = 20_000_000L;

    private final List<Admission> admissions;

    public AdmissionCheck(List<Admission> admissions) {
        this.admissions = admissions.stream()
                .sorted(Comparator.comparingLong(Admission::stampNs))
                .toList();
    }

    public List<Admission> of(TopicName topic) {
        return admissions.stream().filter(each -> each.topic().equals(topic)).toList();
    }

    /** Messages of a topic with stamps in [from, to). */
    public long admittedBetween(TopicName topic, long fromNs, long toNs) {
        return admissions.stream()
                .filter(each -> each.topic().equals(topic) && each.stampNs() >= fromNs && each.stampNs() < toNs)
                .mapToLong(Admission::tokens)
                .sum();
    }

    /** C1 over all brokers; of the first violation it says the smallest window that shows it. */
    public Optional<Violation> hardBound(TopicName topic, LimitCourse course) {
        List<Admission> all = of(topic);
        int broken = firstExcess(all, 0, all.size(), course.changes());
        if (broken < 0) {
            return Optional.empty();
        }
        // A window that begins earlier begins with no fuller a bucket, so it shows whatever a later one shows.
        int from = 0;
        int to = broken;
        while (from < to) {
            int middle = (from + to + 1) >>> 1;
            if (firstExcess(all, middle, broken + 1, course.changes()) >= 0) {
                from = middle;
            } else {
                to = middle - 1;
            }
        }
        long tokens = all.subList(from, broken + 1).stream()
                .mapToLong(Admission::tokens)
                .sum();
        long lengthNs = all.get(broken).stampNs() - all.get(from).stampNs();
        return Optional.of(new Violation(
                "C1",
                String.format(
                        Locale.ROOT,
                        "%s: %d messages within %.3f ms, which the limit does not allow; the window ends with message %d of"
                                + " %d, %.3f s after the first, admitted by %s#%d",
                        topic,
                        tokens,
                        lengthNs / 1e6,
                        broken + 1,
                        all.size(),
                        (all.get(broken).stampNs() - all.get(0).stampNs()) / 1e9,
                        all.get(broken).broker(),
                        all.get(broken).incarnation())));
    }

    /** The first admission in [from, to) that is too much, if the bucket is full before {@code from}; -1 if none. */
    private static int firstExcess(List<Admission> all, int from, int to, List<Change> changes) {
        MovingBound bound = new MovingBound();
        int next = 0;
        if (from > 0) {
            long rate = 0;
            long burst = 0;
            for (; next < changes.size() && comesBefore(changes.get(next), all.get(from)); next++) {
                rate += changes.get(next).rateMicros();
                burst += changes.get(next).burstMicros();
            }
            bound.change(rate, burst, burst, all.get(from).stampNs());
        }
        for (int i = from; i < to; i++) {
            for (; next < changes.size() && comesBefore(changes.get(next), all.get(i)); next++) {
                apply(changes.get(next), bound);
            }
            if (bound.admitted(all.get(i).tokens() * Limit.MICROS, all.get(i).stampNs()) > 0) {
                return i;
            }
        }
        return -1;
    }

    private static void apply(Change change, MovingBound bound) {
        bound.change(change.rateMicros(), change.burstMicros(), change.levelMicros(), change.atNs());
    }

    private static boolean comesBefore(Change change, Admission admission) {
        return change.atNs() < admission.stampNs() || change.atNs() == admission.stampNs() && change.adds();
    }

    /** C4, by the gates' own word: the leased account admits within the lease only. */
    public List<Violation> leases() {
        return admissions.stream()
                .filter(each -> !each.kept() && each.leaseLeftNs() <= 0)
                .limit(10)
                .map(each -> new Violation("C4", "no lease was left at " + each))
                .toList();
    }

    /**
     * C4, against the store: nobody admits from an account that an heir has already.
     *
     * @param nanoTimeAtEpoch what {@code nanoTime} was when the wall clock was 0
     */
    public List<Violation> heirs(StoredSupply stored, long nanoTimeAtEpoch) {
        Map<Holder, Map<Account, Long>> inherited = new HashMap<>();
        for (Entry entry : stored.entries()) {
            if (entry.event() instanceof SupplyEvent.Inherited e) {
                inherited
                        .computeIfAbsent(e.victim(), victim -> new HashMap<>())
                        .put(e.account(), nanoTimeAtEpoch + entry.writtenAtMs() * 1_000_000L + CLOCKS_APART_NS);
            }
        }
        List<Violation> violations = new ArrayList<>();
        for (Admission each : admissions) {
            Long atNs = inherited
                    .getOrDefault(new Holder(each.broker(), each.incarnation()), Map.of())
                    .get(each.kept() ? Account.KEPT : Account.LEASED);
            if (atNs != null && each.stampNs() - atNs > 0 && violations.size() < 10) {
                violations.add(new Violation(
                        "C4",
                        each + " came " + (each.stampNs() - atNs) / 1_000_000 + " ms after its account was inherited"));
            }
        }
        return violations;
    }

    /**
     * C5: every holder keeps the bound of what its own journal says it had. The store's times are rough, so what came counts a
     * little early and what went a little late. For journals that are known from their first event on.
     */
    public List<Violation> everyHolder(StoredSupply stored, long nanoTimeAtEpoch) {
        Map<Holder, Map<TopicName, List<Change>>> changes = new HashMap<>();
        Map<Transfer.Id, Transfer> debited = new HashMap<>();
        for (Entry entry : stored.entries()) {
            long atNs = nanoTimeAtEpoch + entry.writtenAtMs() * 1_000_000L;
            Map<TopicName, List<Change>> own = changes.computeIfAbsent(entry.holder(), holder -> new HashMap<>());
            if (entry.event() instanceof SupplyEvent.Minted e) {
                change(own, Map.of(e.topic(), e.minted()), 1, atNs);
            } else if (entry.event() instanceof SupplyEvent.Credited e) {
                change(own, e.transfer().holdings(), 1, atNs);
            } else if (entry.event() instanceof SupplyEvent.Debited e) {
                debited.put(e.transfer().id(), e.transfer());
                change(own, e.transfer().holdings(), -1, atNs);
            } else if (entry.event() instanceof SupplyEvent.Refunded e) {
                Transfer back = debited.get(e.transfer());
                change(own, back == null ? Map.of() : back.holdings(), 1, atNs);
            } else if (entry.event() instanceof SupplyEvent.Inherited e) {
                e.shares()
                        .forEach((topic, supply) ->
                                change(own, Map.of(topic, Holding.of(e.account(), supply)), 1, atNs));
            } else if (entry.event() instanceof SupplyEvent.Burned e) {
                change(own, Map.of(e.topic(), e.burned()), -1, atNs);
            }
        }
        List<Violation> violations = new ArrayList<>();
        Map<Holder, Map<TopicName, List<Admission>>> parts = new HashMap<>();
        admissions.forEach(
                each -> parts.computeIfAbsent(new Holder(each.broker(), each.incarnation()), holder -> new HashMap<>())
                        .computeIfAbsent(each.topic(), topic -> new ArrayList<>())
                        .add(each));
        parts.forEach((holder, topics) -> topics.forEach((topic, own) -> {
            if (!stored.wholeJournal(holder)) {
                return;
            }
            List<Change> course = changes.getOrDefault(holder, Map.of()).getOrDefault(topic, List.of()).stream()
                    .sorted(Comparator.comparingLong(Change::atNs))
                    .toList();
            int broken = firstExcess(own, 0, own.size(), course);
            if (broken >= 0) {
                violations.add(new Violation(
                        "C5", holder + " alone admitted more than it ever held of " + topic + ": " + own.get(broken)));
            }
        }));
        return violations;
    }

    private static void change(
            Map<TopicName, List<Change>> changes, Map<TopicName, Holding> holdings, int sign, long atNs) {
        holdings.forEach((topic, holding) -> {
            Supply all = holding.leased().plus(holding.kept());
            changes.computeIfAbsent(topic, name -> new ArrayList<>())
                    .add(new Change(
                            atNs - sign * CLOCKS_APART_NS,
                            sign * all.rateMicros(),
                            sign * all.burstMicros(),
                            sign * all.levelMicros()));
        });
    }

    /** C8: under more load than the limit lets through, at least 95% of it was used. */
    public Optional<Violation> used(TopicName topic, Limit limit, long fromNs, long toNs) {
        long admitted = admittedBetween(topic, fromNs, toNs);
        double seconds = (toNs - fromNs) / (double) NANOS;
        return admitted >= 0.95 * limit.ratePerSecond() * seconds
                ? Optional.empty()
                : Optional.of(new Violation(
                        "C8",
                        String.format(
                                Locale.ROOT,
                                "%s: %d messages in %.1f s of a limit of %s/s",
                                topic,
                                admitted,
                                seconds,
                                limit.ratePerSecond())));
    }

    /** What {@code nanoTime} was when the wall clock was 0, as seen now. */
    public static long nanoTimeAtEpoch() {
        return System.nanoTime() - System.currentTimeMillis() * 1_000_000L;
    }
}

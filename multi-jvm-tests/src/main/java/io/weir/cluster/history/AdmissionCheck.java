package io.weir.cluster.history;

import io.weir.cluster.history.LimitCourse.Change;
import io.weir.cluster.history.StoredSupply.Entry;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import io.weir.limiter.supply.gate.AdmissionHistory.Borrowed;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.Supply;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.Transfer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Checks what passed the gates of all brokers of one machine, whose stamps are comparable. */
public final class AdmissionCheck {
    private static final long NANOS = 1_000_000_000L;
    private static final double LEAST_USE = 0.95;

    /** What a record has that does not say how much of the lease was left. */
    public static final long LEASE_UNKNOWN = Long.MAX_VALUE;

    private final Map<TopicName, List<Admission>> topics = new LinkedHashMap<>();
    private final List<Borrowed> borrowed;

    public AdmissionCheck(Collection<Admission> admissions) {
        this(admissions, List.of());
    }

    /** @param borrowed level that brokers lent each other, for what each of them may admit alone */
    public AdmissionCheck(Collection<Admission> admissions, List<Borrowed> borrowed) {
        this.borrowed = borrowed;
        admissions.forEach(each ->
                topics.computeIfAbsent(each.topic(), name -> new ArrayList<>()).add(each));
        topics.values().forEach(all -> all.sort(Comparator.comparingLong(Admission::stampNs)));
    }

    public Set<TopicName> topics() {
        return topics.keySet();
    }

    /** In the order of their stamps. */
    public List<Admission> of(TopicName topic) {
        return topics.getOrDefault(topic, List.of());
    }

    /** Messages of a topic with stamps in [from, to). */
    public long admittedBetween(TopicName topic, long fromNs, long toNs) {
        return of(topic).stream()
                .filter(each -> each.stampNs() >= fromNs && each.stampNs() < toNs)
                .mapToLong(Admission::tokens)
                .sum();
    }

    /** C1 over all brokers; of a violation it says the smallest window that shows it. */
    public Optional<Violation> hardBound(TopicName topic, LimitCourse course) {
        List<Admission> all = of(topic);
        List<Change> changes = course.changes();
        return SmallestExcess.in(all, changes).map(found -> {
            Admission last = all.get(found.to());
            Optional<Share> limit = course.at(last.stampNs());
            String allowed = limit.map(value -> String.format(
                            Locale.ROOT,
                            "more than a limit of %s/s with a burst of %s allows",
                            number(value.rateMicros() / (double) Limit.MICROS),
                            number(value.burstMicros() / (double) Limit.MICROS)))
                    .orElse("before it had any limit");
            return violation("C1", topic.toString(), all, found, allowed);
        });
    }

    private static Violation violation(
            String invariant, String whose, List<Admission> all, SmallestExcess.Found found, String why) {
        Admission first = all.get(found.from());
        Admission last = all.get(found.to());
        String text = String.format(
                Locale.ROOT,
                "%s: %d message%s within %s, %s; from %d to %d, the last admitted by %s#%d, %s",
                whose,
                found.tokens(),
                found.tokens() == 1 ? "" : "s",
                length(last.stampNs() - first.stampNs()),
                why,
                first.stampNs(),
                last.stampNs(),
                last.broker(),
                last.incarnation(),
                found.windows() == 1
                        ? "the only window that shows it"
                        : "the smallest of " + (found.all() ? "" : "the first ") + found.windows() + " windows");
        return new Violation(
                invariant,
                text,
                Optional.of(new Violation.Window(last.topic(), first.stampNs(), last.stampNs(), found.tokens())));
    }

    /** A time in the unit that suits it. */
    static String length(long ns) {
        if (ns < 10_000) {
            return ns + " ns";
        }
        return ns < 1_000_000
                ? String.format(Locale.ROOT, "%.3f µs", ns / 1e3)
                : ns < 10 * NANOS
                        ? String.format(Locale.ROOT, "%.3f ms", ns / 1e6)
                        : String.format(Locale.ROOT, "%.3f s", ns / 1e9);
    }

    private static String number(double value) {
        return value == Math.rint(value) ? Long.toString((long) value) : Double.toString(value);
    }

    /** How many say how much of their lease was left, or need none. */
    public long withLease() {
        return all().filter(each -> each.kept() || each.leaseLeftNs() != LEASE_UNKNOWN)
                .count();
    }

    private Stream<Admission> all() {
        return topics.values().stream().flatMap(List::stream);
    }

    /** C4, by the gates' own word: the leased account admits and lends within the lease only. */
    public List<Violation> leases() {
        return Stream.concat(admittedPastLease(), lentPastLease())
                .limit(Verdict.SHOWN)
                .toList();
    }

    private Stream<Violation> lentPastLease() {
        return borrowed.stream()
                .filter(each -> each.micros() < 0 && each.leaseLeftNs() <= 0)
                .map(each -> new Violation("C4", "no lease was left at " + each, Optional.empty()));
    }

    private Stream<Violation> admittedPastLease() {
        return all().filter(each -> !each.kept() && each.leaseLeftNs() <= 0)
                .map(each -> one("C4", each, "no lease was left at " + each));
    }

    private static Violation one(String invariant, Admission each, String text) {
        return new Violation(
                invariant,
                text,
                Optional.of(new Violation.Window(each.topic(), each.stampNs(), each.stampNs(), each.tokens())));
    }

    /** C4, against the store: nobody admits from an account that an heir has already. */
    public List<Violation> heirs(StoredSupply stored) {
        Map<Holder, Map<Account, Long>> inherited = new HashMap<>();
        for (Entry entry : stored.entries()) {
            if (entry.event() instanceof SupplyEvent.Inherited e) {
                inherited
                        .computeIfAbsent(e.victim(), victim -> new EnumMap<>(Account.class))
                        .put(e.account(), entry.atNs() + entry.slackNs());
            }
        }
        if (inherited.isEmpty()) {
            return List.of();
        }
        List<Violation> violations = new ArrayList<>();
        all().forEach(each -> {
            Long atNs = inherited
                    .getOrDefault(new Holder(each.broker(), each.incarnation()), Map.of())
                    .get(each.kept() ? Account.KEPT : Account.LEASED);
            if (atNs != null && each.stampNs() - atNs > 0 && violations.size() < Verdict.SHOWN) {
                violations.add(one(
                        "C4",
                        each,
                        each + " came " + (each.stampNs() - atNs) / 1_000_000 + " ms after its account was inherited"));
            }
        });
        return violations;
    }

    /**
     * C5: every holder keeps the bound of what its own journal says it had. The store's times are rough, so what came
     * counts a little early and what went a little late. For journals that are known from their first event on.
     */
    public List<Violation> everyHolder(StoredSupply stored) {
        Map<Holder, Map<TopicName, List<Change>>> changes = new HashMap<>();
        Map<Transfer.Id, Transfer> debited = new HashMap<>();
        for (Entry entry : stored.entries()) {
            Map<TopicName, List<Change>> own = changes.computeIfAbsent(entry.holder(), holder -> new HashMap<>());
            if (entry.event() instanceof SupplyEvent.Minted e) {
                change(own, Map.of(e.topic(), e.minted()), 1, entry);
            } else if (entry.event() instanceof SupplyEvent.Credited e) {
                change(own, e.transfer().holdings(), 1, entry);
            } else if (entry.event() instanceof SupplyEvent.Debited e) {
                debited.put(e.transfer().id(), e.transfer());
                change(own, e.transfer().holdings(), -1, entry);
            } else if (entry.event() instanceof SupplyEvent.Refunded e) {
                Transfer back = debited.get(e.transfer());
                change(own, back == null ? Map.of() : back.holdings(), 1, entry);
            } else if (entry.event() instanceof SupplyEvent.Inherited e) {
                e.shares()
                        .forEach((topic, supply) ->
                                change(own, Map.of(topic, Holding.of(e.account(), supply)), 1, entry));
            } else if (entry.event() instanceof SupplyEvent.Burned e) {
                change(own, Map.of(e.topic(), e.burned()), -1, entry);
            }
        }
        for (Borrowed each : borrowed) {
            changes.computeIfAbsent(new Holder(each.broker(), each.incarnation()), holder -> new HashMap<>())
                    .computeIfAbsent(each.topic(), topic -> new ArrayList<>())
                    .add(new Change(each.stampNs(), 0, 0, each.micros()));
        }
        Map<Holder, Map<TopicName, List<Admission>>> parts = new LinkedHashMap<>();
        all().forEach(each -> parts.computeIfAbsent(
                        new Holder(each.broker(), each.incarnation()), holder -> new LinkedHashMap<>())
                .computeIfAbsent(each.topic(), topic -> new ArrayList<>())
                .add(each));
        List<Violation> violations = new ArrayList<>();
        parts.forEach((holder, own) -> own.forEach((topic, admitted) -> {
            if (!stored.wholeJournal(holder)) {
                return;
            }
            List<Change> course = changes.getOrDefault(holder, Map.of()).getOrDefault(topic, List.of());
            SmallestExcess.in(admitted, course)
                    .map(found -> violation(
                            "C5",
                            holder + " alone, of " + topic,
                            admitted,
                            found,
                            "more than the share that it held allows"))
                    .ifPresent(violations::add);
        }));
        return violations;
    }

    private static void change(
            Map<TopicName, List<Change>> changes, Map<TopicName, Holding> holdings, int sign, Entry entry) {
        holdings.forEach((topic, holding) -> {
            Supply all = holding.leased().plus(holding.kept());
            changes.computeIfAbsent(topic, name -> new ArrayList<>())
                    .add(new Change(
                            entry.atNs() - sign * entry.slackNs(),
                            sign * all.rateMicros(),
                            sign * all.burstMicros(),
                            sign * all.levelMicros()));
        });
    }

    /** Which part of the limit was used. */
    double usedPart(TopicName topic, Limit limit, long fromNs, long toNs) {
        return admittedBetween(topic, fromNs, toNs) / (limit.ratePerSecond() * (toNs - fromNs) / NANOS);
    }

    /** C8: under more load than the limit lets through, at least 95% of it was used. */
    public Optional<Violation> used(TopicName topic, Limit limit, long fromNs, long toNs) {
        long admitted = admittedBetween(topic, fromNs, toNs);
        double seconds = (toNs - fromNs) / (double) NANOS;
        return usedPart(topic, limit, fromNs, toNs) >= LEAST_USE
                ? Optional.empty()
                : Optional.of(new Violation(
                        "C8",
                        String.format(
                                Locale.ROOT,
                                "%s: %d messages in %.1f s of a limit of %s/s",
                                topic,
                                admitted,
                                seconds,
                                number(limit.ratePerSecond())),
                        Optional.of(new Violation.Window(topic, fromNs, toNs, admitted))));
    }
}

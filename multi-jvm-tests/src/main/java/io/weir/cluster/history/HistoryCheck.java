package io.weir.cluster.history;

import io.weir.cluster.history.History.Nemesis;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Says of each invariant whether a history keeps it. What the history has no records for is not checked, and the
 * verdict says what is missing: silence must not look like a promise kept.
 */
public final class HistoryCheck {
    private static final long SECOND_NS = 1_000_000_000L;
    /** C6: all must be in place again so long after the last fault. */
    private static final long SETTLED_WITHIN_NS = 60 * SECOND_NS;
    /** C8's time. */
    private static final long USED_OVER_NS = 30 * SECOND_NS;
    /** By how much more than the limit must be offered to call it saturated. */
    private static final double SATURATED = 1.05;

    private final History history;
    private final AdmissionCheck admissions;
    private final StoredSupply stored;
    private final List<Violation> audited;
    private final List<Verdict> verdicts;

    private HistoryCheck(History history) {
        this.history = history;
        admissions = new AdmissionCheck(history.admissions(), history.borrowed());
        stored = history.stored();
        audited = SupplyAudit.of(stored);
        verdicts = List.of(
                hardBound(),
                journals(Invariant.C2),
                journals(Invariant.C3),
                lease(),
                eachForItself(),
                nothingStays(),
                journals(Invariant.C7),
                used(),
                MessageCheck.of(history));
    }

    public static HistoryCheck of(History history) {
        return new HistoryCheck(history);
    }

    /** One for each invariant, in their order. */
    public List<Verdict> verdicts() {
        return verdicts;
    }

    public Verdict verdict(Invariant invariant) {
        return verdicts.get(invariant.ordinal());
    }

    /** Whether something was checked and all of that held. */
    public boolean held() {
        return verdicts.stream().noneMatch(Verdict::violated)
                && verdicts.stream().anyMatch(Verdict::held);
    }

    public AdmissionCheck admissions() {
        return admissions;
    }

    private Verdict hardBound() {
        if (history.admissions().isEmpty()) {
            return Verdict.notChecked(Invariant.C1, "there are no admit records");
        }
        Set<String> unlimited = new TreeSet<>();
        List<Violation> violations = new ArrayList<>();
        int topics = 0;
        long looked = 0;
        for (TopicName topic : admissions.topics()) {
            LimitCourse course = history.limits().get(topic);
            if (history.shadows().contains(topic)) {
                continue;
            }
            if (course == null) {
                unlimited.add(topic.value());
                continue;
            }
            topics++;
            looked += admissions.of(topic).size();
            admissions.hardBound(topic, course).ifPresent(violations::add);
        }
        if (topics == 0) {
            return Verdict.notChecked(
                    Invariant.C1,
                    unlimited.isEmpty()
                            ? "every topic's limit is a shadow"
                            : "there are no limit records of " + String.join(", ", unlimited));
        }
        return Verdict.of(
                Invariant.C1,
                violations,
                looked + " admissions of " + counted(topics, "topic")
                        + (unlimited.isEmpty() ? "" : "; no limit is known of " + String.join(", ", unlimited)));
    }

    private static String counted(long count, String what) {
        return count + " " + what + (count == 1 ? "" : "s");
    }

    private List<Violation> audited(Invariant invariant) {
        return audited.stream()
                .filter(found -> found.invariant().equals(invariant.name()))
                .toList();
    }

    private Verdict journals(Invariant invariant) {
        if (stored.entries().isEmpty()) {
            return Verdict.notChecked(invariant, "there are no supply records");
        }
        return Verdict.of(
                invariant, audited(invariant), counted(stored.entries().size(), "event") + " of the journals");
    }

    private Verdict lease() {
        long known = admissions.withLease();
        boolean heirs = !stored.entries().isEmpty();
        if (history.admissions().isEmpty()) {
            return Verdict.notChecked(Invariant.C4, "there are no admit records");
        }
        if (known == 0 && !heirs) {
            return Verdict.notChecked(
                    Invariant.C4, "no admit record says what was left of its lease, and there are no supply records");
        }
        List<Violation> violations = new ArrayList<>(admissions.leases());
        violations.addAll(admissions.heirs(stored));
        return Verdict.of(
                Invariant.C4,
                violations,
                counted(known, "admission") + " with their lease"
                        + (heirs ? ", and all against the inheritances" : "; inheritances are not known"));
    }

    private Verdict eachForItself() {
        if (history.admissions().isEmpty() || stored.entries().isEmpty()) {
            return Verdict.notChecked(
                    Invariant.C5, "there are no " + (stored.entries().isEmpty() ? "supply" : "admit") + " records");
        }
        List<Violation> violations = new ArrayList<>(audited(Invariant.C5));
        // What was admitted after the store was read may rest on events that nobody has seen.
        long readNs = history.rowsReadNs().orElse(Long.MAX_VALUE);
        List<Admission> known = history.admissions().stream()
                .filter(each -> each.stampNs() < readNs)
                .toList();
        violations.addAll(new AdmissionCheck(known, history.borrowed()).everyHolder(stored));
        return Verdict.of(
                Invariant.C5,
                violations,
                known.size() + " admissions against " + counted(stored.entries().size(), "event")
                        + (history.borrowed().isEmpty()
                                ? ""
                                : " and " + counted(history.borrowed().size(), "move") + " of borrowed tokens"));
    }

    /** When everything was over that keeps supply from its place; empty if something never was. */
    private Optional<Long> quietSinceNs() {
        long healedNs = history.phase("healed").orElse(Long.MIN_VALUE);
        long quiet = Math.max(healedNs, history.limitsChangedNs().orElse(history.firstNs()));
        Map<String, Nemesis> open = new HashMap<>();
        for (Nemesis fault : history.faults()) {
            quiet = Math.max(quiet, fault.atNs());
            String which = fault.fault() + fault.hosts();
            if (fault.start()) {
                open.put(which, fault);
            } else if (open.remove(which) == null) {
                open.values().removeIf(other -> other.fault().equals(fault.fault()));
            }
        }
        // Who says that all is healed need not say it of each fault.
        open.values().removeIf(fault -> fault.atNs() <= healedNs);
        return open.isEmpty() ? Optional.of(quiet) : Optional.empty();
    }

    private Verdict nothingStays() {
        if (stored.entries().isEmpty()
                || stored.leases().isEmpty()
                || stored.limits().isEmpty()) {
            String missing =
                    stored.entries().isEmpty() ? "supply" : stored.leases().isEmpty() ? "lease" : "limit-row";
            return Verdict.notChecked(Invariant.C6, "there are no " + missing + " records");
        }
        List<Violation> left = SupplyAudit.unsettled(stored);
        Optional<Long> quietNs = quietSinceNs();
        long readNs = history.rowsReadNs().orElseThrow();
        if (left.isEmpty()) {
            return Verdict.of(Invariant.C6, left, counted(stored.leases().size(), "lease") + " in the store");
        }
        if (quietNs.isEmpty()) {
            return Verdict.notChecked(
                    Invariant.C6, "a fault has not ended: " + left.get(0).text());
        }
        if (readNs - quietNs.get() < SETTLED_WITHIN_NS) {
            return Verdict.notChecked(
                    Invariant.C6,
                    "the store was read " + (readNs - quietNs.get()) / SECOND_NS
                            + " s after the last fault or change, and 60 s are allowed: "
                            + left.get(0).text());
        }
        return Verdict.of(
                Invariant.C6,
                left,
                "the store as it was " + (readNs - quietNs.get()) / SECOND_NS + " s after the last fault or change");
    }

    private Verdict used() {
        if (history.admissions().isEmpty() || history.limits().isEmpty()) {
            return Verdict.notChecked(
                    Invariant.C8, "there are no " + (history.limits().isEmpty() ? "limit" : "admit") + " records");
        }
        Optional<Long> quietNs = quietSinceNs();
        if (quietNs.isEmpty()) {
            return Verdict.notChecked(Invariant.C8, "a fault has not ended");
        }
        long toNs = history.phase("end").orElseGet(this::lastAdmissionNs);
        long fromNs = toNs - USED_OVER_NS;
        if (fromNs < quietNs.get()) {
            return Verdict.notChecked(
                    Invariant.C8,
                    "the load went on for " + Math.max(0, (toNs - quietNs.get()) / SECOND_NS)
                            + " s after the last fault or change, and 30 s are needed");
        }
        List<Violation> violations = new ArrayList<>();
        List<String> looked = new ArrayList<>();
        history.limits().forEach((topic, course) -> {
            Optional<Limit> limit = course.at(fromNs)
                    .filter(Share::admits)
                    .map(share -> new Limit(Math.max(1, share.rateMicros()), share.burstMicros()));
            if (limit.isPresent() && saturated(topic, limit.get(), fromNs, toNs)) {
                looked.add(String.format(
                        Locale.ROOT,
                        "%s (%.1f%%)",
                        topic,
                        100 * admissions.usedPart(topic, limit.get(), fromNs, toNs)));
                admissions.used(topic, limit.get(), fromNs, toNs).ifPresent(violations::add);
            }
        });
        return looked.isEmpty()
                ? Verdict.notChecked(
                        Invariant.C8, "nothing says that more was offered than the limit lets through ('saturated')")
                : Verdict.of(Invariant.C8, violations, "the last 30 s of " + String.join(", ", looked));
    }

    private long lastAdmissionNs() {
        return history.admissions().stream()
                .mapToLong(each -> each.stampNs())
                .max()
                .orElseThrow();
    }

    /** Somebody says so, or so many publishes were begun in that time, which only clients that do not wait can do. */
    private boolean saturated(TopicName topic, Limit limit, long fromNs, long toNs) {
        if (history.saturated().contains(topic)) {
            return true;
        }
        History.Traffic traffic = history.traffic().get(topic);
        if (traffic == null) {
            return false;
        }
        long begun = traffic.messages().values().stream()
                .filter(each -> each.invokedNs() >= fromNs && each.invokedNs() < toNs)
                .count();
        return begun >= SATURATED * limit.ratePerSecond() * (toNs - fromNs) / SECOND_NS;
    }
}

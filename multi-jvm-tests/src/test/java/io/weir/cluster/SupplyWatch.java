package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.cluster.history.AdmissionCheck;
import io.weir.cluster.history.History;
import io.weir.cluster.history.HistoryCheck;
import io.weir.cluster.history.HistoryWriter;
import io.weir.cluster.history.Invariant;
import io.weir.cluster.history.StoreRecorder;
import io.weir.cluster.history.StoredSupply;
import io.weir.cluster.history.SupplyAudit;
import io.weir.cluster.history.Verdict;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.AdmissionHistory;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.supervisor.node.TopicDescription;
import io.weir.supervisor.node.TopicDescription.BrokerShare;
import io.weir.supervisor.node.TopicRequest;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Keeps the history of a cluster under test, and says whether all of it was allowed. */
final class SupplyWatch implements AutoCloseable {
    private static final Set<Invariant> CHECKED = EnumSet.range(Invariant.C1, Invariant.C7);
    private static final Duration SETTLED_WITHIN = Duration.ofSeconds(30);

    private record Change(long atNs, Limit limit, boolean asked) {}

    private record Reading(long atNs, StoredSupply stored) {}

    private final Path history;
    private final StoreRecorder store;
    private final Map<TopicName, List<Change>> changes = new LinkedHashMap<>();

    SupplyWatch(Path history, String storeUrl) throws SQLException {
        this.history = history;
        store = new StoreRecorder(storeUrl);
    }

    void create(TopicClient at, String topic, double rate, double burst, String adapt, double floor) {
        changed(topic, rate, burst, false);
        at.create(topic, TopicRequest.limit(rate, burst, adapt, floor));
    }

    /** Changes a limit and waits until exactly that exists. */
    void change(TopicClient at, String topic, double rate, double burst, Duration within) {
        changed(topic, rate, burst, true);
        at.changeLimit(topic, TopicRequest.limit(rate, burst, null, null));
        await(
                topic + " has the limit " + rate + ", " + burst,
                within,
                () -> at.describe(topic)
                        .filter(found -> found.rate() == rate && found.done())
                        .isPresent(),
                () -> at.describe(topic));
        changed(topic, rate, burst, false);
    }

    private void changed(String topic, double rate, double burst, boolean asked) {
        changes.computeIfAbsent(new TopicName(topic), name -> new ArrayList<>())
                .add(new Change(System.nanoTime(), Limit.of(rate, burst), asked));
    }

    AdmissionCheck admissions() throws IOException {
        return new AdmissionCheck(AdmissionHistory.read(history));
    }

    StoredSupply stored() throws SQLException {
        return store.now();
    }

    /** Who holds supply in a broker's name at present. */
    Holder holder(String broker) throws SQLException {
        return store.now().leases().stream()
                .filter(row -> row.state() == LeaseRow.State.LIVE
                        && row.holder().broker().value().equals(broker))
                .map(LeaseRow::holder)
                .findFirst()
                .orElseThrow(() -> new AssertionError(broker + " has no live lease"));
    }

    /** The messages of a topic that a broker let pass in one of its lives. */
    List<Admission> admissionsOf(String topic, Holder holder) throws IOException {
        return admissions().of(new TopicName(topic)).stream()
                .filter(each -> each.broker().equals(holder.broker()) && each.incarnation() == holder.incarnation())
                .toList();
    }

    static Optional<BrokerShare> shareOf(TopicDescription topic, String broker) {
        return topic.shares().stream()
                .filter(share -> share.broker().equals(broker))
                .findFirst();
    }

    /** Waits until a broker has so much of a topic's limit, and answers how long it took. */
    static Duration awaitShare(TopicClient at, String topic, String broker, double rate, Duration within) {
        return await(
                broker + " has " + rate + "/s of " + topic,
                within,
                () -> at.describe(topic)
                        .flatMap(found -> shareOf(found, broker))
                        .filter(share -> share.rate() >= rate)
                        .isPresent(),
                () -> at.describe(topic));
    }

    /** Waits until the others have all of a topic's limit and {@code gone} nothing, and answers how long it took. */
    static Duration awaitInherited(TopicClient at, String topic, String gone, double rate, Duration within) {
        return await(
                "the others have all of " + topic,
                within,
                () -> at.describe(topic)
                        .filter(found -> shareOf(found, gone).isEmpty() && found.sumRate() == rate)
                        .isPresent(),
                () -> at.describe(topic));
    }

    /** All that was admitted and stored so far was allowed, and nothing stays behind. */
    void assertNothingViolated() throws IOException {
        HistoryCheck check = HistoryCheck.of(History.read(written(settled())));
        assertThat(check.admissions().topics()).containsAll(changes.keySet());
        for (Invariant invariant : CHECKED) {
            Verdict verdict = check.verdict(invariant);
            assertThat(verdict.violations()).as(verdict.toString()).isEmpty();
            assertThat(verdict.held()).as(verdict.toString()).isTrue();
        }
    }

    /** All that was seen, in the file that {@code weir chaos check} would read too; it stays for who wants to look. */
    private Path written(Reading last) throws IOException {
        Path file = history.resolveSibling("history.jsonl");
        try (HistoryWriter writer = new HistoryWriter(file)) {
            changes.forEach((topic, all) -> all.forEach(change -> {
                if (change.asked) {
                    writer.limitAsked(
                            change.atNs, topic.value(), change.limit.ratePerSecond(), change.limit.burstMessages());
                } else {
                    writer.limit(
                            change.atNs, topic.value(), change.limit.ratePerSecond(), change.limit.burstMessages());
                }
            }));
            writer.recorded(AdmissionHistory.readAll(history));
            writer.store(last.atNs, last.stored);
        }
        return file;
    }

    /**
     * Brokers go on to exchange supply, so a reading with nothing on its way is waited for, and it is the one that
     * counts.
     */
    private Reading settled() {
        Reading[] last = new Reading[1];
        await(
                "nothing is left behind",
                SETTLED_WITHIN,
                () -> {
                    last[0] = read();
                    return SupplyAudit.unsettled(last[0].stored).isEmpty();
                },
                () -> SupplyAudit.unsettled(last[0].stored));
        return last[0];
    }

    private Reading read() {
        try {
            long nowNs = System.nanoTime();
            return new Reading(nowNs, store.now());
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Waits for a condition and answers how long it took; when it does not come, says what is instead. */
    static Duration await(String what, Duration within, BooleanSupplier condition, Supplier<?> instead) {
        long beginNs = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - beginNs > within.toNanos()) {
                throw new AssertionError("not within " + within.toMillis() + " ms: " + what + "; but " + instead.get());
            }
            try {
                TimeUnit.MILLISECONDS.sleep(100);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted", e);
            }
        }
        return Duration.ofNanos(System.nanoTime() - beginNs);
    }

    /** Lets the cluster work for a while, for a history of it. */
    static void letPass(Duration time) {
        long beginNs = System.nanoTime();
        await(
                time + " pass",
                time.plusSeconds(10),
                () -> System.nanoTime() - beginNs >= time.toNanos(),
                () -> "the clock stands");
    }

    @Override
    public void close() throws SQLException {
        store.close();
    }
}

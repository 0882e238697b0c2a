package io.weir.supervisor.store;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.WeirSettings.StoreSettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicDefinition.Delivery;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import io.weir.topics.definition.TopicRows;
import io.weir.topics.definition.TopicRows.Change;
import io.weir.topics.definition.TopicRows.Kind;
import io.weir.topics.definition.TopicRows.Outcome;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class TopicTableTest {
    private static final Holder ME = new Holder(new BrokerId("b1"), 3);
    private static final LimitSettings LIMIT = new LimitSettings(1_000 * MICROS, 100 * MICROS, 0, Sharing.GOSSIP);
    private static final LimitSettings NOTHING = new LimitSettings(0, 0, 0, Sharing.GOSSIP);

    private final RunningStore store = RunningStore.start();
    private StoreSettings settings;
    private TopicTable table;
    private SupplyTables limits;

    @BeforeEach
    void start(@TempDir Path dir) {
        settings = store.settings("b1", dir).settings().store();
        try (BrokerRegistry registry = new BrokerRegistry(settings)) {
            registry.awaitStore();
        }
        limits = new SupplyTables(settings, Duration.ofSeconds(20));
        quotas(10_000, 10_000);
    }

    private void quotas(int cluster, int token) {
        table = new TopicTable(settings, Duration.ofSeconds(20), new TopicQuotas(cluster, token));
    }

    @AfterEach
    void stop() {
        table.close();
        limits.close();
        store.close();
    }

    private static TopicDefinition definition(TopicName name, long number, LimitSettings limit) {
        boolean gone = limit.equals(NOTHING);
        return new TopicDefinition(name, number, number, limit, Delivery.defaults(), false, Map.of(), gone, Map.of());
    }

    private static Change change(TopicDefinition before, TopicDefinition next, boolean isNew, String owner) {
        Share share = new Share(next.limit().rateMicros(), next.limit().burstMicros());
        LimitRow row =
                new LimitRow(next.name(), next.limitVersion(), share, 0, Sharing.GOSSIP, Optional.of(ME), false, false);
        return new Change(before, next, isNew, owner, List.of(row));
    }

    private Change creation(String name, String owner) {
        TopicName topic = TopicName.of(name);
        long last = table.load(List.of(topic)).get(0).lastChange();
        return change(definition(topic, last, NOTHING), definition(topic, last + 1, LIMIT), true, owner);
    }

    private static Change deletion(TopicDefinition now) {
        return change(now, definition(now.name(), now.revision() + 1, NOTHING), false, "");
    }

    private Outcome write(Change change) {
        return table.write(List.of(change)).get(0);
    }

    private void finish(List<Change> changes) {
        limits.finished(changes.stream()
                .map(Change::next)
                .collect(Collectors.toMap(TopicDefinition::name, TopicDefinition::limitVersion)));
    }

    @Test
    void shouldWriteOnlyOverTheRevisionThatWasRead() {
        Change first = creation("orders", "");
        assertThat(write(first).kind()).isEqualTo(Kind.WRITTEN);
        assertThat(write(first).kind()).as("there is a row now").isEqualTo(Kind.CONFLICT);
        Change deletion = deletion(first.next());
        Outcome early = write(deletion);
        assertThat(early.kind()).isEqualTo(Kind.WRITTEN);
        assertThat(early.inserted()).as("version 1 is not done").isEmpty();
        assertThat(write(deletion).kind()).isEqualTo(Kind.CONFLICT);
        assertThat(table.get(TopicName.of("orders"))).contains(deletion.next());
        assertThat(limits.limits(TopicName.of("orders"))).hasSize(1);
    }

    @Test
    void shouldCountEveryTopicAgainstTheQuotasAlsoWhenManyComeAtOnce() {
        quotas(4, 2);
        List<Change> together = List.of(
                creation("a", "billing"),
                creation("b#ephemeral", "billing"),
                creation("c", "billing"),
                creation("d", ""),
                creation("e", "other"),
                creation("f", ""));
        List<Outcome> outcomes = table.write(together);
        assertThat(outcomes)
                .extracting(Outcome::kind)
                .containsExactly(
                        Kind.WRITTEN, Kind.WRITTEN, Kind.OVER_QUOTA, Kind.WRITTEN, Kind.WRITTEN, Kind.OVER_QUOTA);
        assertThat(outcomes.get(2).problem())
                .contains("2 topics came to be by the token billing")
                .contains("weir.topics.max-topics-per-token allows 2")
                .contains("delete");
        assertThat(outcomes.get(5).problem())
                .contains("the cluster has 4 topics")
                .contains("weir.topics.max-topics allows 4")
                .contains("delete");
        assertThat(limits.limits(TopicName.of("c"))).isEmpty();

        finish(together.subList(0, 1));
        assertThat(write(deletion(together.get(0).next())).kind()).isEqualTo(Kind.WRITTEN);
        assertThat(write(creation("c", "billing")).kind())
                .as("there is room now")
                .isEqualTo(Kind.WRITTEN);
        assertThat(write(creation("f", "")).kind()).isEqualTo(Kind.OVER_QUOTA);
    }

    @Test
    void shouldKeepNothingOfThousandsThatCameAndWentAndGoOnAboveTheirVersions() {
        List<Change> created = new ArrayList<>();
        for (int i = 0; i < 2_500; i++) {
            created.add(creation("passing-" + i + "#ephemeral", ""));
        }
        table.write(created);
        TopicRows.Changes page = table.after(0);
        assertThat(page.definitions()).as("a page").hasSize(TopicRows.MOST_AT_ONCE);
        List<TopicDefinition> read = new ArrayList<>(page.definitions());
        while (page.more()) {
            page = table.after(page.upTo());
            read.addAll(page.definitions());
        }
        assertThat(read)
                .as("all pages")
                .containsExactlyInAnyOrderElementsOf(
                        created.stream().map(Change::next).toList());
        assertThat(limits.allLimitsAfter(0).rows()).hasSize(created.size());
        finish(created);
        List<Change> deleted =
                created.stream().map(change -> deletion(change.next())).toList();
        table.write(deleted);
        finish(deleted);
        deleted.forEach(change -> assertThat(
                        limits.forgetName(change.next().name(), change.next().limitVersion()))
                .isTrue());
        assertThat(table.after(0).definitions()).isEmpty();
        assertThat(limits.allLimitsAfter(0).rows()).isEmpty();

        Change again = creation("passing-0#ephemeral", "");
        assertThat(again.next().limitVersion())
                .as("who remembers the old one takes it for newer")
                .isGreaterThan(deleted.get(0).next().limitVersion());
        assertThat(write(again).inserted()).containsKey(again.next().name());
        assertThat(limits.limits(again.next().name()))
                .singleElement()
                .as("a full bucket again")
                .matches(LimitRow::first);
    }

    @Test
    void shouldReadLimitsInPagesWhenThereAreMoreThanOneCallReads() {
        List<Change> many = new ArrayList<>();
        for (int i = 0; i < 6_000; i++) {
            many.add(creation("many-" + i, ""));
        }
        table.write(many.subList(0, 3_000));
        table.write(many.subList(3_000, 6_000));
        assertThat(limits.limitsAfter(0).rows()).hasSize(5_000);
        assertThat(limits.allLimitsAfter(0).rows()).hasSize(6_000);
        assertThat(limits.allLimitsAfter(0).upTo()).isEqualTo(6_000);
    }
}

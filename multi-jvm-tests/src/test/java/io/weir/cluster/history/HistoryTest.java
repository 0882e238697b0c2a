package io.weir.cluster.history;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.cluster.history.StoredSupply.Entry;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import io.weir.limiter.supply.gate.AdmissionHistory.Borrowed;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.Supply;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.Transfer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files as they come: written by us, by strangers, by processes that were killed, by nobody. */
class HistoryTest {
    private static final TopicName TOPIC = new TopicName("orders");
    private static final Holder A = new Holder(new BrokerId("a"), 1);
    private static final Holder B = new Holder(new BrokerId("b"), 2);

    @TempDir
    private Path directory;

    @Test
    void shouldReadWhatWasWritten() throws IOException {
        Path file = directory.resolve("deep/in/it/history.jsonl");
        Admission leased = new Admission(new BrokerId("b1"), 3, TOPIC, 7, 2, false, 99);
        Admission kept = new Admission(new BrokerId("b1"), 3, TOPIC, 8, 1, true, AdmissionCheck.LEASE_UNKNOWN);
        Borrowed lent = new Borrowed(new BrokerId("b2"), 4, TOPIC, 8, -2_500_000, 77);
        try (HistoryWriter writer = new HistoryWriter(file)) {
            writer.setup(-5, Map.of("seed", 7, "brokers", 3, "saturated", List.of("orders"), "nested", Map.of("a", 1)));
            writer.limitAsked(1, "orders", 10, 5);
            writer.limit(2, "orders", 10.5, 5);
            writer.admitted(leased);
            writer.admitted(kept);
            writer.borrowed(lent);
            writer.channel(3, "orders", "audit");
            writer.publish(4, "p1", 1, HistoryWriter.Outcome.invoke, "orders", "a \"quoted\" id\n", null, null);
            writer.publish(5, "p1", 1, HistoryWriter.Outcome.ok, "orders", "a \"quoted\" id\n", "b1", null);
            writer.delivered(6, "c1", "orders", "audit", "a \"quoted\" id\n", 1, "b2");
            writer.nemesis(7, "partition", "start", "b3 | b1 b2", List.of("b3"));
            writer.broker(8, "b3", false);
            writer.phase(9, "end");
            writer.record(10, "weather", Map.of("sky", "blue"));
        }
        History history = History.read(file);

        assertThat(history.admissions()).containsExactly(leased, kept);
        assertThat(history.borrowed()).containsExactly(lent);
        assertThat(history.setup()).containsEntry("seed", 7).containsEntry("nested", Map.of("a", 1));
        assertThat(history.saturated()).containsExactly(TOPIC);
        assertThat(history.limits().get(TOPIC).steps())
                .extracting(LimitCourse.Step::limit)
                .containsExactly(new Share(10_000_000, 5_000_000), new Share(10_500_000, 5_000_000));
        assertThat(history.traffic().get(TOPIC).messages().get("a \"quoted\" id\n"))
                .satisfies(message -> assertThat(
                                List.of(message.invokedNs(), message.acknowledgedNs(), message.deliveredNs()))
                        .containsExactly(4L, 5L, 6L));
        assertThat(history.faults())
                .containsExactly(new History.Nemesis(7, "partition", true, "b3 | b1 b2", List.of("b3")));
        assertThat(history.brokerStates()).containsExactly(new History.BrokerState(8, "b3", false));
        assertThat(history.phase("end")).hasValue(9L);
        assertThat(history.unknown()).containsExactly(Map.entry("weather", 1L));
        assertThat(List.of(history.firstNs(), history.lastNs())).containsExactly(-5L, 10L);
    }

    private static Holding holding(long rate, long level) {
        return new Holding(new Supply(rate, 5, level), new Supply(1, 2, 0));
    }

    /** One of each. */
    private static Stream<SupplyEvent> events() {
        Transfer transfer = new Transfer(new Transfer.Id(A, B, 4), Map.of(TOPIC, holding(3, 1)));
        return Stream.of(
                new SupplyEvent.Minted(TOPIC, 2, holding(9, 5), new Share(1, 0)),
                new SupplyEvent.Debited(transfer),
                new SupplyEvent.Credited(transfer),
                new SupplyEvent.Refunded(transfer.id()),
                new SupplyEvent.Delivered(transfer.id()),
                new SupplyEvent.Inherited(
                        B,
                        Account.KEPT,
                        Map.of(TOPIC, new Supply(1, 2, 0)),
                        List.of(transfer),
                        Map.of(TOPIC, new Debt(3, new Share(4, 5)))),
                new SupplyEvent.Burned(TOPIC, 2, Holding.NONE),
                new SupplyEvent.Refloored(TOPIC, holding(1, 0)),
                new SupplyEvent.Recovered(6),
                new SupplyEvent.Fenced(B));
    }

    @Test
    void shouldReadWhatWasWrittenOfAStore() throws IOException {
        List<Entry> entries = new ArrayList<>();
        events().forEach(event -> entries.add(new Entry(entries.size() + 1, A, 5, 77, entries.size() * 1_000L, event)));
        assertThat(events().map(SupplyEvent::getClass).toList())
                .as("every kind of event")
                .containsExactlyInAnyOrder(classes());
        Ledger ledger = new Ledger(A);
        ledger.apply(new SupplyEvent.Recovered(2));
        StoredSupply stored = new StoredSupply(
                entries,
                Map.of(A, new TreeMap<>(Map.of(1L, ledger.snapshot()))),
                List.of(
                        LeaseRow.registered(A),
                        new LeaseRow(
                                B,
                                LeaseRow.State.STOPPED,
                                7,
                                new LeaseRow.Legacy(Optional.of(A), true),
                                new LeaseRow.Legacy(Optional.empty(), false))),
                List.of(
                        new LimitRow(TOPIC, 1, new Share(5, 6), 500, Sharing.STATIC, Optional.of(A), true)
                                .by(Indicator.SPARE_BANDWIDTH),
                        new LimitRow(TOPIC, 2, Share.NONE, 0, Sharing.DEFAULT, Optional.empty(), false)));
        Path file = directory.resolve("store.jsonl");
        try (HistoryWriter writer = new HistoryWriter(file)) {
            writer.store(100, stored);
        }

        assertThat(History.read(file).stored()).isEqualTo(stored);
        assertThat(History.read(file).rowsReadNs()).hasValue(100L);
    }

    @SuppressWarnings("unchecked")
    private static Class<? extends SupplyEvent>[] classes() {
        return (Class<? extends SupplyEvent>[]) SupplyEvent.class.getPermittedSubclasses();
    }

    @Test
    void shouldKeepEveryLineWholeWhenManyWriteAtOnce() throws Exception {
        Path file = directory.resolve("many.jsonl");
        try (HistoryWriter writer = new HistoryWriter(file)) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                String client = "p" + i;
                threads.add(new Thread(() -> {
                    for (int op = 0; op < 5_000; op++) {
                        writer.publish(
                                op, client, op, HistoryWriter.Outcome.ok, "orders", client + "-" + op, "b1", null);
                    }
                }));
            }
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
        }
        assertThat(History.read(file).traffic().get(TOPIC).messages()).hasSize(40_000);
    }

    @Test
    void shouldJoinFilesAndLeaveOutALineThatAKilledProcessCouldNotFinish() throws IOException {
        Path killed = directory.resolve("killed.jsonl");
        String line = "{\"t\":1,\"type\":\"phase\",\"name\":\"" + "x".repeat(70_000) + "\"}\n";
        Files.writeString(killed, line + line + "{\"t\":1,\"type\":\"pha");
        Path joined = directory.resolve("joined.jsonl");
        try (HistoryWriter writer = new HistoryWriter(joined)) {
            writer.append(killed);
            writer.phase(2, "end");
            writer.append(killed);
        }
        assertThat(History.read(joined).count("phase")).isEqualTo(5);
    }

    @Test
    void shouldReadInAnyOrderAndWithAnyLineEnd() throws IOException {
        Path file = directory.resolve("odd.jsonl");
        Files.writeString(
                file,
                "\r\n  {\"cost\":null,\"broker\":\"b1\",\"topic\":\"orders\",\"type\":\"admit\",\"more\":{\"a\":[1]},\"t\":5}\r\n\n"
                        + "{\"burst\":1,\"rate\":1,\"topic\":\"orders\",\"type\":\"limit\",\"t\":5}");
        assertThat(HistoryCheck.of(History.read(file)).verdict(Invariant.C1).held())
                .isTrue();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '~', textBlock = """
            hello                                                                                 | no JSON object
            [1]                                                                                   | no JSON object
            {"t":1,"type":"admit","topic":"o","broker":"b"                                        | no JSON object
            {"t":1,"type":"phase","name":"x"} {"t":1}                                             | one JSON object
            {"type":"admit","topic":"o","broker":"b"}                                             | 't' is missing
            {"t":1,"topic":"o","broker":"b"}                                                      | 'type' is missing
            {"t":1.5,"type":"admit","topic":"o","broker":"b"}                                     | 't' must be a whole number
            {"t":99999999999999999999,"type":"admit","topic":"o","broker":"b"}                    | out of range
            {"t":1,"type":"admit","broker":"b"}                                                   | 'topic' is missing
            {"t":1,"type":"admit","topic":"o"}                                                    | 'broker' is missing
            {"t":1,"type":"admit","topic":"o p","broker":"b"}                                     | topic name 'o p' is not allowed
            {"t":1,"type":"admit","topic":7,"broker":"b"}                                         | 'topic' must be a text
            {"t":1,"type":"admit","topic":"o","broker":"b","cost":0}                              | 'cost' must be at least 1
            {"t":1,"type":"admit","topic":"o","broker":"b","kept":"yes"}                          | 'kept' must be true or false
            {"t":1,"type":"limit","topic":"o","rate":1}                                           | 'burst' is missing
            {"t":1,"type":"limit","topic":"o","rate":-1,"burst":1}                                | 'rate' must be within
            {"t":1,"type":"limit","topic":"o","rate":1e30,"burst":1}                              | 'rate' must be within
            {"t":1,"type":"publish","topic":"o","id":"1","phase":"maybe"}                         | invoke, ok, fail or info
            {"t":1,"type":"publish","topic":"o","phase":"ok"}                                     | 'id' is missing
            {"t":1,"type":"deliver","topic":"o","id":"1"}                                         | 'channel' is missing
            {"t":1,"type":"nemesis","phase":"start"}                                              | 'fault' is missing
            {"t":1,"type":"nemesis","fault":"kill","phase":"now"}                                 | start or end
            {"t":1,"type":"broker","broker":"b","state":"ill"}                                    | up or down
            {"t":1,"type":"supply","seq":1,"broker":"b","inc":1,"journalSeq":1,"event":"won"}     | no supply event is called 'won'
            {"t":1,"type":"supply","seq":1,"broker":"b","inc":1,"journalSeq":1,"event":"fenced"}  | 'by' is missing
            {"t":1,"type":"snapshot","broker":"b","inc":1,"journalSeq":1,"bytes":"%"}             | no JSON object
            """)
    void shouldSayWhichLineIsWrongAndWhy(String line, String why) throws IOException {
        Path file = directory.resolve("garbage.jsonl");
        Files.writeString(file, "{\"t\":1,\"type\":\"phase\",\"name\":\"warm\"}\n\n" + line + "\n");

        assertThatThrownBy(() -> History.read(file))
                .isInstanceOf(HistoryException.class)
                .hasMessageContaining("garbage.jsonl line 3: ")
                .hasMessageContaining(why);
    }

    @Test
    void shouldRefuseBytesThatAreNoText() throws IOException {
        Path file = directory.resolve("bytes.jsonl");
        Files.write(file, new byte[] {(byte) 0x80, 0, 1, (byte) 0xff, '\n'});

        assertThatThrownBy(() -> History.read(file))
                .isInstanceOf(HistoryException.class)
                .hasMessageContaining("line 1: ");
    }

    @Test
    void shouldReadAnEmptyFileAndMissAMissingOne() throws IOException {
        Path file = Files.createFile(directory.resolve("empty.jsonl"));

        assertThat(History.read(file).isEmpty()).isTrue();
        assertThatThrownBy(() -> History.read(directory.resolve("none.jsonl"))).isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void shouldCountAnAdmissionThatIsThereTwiceTwiceAndAnEventOfTheStoreOnce() throws IOException {
        Lines lines = new Lines(directory).limit(0, 1, 1).admit("b1", 1);
        lines.hold(Invariant.C1);
        Path file = lines.file();
        Files.write(file, Files.readAllBytes(file), StandardOpenOption.APPEND);
        assertThat(HistoryCheck.of(History.read(file)).verdict(Invariant.C1).violated())
                .isTrue();

        String fenced =
                "{'t':1,'type':'supply','seq':1,'broker':'b1','inc':1,'journalSeq':1,'event':'fenced','by':'b2#1'}";
        new Lines(directory).add(fenced).add(fenced).hold(Invariant.C7);
        assertThatThrownBy(() -> new Lines(directory)
                        .add(fenced)
                        .add(fenced.replace("b2#1", "b3#1"))
                        .history())
                .hasMessageContaining("line 2: 'seq' 1 is already");
    }
}

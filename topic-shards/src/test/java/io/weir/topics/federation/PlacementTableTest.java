package io.weir.topics.federation;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.topics.algorithm.SendingRecording;
import io.weir.topics.federation.PlacementTable.Attendance;
import io.weir.topics.federation.PlacementTable.Seats;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PlacementTableTest {
    private static final BrokerId HERE = new BrokerId("here");
    private static final BrokerId THERE = new BrokerId("there");
    private static final TopicName ORDERS = new TopicName("orders");

    private record Someone(long id, String group, double expectedRate, boolean named) implements Publisher {
        @Override
        public void accepted(long ticket) {}

        @Override
        public void throttled(long ticket, long retryAfterNs) {}

        @Override
        public void failed(long ticket, String reason) {}
    }

    private final PlacementTable table = new PlacementTable(HERE);

    private static PublishRequest request(String topic, long publisher, int messages) {
        return request(topic, publisher, messages, 0);
    }

    private static PublishRequest request(String topic, long publisher, int messages, long arrivalNs) {
        return request(topic, new Someone(publisher, "g" + publisher % 2, publisher, false), messages, arrivalNs);
    }

    private static PublishRequest request(String topic, Someone publisher, int messages, long arrivalNs) {
        byte[] name = topic.getBytes(StandardCharsets.US_ASCII);
        return new PublishRequest()
                .begin(publisher, 0, ByteBuffer.wrap(name), arrivalNs)
                .topic(0, name.length)
                .batch(0, 0, messages);
    }

    @Test
    void shouldKnowHomesByTopicAndPublisher() {
        table.seat(new Seats(ORDERS, 1, Map.of(THERE, new long[] {1}, HERE, new long[] {2})));
        assertThat(table.homeOf(request("orders", 1, 0))).isEqualTo(THERE);
        assertThat(table.homeOf(request("orders", 2, 0))).isNull();
        assertThat(table.homeOf(request("orders", 3, 0))).isNull();
        assertThat(table.homeOf(request("order", 1, 0))).isNull();
        assertThat(table.homeOf(request("orders", Publisher.NOBODY, 0))).isNull();
    }

    @Test
    void shouldFollowLaterSeatsAndLeaveEarlierOnes() {
        assertThat(table.homeOf(request("orders", 1, 0))).isNull();
        table.seat(new Seats(ORDERS, 5, Map.of(THERE, new long[] {1})));
        assertThat(table.homeOf(request("orders", 1, 0))).isEqualTo(THERE);
        table.seat(new Seats(ORDERS, 4, Map.of(HERE, new long[] {1})));
        assertThat(table.homeOf(request("orders", 1, 0))).isEqualTo(THERE);
        table.seat(new Seats(ORDERS, 6, Map.of()));
        assertThat(table.homeOf(request("orders", 1, 0))).isNull();
    }

    @Test
    void shouldTellTheGroupThatWasNamedLastSoThatAContradictionIsSeen() {
        table.homeOf(request("orders", new Someone(2, "north", 5, false), 1, 0));
        assertThat(only(table.take()).groups()).containsExactly("north");
        // By its requests it is in g0, and means to send 2 a second.
        table.homeOf(request("orders", 2, 1));
        Attendance attendance = only(table.take());
        assertThat(attendance.ids()).containsExactly(2);
        assertThat(attendance.groups()).containsExactly("g0");
        assertThat(attendance.expectedRates()).containsExactly(2);
    }

    @Test
    void shouldTellWhoRegisteredAndHowMuchEachSendsAtOnce() {
        table.homeOf(request("orders", new Someone(1, "", 0, true), 10, 5_000));
        table.homeOf(request("orders", new Someone(1, "", 0, true), 6, 6_000));
        table.homeOf(request("orders", new Someone(1, "", 0, true), 4, 6_000));
        table.homeOf(request("orders", new Someone(2, "north", 0, false), 1, 0));
        table.homeOf(request("orders", new Someone(3, "", 7, true), 1, 0));
        Attendance attendance = only(table.take());
        for (int i = 0; i < 3; i++) {
            int id = (int) attendance.ids()[i];
            assertThat(attendance.registered()[i])
                    .as("publisher %d", id)
                    .isEqualTo(
                            id == 1
                                    ? PlacementTable.NOT_REGISTERED
                                    : id == 2 ? PlacementTable.UNNAMED : PlacementTable.NAMED);
            assertThat(attendance.sendings()[i])
                    .as("instants of publisher %d", id)
                    .isEqualTo(id == 1 ? 2 : 1);
            assertThat(attendance.messages()[i]).isEqualTo(id == 1 ? 20 : 1);
        }
    }

    @Test
    void shouldKnowNothingOfTopicsThatNobodyRegistersFor() {
        int[] woken = {0};
        PlacementTable some = new PlacementTable(HERE, () -> woken[0]++);
        Someone silent = new Someone(1, "", 0, true);
        Someone registering = new Someone(2, "north", 0, true);
        for (int i = 0; i < 100; i++) {
            assertThat(some.homeOf(request("orders", silent, 1, i))).isNull();
        }
        assertThat(some.take()).isEmpty();
        assertThat(some.tracks()).isFalse();
        assertThat(woken[0]).isZero();

        some.homeOf(request("bills", registering, 1, 0));
        some.homeOf(request("bills", registering, 1, 1));
        some.homeOf(request("bills", silent, 1, 2));
        some.homeOf(request("orders", silent, 1, 3));
        assertThat(woken[0]).as("once").isEqualTo(1);
        Attendance bills = only(some.take());
        assertThat(bills.topic()).isEqualTo(new TopicName("bills"));
        assertThat(bills.ids()).as("whoever sends to that topic").containsExactlyInAnyOrder(1, 2);

        some.follow(Set.of(ORDERS));
        some.homeOf(request("orders", silent, 1, 4));
        assertThat(some.take()).hasSize(2);
        some.follow(Set.of());
        some.homeOf(request("orders", silent, 1, 5));
        assertThat(some.take()).extracting(Attendance::topic).containsExactly(new TopicName("bills"));
        for (int look = 0; look < PlacementTable.SILENT_LOOKS; look++) {
            some.homeOf(request("bills", silent, 1, 6));
            some.take();
        }
        assertThat(some.tracks()).as("whoever registered has left").isFalse();
        some.homeOf(request("bills", silent, 1, 7));
        assertThat(some.take()).isEmpty();
    }

    @Test
    void shouldGoBySeatsAsLongAsTheyHoldAndForgetThemWhenTheyAreDissolved() {
        PlacementTable some = new PlacementTable(HERE, () -> {});
        Someone silent = new Someone(1, "", 0, true);
        some.seat(new Seats(ORDERS, 1, Map.of(THERE, new long[] {1})));
        assertThat(some.homeOf(request("orders", silent, 1, 0))).isEqualTo(THERE);
        some.seat(new Seats(ORDERS, 2, Map.of()));
        assertThat(some.homeOf(request("orders", silent, 1, 0))).isNull();
        assertThat(some.take()).isEmpty();
    }

    @Test
    void shouldRecordWhoSendsWhenUntilTheTimeIsOver() {
        SendingRecording recording = new SendingRecording(ORDERS, 8, 1_000);
        table.record(recording, 100, 7_000);
        table.homeOf(request("orders", 1, 3, 150));
        table.homeOf(request("orders", 1, 2, 150));
        table.homeOf(request("other", 1, 2, 160));
        table.homeOf(request("orders", 2, 0, 150));
        table.homeOf(request("orders", 2, 0, 90));
        assertThat(table.takeRecording(1_099)).isNull();
        table.homeOf(request("orders", 2, 0, 1_100));
        assertThat(table.takeRecording(1_100)).isSameAs(recording);
        assertThat(table.takeRecording(1_200)).isNull();
        assertThat(recording.size()).isEqualTo(2);
        assertThat(recording.publishers(0, 2)).containsExactly(1, 2);
        assertThat(recording.timesNs(0, 2)).containsExactly(50, 50);
        assertThat(recording.messages(0, 2)).containsExactly(5, 1);
        assertThat(recording.lengthNs()).isEqualTo(1_000);
        assertThat(recording.beganWallNs()).isEqualTo(7_000);
    }

    @Test
    void shouldEndARecordingThatIsFull() {
        SendingRecording recording = new SendingRecording(ORDERS, 2, 1_000);
        table.record(recording, 0, 7_000);
        for (int i = 1; i <= 5; i++) {
            table.homeOf(request("orders", i, 0, 10 * i));
        }
        assertThat(table.takeRecording(29)).isNull();
        assertThat(table.takeRecording(30)).isSameAs(recording);
        assertThat(recording.size()).isEqualTo(2);
        assertThat(recording.lengthNs()).as("all that came before is there").isEqualTo(30);
    }

    @Test
    void shouldTellWhoPublishedHowMuchSinceTheLastLook() {
        table.homeOf(request("orders", 1, 0));
        table.homeOf(request("orders", 1, 0));
        table.homeOf(request("orders", 2, 100));
        table.homeOf(request("orders", Publisher.NOBODY, 7));
        Attendance attendance = only(table.take());
        assertThat(attendance.topic()).isEqualTo(ORDERS);
        assertThat(attendance.ids()).containsExactlyInAnyOrder(1, 2);
        int second = attendance.ids()[0] == 2 ? 0 : 1;
        assertThat(attendance.messages()[second]).isEqualTo(100);
        assertThat(attendance.messages()[1 - second]).isEqualTo(2);
        assertThat(attendance.groups()[second]).isEqualTo("g0");
        assertThat(attendance.expectedRates()[second]).isEqualTo(2);

        table.homeOf(request("orders", 1, 0));
        assertThat(only(table.take()).messages()).containsExactlyInAnyOrder(1, 0);
    }

    /** Publisher 1 sends in the slot of that number, a little after it began. */
    private void sendIn(long slot) {
        table.homeOf(request("orders", 1, 0, clockIn(slot)));
    }

    /** The path's clock, by which slot 5,000 began at 7 s. */
    private static long clockIn(long slot) {
        return 7_000_000_000L + (slot - 5_000) * PlacementTable.SLOT_NS + 3_000_000;
    }

    private Attendance takeIn(long slot) {
        return only(table.take(clockIn(slot), slot * PlacementTable.SLOT_NS + 3_000_000));
    }

    @Test
    void shouldNoteInWhichSlotsAPublisherBeganToSend() {
        sendIn(5_000);
        Attendance first = takeIn(5_000);
        assertThat(first.fromSlot()).as("nobody had looked before").isEqualTo(PlacementTable.UNOBSERVED);
        assertThat(first.bursts()).containsExactly(0);

        sendIn(5_001);
        sendIn(5_002);
        sendIn(5_005);
        sendIn(5_050);
        Attendance second = takeIn(5_050);
        assertThat(second.fromSlot()).isEqualTo(5_000);
        assertThat(second.bursts()).as("what goes on is no new burst").containsExactly(1L << 1 | 1L << 5);

        sendIn(5_051);
        sendIn(5_060);
        Attendance third = takeIn(5_061);
        assertThat(third.fromSlot()).isEqualTo(5_050);
        assertThat(third.bursts()).as("the slot that was not over came with it").containsExactly(1 | 1L << 10);
        sendIn(5_061);
        assertThat(takeIn(5_062).bursts()).as("it went on over the look").containsExactly(0);
    }

    @Test
    void shouldNoteNoMoreSlotsThanAWordHasBits() {
        sendIn(5_000);
        takeIn(5_000);
        sendIn(5_000 + PlacementTable.SLOTS - 1);
        sendIn(5_000 + PlacementTable.SLOTS);
        sendIn(5_000 + 2 * PlacementTable.SLOTS);
        // Before the look, by a stamp that is older than it.
        sendIn(4_990);
        Attendance late = takeIn(6_000);
        assertThat(late.bursts()).containsExactly(1L << PlacementTable.SLOTS - 1);
        assertThat(late.messages()).as("counted all the same").containsExactly(4);
        sendIn(6_003);
        Attendance next = takeIn(6_010);
        assertThat(next.fromSlot()).isEqualTo(6_000);
        assertThat(next.bursts()).containsExactly(1L << 3);
    }

    @Test
    void shouldNoteNothingWhereNobodyLooksForGroups() {
        sendIn(5_000);
        table.take();
        sendIn(5_003);
        Attendance attendance = only(table.take());
        assertThat(attendance.fromSlot()).isEqualTo(PlacementTable.UNOBSERVED);
        assertThat(attendance.bursts()).containsExactly(0);
        assertThat(attendance.messages()).containsExactly(1);
    }

    @Test
    void shouldKeepBurstsThroughGrowthAndAfterTheWallClockWasSetBack() {
        sendIn(5_000);
        takeIn(5_000);
        sendIn(5_004);
        for (long id = 2; id < 100; id++) {
            table.homeOf(request("orders", id, 0, clockIn(5_006)));
        }
        Attendance grown = takeIn(5_010);
        assertThat(grown.ids()).hasSize(99);
        for (int i = 0; i < 99; i++) {
            assertThat(grown.bursts()[i]).isEqualTo(grown.ids()[i] == 1 ? 1L << 4 : 1L << 6);
        }
        assertThat(takeIn(4_000).bursts()).containsOnly(0);
        sendIn(4_002);
        Attendance back = takeIn(4_010);
        assertThat(back.fromSlot()).isEqualTo(4_000);
        assertThat(back.bursts()).contains(1L << 2);
    }

    @Test
    void shouldForgetWhoIsSilentForLongButNotItsSeat() {
        table.seat(new Seats(ORDERS, 1, Map.of(THERE, new long[] {1})));
        table.homeOf(request("orders", 1, 0));
        table.homeOf(request("other", 9, 0));
        table.take();
        for (int look = 1; look < PlacementTable.SILENT_LOOKS; look++) {
            assertThat(table.take()).hasSize(2).allMatch(each -> each.left().length == 0);
        }
        assertThat(table.take()).hasSize(2).allMatch(each -> each.left().length == 1 && each.ids().length == 0);
        assertThat(table.take()).isEmpty();
        assertThat(table.homeOf(request("orders", 1, 0))).isEqualTo(THERE);
    }

    @Test
    void shouldKeepThousandsApartThroughGrowthAndShrinking() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        Map<Long, BrokerId> homes = new HashMap<>();
        for (int i = 0; i < 5_000; i++) {
            homes.put(random.nextLong() | 1, random.nextBoolean() ? THERE : HERE);
        }
        homes.keySet().forEach(id -> table.homeOf(request("orders", id, 0)));
        Map<BrokerId, long[]> seats = new HashMap<>();
        for (BrokerId broker : List.of(HERE, THERE)) {
            seats.put(
                    broker,
                    homes.entrySet().stream()
                            .filter(entry -> entry.getValue().equals(broker))
                            .mapToLong(Map.Entry::getKey)
                            .toArray());
        }
        table.seat(new Seats(ORDERS, 1, seats));
        homes.forEach((id, home) -> assertThat(table.homeOf(request("orders", id, 0)))
                .as("seed %d", seed)
                .isEqualTo(home.equals(THERE) ? THERE : null));
        assertThat(only(table.take()).ids()).hasSize(homes.size());
        long one = homes.keySet().iterator().next();
        for (int look = 0; look <= PlacementTable.SILENT_LOOKS; look++) {
            table.homeOf(request("orders", one, 0));
            table.take();
        }
        table.homeOf(request("orders", one, 0));
        assertThat(only(table.take()).ids()).as("seed %d", seed).containsExactly(one);
    }

    @Test
    void shouldAllocateNothingForAKnownPublisher() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        table.seat(new Seats(ORDERS, 1, Map.of(THERE, new long[] {1})));
        PublishRequest request = request("orders", 1, 0);
        table.take(0, 5_000 * PlacementTable.SLOT_NS);
        long least = Long.MAX_VALUE;
        int looked = 0;
        for (int batch = 0; batch < 10; batch++) {
            long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
            for (int i = 0; i < 100_000; i++) {
                looked += table.homeOf(request) == THERE ? 1 : 0;
            }
            least = Math.min(
                    least,
                    threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before);
        }
        assertThat(looked).isEqualTo(1_000_000);
        assertThat(least / 100_000.0).as("bytes a look-up").isLessThan(1);
    }

    private static Attendance only(List<Attendance> attendances) {
        assertThat(attendances).hasSize(1);
        return attendances.get(0);
    }
}

package io.weir.topics.federation;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
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
import org.junit.jupiter.api.Test;

class PlacementTableTest {
    private static final BrokerId HERE = new BrokerId("here");
    private static final BrokerId THERE = new BrokerId("there");
    private static final TopicName ORDERS = new TopicName("orders");

    private record Someone(long id, String group, double expectedRate) implements Publisher {
        @Override
        public void accepted(long ticket) {}

        @Override
        public void throttled(long ticket, long retryAfterNs) {}

        @Override
        public void failed(long ticket, String reason) {}
    }

    private final PlacementTable table = new PlacementTable(HERE);

    private static PublishRequest request(String topic, long publisher, int messages) {
        byte[] name = topic.getBytes(StandardCharsets.US_ASCII);
        return new PublishRequest()
                .begin(new Someone(publisher, "g" + publisher % 2, publisher), 0, ByteBuffer.wrap(name), 0)
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
    void shouldCountARegisteredPublisherAsPresentHoweverSilentUntilItIsNot() {
        assertThat(table.register(ORDERS, 1, "north", 12.5)).isTrue();
        for (int look = 0; look < 3 * PlacementTable.SILENT_LOOKS; look++) {
            Attendance attendance = only(table.take());
            assertThat(attendance.ids()).containsExactly(1);
            assertThat(attendance.messages()).containsExactly(0);
            assertThat(attendance.groups()).containsExactly("north");
            assertThat(attendance.expectedRates()).containsExactly(12.5);
            assertThat(attendance.left()).isEmpty();
        }
        assertThat(table.unregister(ORDERS, 2)).isFalse();
        assertThat(table.unregister(new TopicName("other"), 1)).isFalse();
        assertThat(table.unregister(ORDERS, 1)).isTrue();
        assertThat(table.unregister(ORDERS, 1)).isFalse();
        for (int look = 1; look < PlacementTable.SILENT_LOOKS; look++) {
            assertThat(only(table.take()).ids()).containsExactly(1);
        }
        assertThat(only(table.take()).left()).containsExactly(1);
    }

    @Test
    void shouldTellTheGroupThatWasNamedLastSoThatAContradictionIsSeen() {
        table.register(ORDERS, 2, "north", 5);
        assertThat(only(table.take()).groups()).containsExactly("north");
        // By its requests it is in g0, and means to send 2 a second.
        table.homeOf(request("orders", 2, 1));
        Attendance attendance = only(table.take());
        assertThat(attendance.ids()).containsExactly(2);
        assertThat(attendance.groups()).containsExactly("g0");
        assertThat(attendance.expectedRates()).containsExactly(2);
    }

    @Test
    void shouldSeatARegisteredPublisher() {
        table.seat(new Seats(ORDERS, 1, Map.of(THERE, new long[] {1})));
        table.register(ORDERS, 1, "", 5);
        assertThat(table.homeOf(request("orders", 1, 0))).isEqualTo(THERE);
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

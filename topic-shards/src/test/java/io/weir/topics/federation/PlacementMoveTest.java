package io.weir.topics.federation;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.topics.api.InProcessPublisher;
import io.weir.topics.federation.PlacementTable.Attendance;
import io.weir.topics.federation.PlacementTable.Seats;
import io.weir.topics.path.NsqSocket;
import io.weir.topics.path.RunningBroker;
import io.weir.transport.api.MessageContext;
import io.weir.transport.api.PublishOutcome;
import io.weir.transport.api.PublisherIdentity;
import io.weir.transport.gateway.Publisher;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A publisher's home is moved while it publishes, on real sockets and links. */
@Timeout(120)
class PlacementMoveTest {
    private static final TopicName TOPIC = new TopicName("orders");

    @RegisterExtension
    final LinkedBrokers brokers = new LinkedBrokers();

    @Test
    void shouldNeitherLoseNorReorderNorDoubleWhenAPublisherIsMoved() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        LinkedBroker a = brokers.broker("a");
        LinkedBroker b = brokers.broker("b");
        LinkedBroker c = brokers.broker("c");
        LinkedBroker.join(a, b, c);
        PlacementTable table = placed(a);
        NsqSocket publisher = brokers.open(a.publisher());
        long id = publisherId(a, table, publisher);
        List<BrokerId> choice = List.of(a.id(), b.id(), c.id());
        int moves = 40;
        int each = 200;
        for (int move = 1; move <= moves; move++) {
            BrokerId home = choice.get(random.nextInt(choice.size()));
            for (int i = 0; i < each; i++) {
                publisher.sendBody("PUB orders", String.valueOf((move - 1) * each + i));
            }
            // In the midst of what is on its way.
            seat(a, table, move, Map.of(home, new long[] {id}));
            for (int i = 0; i < each; i++) {
                assertThat(publisher.answer()).as("seed %d", seed).isEqualTo("OK");
            }
        }
        Map<String, List<Integer>> passed = new HashMap<>();
        int sum = 0;
        for (LinkedBroker broker : List.of(a, b, c)) {
            // Cut off from the others, so that it hands out what passed here, in its order.
            broker.cut();
            int published = (int) broker.broker.stats("orders").published();
            NsqSocket consumer = brokers.open(broker.consumer("orders", "check"));
            consumer.send("RDY 2500\n");
            List<Integer> got = new ArrayList<>();
            while (got.size() < published) {
                NsqSocket.Frame frame = consumer.frame();
                consumer.send("FIN " + frame.id() + "\n");
                if (!frame.text().equals("who")) {
                    got.add(Integer.parseInt(frame.text()));
                } else {
                    published--;
                }
            }
            sum += got.size();
            passed.put(broker.id().value(), got);
            assertThat(got).as("in order at %s, seed %d", broker.id(), seed).isSorted();
        }
        assertThat(passed.values().stream().flatMap(List::stream).sorted().toList())
                .as("all of them, once, seed %d", seed)
                .hasSize(sum)
                .isEqualTo(java.util.stream.IntStream.range(0, moves * each)
                        .boxed()
                        .toList());
        assertThat(passed.values()).as("seed %d", seed).noneMatch(List::isEmpty);
    }

    @Test
    void shouldAnswerWhatIsOpenAtTheOldHomeBeforeAnythingGoesToTheNew() throws Exception {
        LinkedBroker a = brokers.broker("a");
        LinkedBroker b = brokers.dryBroker("b");
        LinkedBroker c = brokers.broker("c");
        LinkedBroker.join(a, b, c);
        PlacementTable table = placed(a);
        NsqSocket publisher = brokers.open(a.publisher());
        long id = publisherId(a, table, publisher);
        seat(a, table, 1, Map.of(b.id(), new long[] {id}));
        publisher.sendBody("PUB orders", "first");
        publisher.sendBody("PUB orders", "second");
        RunningBroker.await("both wait for tokens at their home", () -> b.isWaiting("orders", 2));

        seat(a, table, 2, Map.of(c.id(), new long[] {id}));
        publisher.sendBody("PUB orders", "third");
        NsqSocket other = brokers.open(a.publisher());
        other.sendBody("PUB orders", "of another");
        assertThat(other.answer()).isEqualTo("OK");
        assertThat(c.broker.path().stats().toCompletableFuture().get())
                .as("nothing overtook at the new home")
                .allMatch(stats -> stats.published() == 0);

        b.supply("orders");
        for (int i = 0; i < 3; i++) {
            assertThat(publisher.answer()).isEqualTo("OK");
        }
        assertThat(b.broker.stats("orders").published()).isEqualTo(2);
        assertThat(c.broker.stats("orders").published()).isEqualTo(1);
    }

    @Test
    void shouldPublishHereWhileTheHomeIsAway() throws Exception {
        LinkedBroker a = brokers.broker("a");
        LinkedBroker b = brokers.broker("b");
        LinkedBroker.join(a, b);
        PlacementTable table = placed(a);
        NsqSocket publisher = brokers.open(a.publisher());
        long id = publisherId(a, table, publisher);
        seat(a, table, 1, Map.of(b.id(), new long[] {id}));
        publisher.sendBody("PUB orders", "m");
        assertThat(publisher.answer()).isEqualTo("OK");
        assertThat(b.broker.stats("orders").published()).isEqualTo(1);
        a.links().disconnect(b.id());
        RunningBroker.await("the link is gone", () -> a.stats().peers() == 0);
        publisher.sendBody("PUB orders", "m");
        assertThat(publisher.answer()).isEqualTo("OK");
        assertThat(a.broker.stats("orders").published()).isEqualTo(2);
    }

    @Test
    void shouldKnowAPublisherThatNamedItselfAtEveryBroker() throws Exception {
        LinkedBroker a = brokers.broker("a");
        LinkedBroker b = brokers.broker("b");
        PlacementTable atA = placed(a);
        PlacementTable atB = placed(b);
        NsqSocket first = identified(a, "same");
        NsqSocket second = identified(b, "same");
        NsqSocket third = identified(b, "another");
        assertThat(publisherId(a, atA, first)).isEqualTo(publisherId(b, atB, second));
        third.sendBody("PUB orders", "who");
        assertThat(third.answer()).isEqualTo("OK");
        assertThat(taken(b, atB).ids()).hasSize(2);
    }

    /** As actors and HTTP do: without a socket of the gateway's. */
    @Test
    void shouldTakeWhatAnIntakePublishesToTheHomeOfWhoeverSaidWhoItIs() throws Exception {
        LinkedBroker a = brokers.broker("a");
        LinkedBroker b = brokers.broker("b");
        LinkedBroker.join(a, b);
        PlacementTable table = placed(a);
        InProcessPublisher intake = new InProcessPublisher(
                a.broker.path(), new InProcessPublisher.Bounds(1_000, 1_000, 1_000, 10, 10_000), System::nanoTime);
        PublisherIdentity sensor = new PublisherIdentity("sensor-7", "north", 12.5);
        assertThat(publish(intake, sensor)).isInstanceOf(PublishOutcome.Accepted.class);
        assertThat(publish(intake, null)).isInstanceOf(PublishOutcome.Accepted.class);
        Attendance attendance = taken(a, table);
        assertThat(attendance.ids()).as("the other is nobody").containsExactly(Publisher.idOf("sensor-7"));
        assertThat(attendance.groups()).containsExactly("north");
        assertThat(attendance.expectedRates()).containsExactly(12.5);
        assertThat(a.broker.stats("orders").published()).isEqualTo(2);

        seat(a, table, 1, Map.of(b.id(), new long[] {Publisher.idOf("sensor-7")}));
        assertThat(publish(intake, sensor)).isInstanceOf(PublishOutcome.Accepted.class);
        CompletableFuture<PublishOutcome> batch = new CompletableFuture<>();
        intake.publishBatch(
                "orders", MessageContext.NONE, sensor, List.of(new byte[] {1}, new byte[] {2}), batch::complete);
        assertThat(batch.get()).isInstanceOf(PublishOutcome.Accepted.class);
        assertThat(publish(intake, PublisherIdentity.NONE)).isInstanceOf(PublishOutcome.Accepted.class);
        assertThat(b.broker.stats("orders").published()).isEqualTo(3);
        assertThat(a.broker.stats("orders").published()).isEqualTo(3);
    }

    private static PublishOutcome publish(InProcessPublisher intake, PublisherIdentity as) throws Exception {
        CompletableFuture<PublishOutcome> outcome = new CompletableFuture<>();
        intake.publish("orders", MessageContext.NONE, as, new byte[] {1}, 0, outcome::complete);
        return outcome.get();
    }

    @Test
    void shouldCountWhatMessagesWaitedForTheirTokens() throws Exception {
        LinkedBroker a = brokers.dryBroker("a");
        NsqSocket publisher = brokers.open(a.publisher());
        publisher.sendBody("PUB orders", "m");
        RunningBroker.await("it waits", () -> a.isWaiting("orders", 1));
        assertThat(RunningBroker.await(a.broker.path().takeDelays())).isEmpty();
        long beforeNs = System.nanoTime();
        RunningBroker.await("a while", () -> System.nanoTime() - beforeNs > 20_000_000);
        a.supply("orders");
        assertThat(publisher.answer()).isEqualTo("OK");
        publisher.sendBatch("orders", "1", "2", "3");
        assertThat(publisher.answer()).isEqualTo("OK");
        var window = RunningBroker.await(a.broker.path().takeDelays()).get(TOPIC);
        assertThat(window.messages()).isEqualTo(4);
        assertThat(window.batches()).isEqualTo(2);
        assertThat(window.longerThan(18_000_000)).isPositive();
        assertThat(RunningBroker.await(a.broker.path().takeDelays())).isEmpty();
    }

    private NsqSocket identified(LinkedBroker at, String name) throws IOException {
        NsqSocket socket = brokers.open(at.publisher());
        socket.sendBody("IDENTIFY", "{\"weir_publisher\":\"" + name + "\",\"weir_group\":\"g\",\"weir_rate\":7}");
        assertThat(socket.answer()).isEqualTo("OK");
        return socket;
    }

    private static PlacementTable placed(LinkedBroker broker) {
        PlacementTable table = new PlacementTable(broker.id());
        broker.homes = table;
        return table;
    }

    /** Publishes once, to see under which number. */
    private static long publisherId(LinkedBroker at, PlacementTable table, NsqSocket publisher) throws Exception {
        publisher.sendBody("PUB orders", "who");
        assertThat(publisher.answer()).isEqualTo("OK");
        return taken(at, table).ids()[0];
    }

    private static Attendance taken(LinkedBroker at, PlacementTable table) throws Exception {
        CompletableFuture<List<Attendance>> taken = new CompletableFuture<>();
        at.broker.path().offer((port, nowNs) -> taken.complete(table.take()));
        return taken.get().get(0);
    }

    private static void seat(LinkedBroker at, PlacementTable table, long revision, Map<BrokerId, long[]> homes)
            throws Exception {
        CompletableFuture<Void> done = new CompletableFuture<>();
        at.broker.path().offer((port, nowNs) -> {
            table.seat(new Seats(TOPIC, revision, homes));
            done.complete(null);
        });
        done.get();
    }
}

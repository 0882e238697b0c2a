package io.weir.transport.client;

import static io.weir.transport.Awaiting.await;
import static io.weir.transport.client.Publishing.allAccepted;
import static io.weir.transport.client.Publishing.bytes;
import static io.weir.transport.client.Publishing.clientOf;
import static io.weir.transport.client.Publishing.firstTimes;
import static io.weir.transport.client.Publishing.names;
import static io.weir.transport.client.Publishing.publish;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A topic whose home is at another broker: the publisher moves there, and goes on without it. */
@Timeout(60)
class PublisherHomeTest {
    @Test
    void shouldMoveATopicToItsHomeInOrderAndWithoutLoss() throws Exception {
        try (ScriptedBroker first = new ScriptedBroker();
                ScriptedBroker home = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(publish(publisher, names(0, 10)));
            CompletableFuture<Outcome> other = publisher.publish("others", bytes("stays"));
            List<CompletableFuture<Outcome>> futures = new ArrayList<>();
            first.tellHome("orders", home);
            int next = 10;
            while (home.published().isEmpty()) {
                futures.addAll(publish(publisher, names(next, next + 5)));
                next += 5;
                LockSupport.parkNanos(100_000);
            }
            futures.addAll(publish(publisher, names(next, next + 5)));
            allAccepted(futures);
            allAccepted(List.of(other, publisher.publish("others", bytes("stays too"))));

            List<String> all = new ArrayList<>(first.published());
            all.removeAll(List.of("stays", "stays too"));
            assertThat(first.published()).contains("stays", "stays too");
            all.addAll(home.published());
            assertThat(all).isEqualTo(names(0, next + 5));
        }
    }

    @Test
    void shouldNotMoveBeforeTheOldBrokerHasAnsweredEverything() throws Exception {
        CountDownLatch answer = new CountDownLatch(1);
        try (ScriptedBroker first = new ScriptedBroker().answeringAfter(answer, bodies -> ScriptedBroker.OK);
                ScriptedBroker home = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first));
                AutoTunedPublisher publisher = client.publisher()) {
            CompletableFuture<Outcome> held = publisher.publish("orders", bytes("held"));
            await("it is on its way", () -> publisher.stats().batches() == 1);
            first.tellHome("orders", home);
            await("the home is reached", () -> home.identities().size() == 1);
            CompletableFuture<Outcome> next = publisher.publish("orders", bytes("next"));
            await("it waits", () -> publisher.stats().topics().get(0).waiting() == 1);
            assertThat(home.published()).isEmpty();
            answer.countDown();

            allAccepted(List.of(held, next));
            assertThat(first.published()).containsExactly("held");
            assertThat(home.published()).containsExactly("next");
        }
    }

    @Test
    void shouldGoOnThroughAnyBrokerWhenTheHomeIsNotThere() throws IOException {
        ScriptedBroker gone = new ScriptedBroker();
        gone.close();
        try (ScriptedBroker first = new ScriptedBroker();
                ScriptedBroker home = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(publish(publisher, names(0, 1)));
            first.tellHome("orders", gone);
            first.send(3, "not JSON");
            first.send(3, "{\"topic\":\"orders\",\"tcp\":\"nowhere\"}");
            allAccepted(publish(publisher, names(1, 2)));
            first.tellHome("orders", home);
            await("the home is reached", () -> home.identities().size() == 1);
            awaitMessageAt(home, publisher);
            home.close();
            allAccepted(publish(publisher, names(2, 10)));

            assertThat(firstTimes(first.published())).containsSubsequence(names(0, 10));
        }
    }

    @Test
    void shouldGoBackToAHomeThatWasLostForAMoment() throws IOException {
        try (ScriptedBroker first = new ScriptedBroker();
                ScriptedBroker home = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(publish(publisher, names(0, 1)));
            first.tellHome("orders", home);
            awaitMessageAt(home, publisher);
            home.hangUp();
            await("the loss", () -> publisher.stats().connectionsLost() == 1);
            int before = home.published().size();

            // Nobody tells again where the home is.
            await("messages go there again", () -> {
                allAccepted(publish(publisher, List.of("probe")));
                return home.published().size() > before;
            });
        }
    }

    @Test
    void shouldLeaveAHomeThatNoTopicHasAnyMore() throws IOException {
        try (ScriptedBroker first = new ScriptedBroker();
                ScriptedBroker home = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first));
                AutoTunedPublisher publisher = client.publisher()) {
            allAccepted(publish(publisher, names(0, 1)));
            first.tellHome("orders", home);
            await("the home is reached", () -> home.identities().size() == 1);
            first.tellHome("orders", first);

            await("it is left", () -> home.lines().contains("gone"));
            allAccepted(publish(publisher, names(1, 2)));
            assertThat(first.published()).contains("m1");
        }
    }

    private static void awaitMessageAt(ScriptedBroker home, AutoTunedPublisher publisher) {
        await("messages go there", () -> {
            allAccepted(publish(publisher, List.of("probe")));
            return !home.published().isEmpty();
        });
    }
}

package io.weir.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import akka.actor.testkit.typed.javadsl.ActorTestKit;
import akka.actor.testkit.typed.javadsl.TestProbe;
import akka.actor.typed.ActorRef;
import akka.actor.typed.receptionist.Receptionist;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.weir.transport.api.BrokerCommand;
import io.weir.transport.api.BrokerCommand.Publish;
import io.weir.transport.api.BrokerCommand.Subscribe;
import io.weir.transport.api.ConsumerEvent;
import io.weir.transport.api.ConsumerEvent.Delivery;
import io.weir.transport.api.ConsumerEvent.Subscribed;
import io.weir.transport.api.MessageContext;
import io.weir.transport.api.PublishOutcome;
import io.weir.transport.api.PublishOutcome.Accepted;
import io.weir.transport.api.SubscriptionCommand.Finish;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An application that joins two broker JVMs as a member. */
@SideBySide
@Timeout(180)
class ActorApiIT {
    private static final Duration SOON = Duration.ofSeconds(60);
    private static final MessageContext CONTEXT = MessageContext.of("order-7").withHeader("trace", "abc");

    @Test
    void shouldServeAnApplicationThatIsAMemberOfTheCluster() {
        try (BrokerCluster cluster = BrokerCluster.of(2)
                .from(BuiltDistribution.installation())
                .in(BuiltDistribution.directory("actor-api"))
                .start()) {
            cluster.awaitAllUp(SOON);
            ActorTestKit application =
                    ActorTestKit.create("weir", config(cluster.status("b1").address()));
            try {
                ActorRef<BrokerCommand> broker =
                        brokers(application, 2).iterator().next();
                TestProbe<ConsumerEvent> consumer = application.createTestProbe();
                TestProbe<PublishOutcome> outcomes = application.createTestProbe();
                broker.tell(new Subscribe("orders", "billing", 10, Duration.ofSeconds(60), consumer.ref()));
                Subscribed subscribed = consumer.expectMessageClass(Subscribed.class, SOON);
                broker.tell(new Publish("orders", "two chairs".getBytes(UTF_8), CONTEXT, outcomes.ref()));
                outcomes.expectMessageClass(Accepted.class, SOON);
                Delivery delivery = consumer.expectMessageClass(Delivery.class, SOON);
                assertThat(new String(delivery.body(), UTF_8)).isEqualTo("two chairs");
                assertThat(delivery.context()).isEqualTo(CONTEXT);
                subscribed.subscription().tell(new Finish(delivery.id()));
                // A second acknowledgement is answered, so the first one was taken.
                subscribed.subscription().tell(new Finish(delivery.id()));
                consumer.expectMessageClass(ConsumerEvent.NotHeld.class, SOON);
                for (String id : new String[] {"b1", "b2"}) {
                    assertThat(cluster.status(id).members())
                            .as("members as %s sees them", id)
                            .extracting(member -> member.id())
                            .containsExactly("b1", "b2");
                }
            } finally {
                application.shutdownTestKit();
            }
        }
    }

    private static Config config(String seed) {
        return ConfigFactory.parseString("akka.remote.artery.canonical { hostname = 127.0.0.1, port = 0 }\n"
                        + "akka.cluster { seed-nodes = [\"akka://weir@" + seed + "\"], jmx.enabled = off }\n"
                        + "akka.loglevel = WARNING")
                .withFallback(ConfigFactory.parseResources("weir-application.conf"))
                .withFallback(ConfigFactory.load());
    }

    private static Set<ActorRef<BrokerCommand>> brokers(ActorTestKit application, int count) {
        TestProbe<Receptionist.Listing> listings = application.createTestProbe();
        application.system().receptionist().tell(Receptionist.subscribe(BrokerCommand.KEY, listings.ref()));
        Set<ActorRef<BrokerCommand>> found = Set.of();
        while (found.size() < count) {
            found = listings.receiveMessage(SOON).getServiceInstances(BrokerCommand.KEY);
        }
        return found;
    }
}

package io.weir.topics.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import akka.actor.testkit.typed.javadsl.ActorTestKit;
import akka.actor.testkit.typed.javadsl.TestProbe;
import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorRefResolver;
import akka.actor.typed.ActorSystem;
import akka.cluster.typed.Cluster;
import akka.cluster.typed.Join;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.weir.topics.example.Billing;
import io.weir.topics.path.RunningBroker;
import io.weir.transport.api.BrokerCommand;
import io.weir.transport.api.BrokerCommand.Publish;
import io.weir.transport.api.BrokerCommand.Subscribe;
import io.weir.transport.api.ConsumerEvent;
import io.weir.transport.api.ConsumerEvent.Delivery;
import io.weir.transport.api.ConsumerEvent.Ended;
import io.weir.transport.api.ConsumerEvent.Subscribed;
import io.weir.transport.api.MessageContext;
import io.weir.transport.api.PublishOutcome;
import io.weir.transport.api.PublishOutcome.Accepted;
import io.weir.transport.gateway.GatewaySettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * An application in an actor system of its own, which joins the broker's over a real connection: the example of
 * ACTOR-API.md.
 */
@Timeout(120)
class ActorApiExampleTest {
    private static final Duration SOON = Duration.ofSeconds(40);
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final MessageContext CONTEXT = MessageContext.of("order-7").withHeader("trace", "abc");
    private static final int FRAME_BYTES = 64 * 1024;

    private RunningBroker broker;
    private ActorTestKit brokerNode;
    private ActorRef<BrokerCommand> api;

    @BeforeEach
    void start() throws IOException {
        broker = RunningBroker.start().supply("orders", 1_000, 1_000).supply("invoices", 1_000, 1_000);
        brokerNode = ActorTestKit.create("weir", config("broker"));
        Cluster cluster = Cluster.get(brokerNode.system());
        cluster.manager().tell(Join.create(cluster.selfMember().address()));
        ApiSettings settings = ApiSettings.of(GatewaySettings.defaults(), FRAME_BYTES);
        api = brokerNode.spawn(
                BrokerApi.create(
                        broker.path(),
                        settings,
                        address -> StreamSupport.stream(
                                        cluster.state().getMembers().spliterator(), false)
                                .anyMatch(member -> member.address().equals(address)),
                        System::nanoTime),
                BrokerApi.NAME,
                BrokerApi.props());
    }

    private static Config config(String role) {
        return ConfigFactory.parseString("akka.remote.artery.canonical { hostname = 127.0.0.1, port = 0 }\n"
                        + "akka.cluster { roles = [" + role + "], jmx.enabled = off }\nakka.loglevel = WARNING")
                .withFallback(ConfigFactory.parseResources("weir-application.conf"))
                .withFallback(ConfigFactory.load());
    }

    @AfterEach
    void stop() {
        brokerNode.shutdownTestKit();
        broker.close();
    }

    @Test
    void shouldCarryOrdersToInvoicesAcrossNodes() {
        TestProbe<PublishOutcome> outcomes = brokerNode.createTestProbe();
        TestProbe<ConsumerEvent> invoices = brokerNode.createTestProbe();
        api.tell(new Subscribe("invoices", "print", 10, MINUTE, invoices.ref()));
        invoices.expectMessageClass(Subscribed.class);
        api.tell(new Publish("orders", "two chairs".getBytes(UTF_8), CONTEXT, outcomes.ref()));
        outcomes.expectMessageClass(Accepted.class);

        ActorSystem<Billing.Command> application = Billing.start(seed());
        try {
            Delivery invoice = invoices.expectMessageClass(Delivery.class, SOON);
            assertThat(new String(invoice.body(), UTF_8)).isEqualTo("invoice for two chairs");
            assertThat(invoice.context()).isEqualTo(CONTEXT);
            RunningBroker.await(
                    "the order is finished",
                    () -> broker.channel("orders", "billing").finished() == 1);
        } finally {
            application.terminate();
            RunningBroker.await(application.getWhenTerminated());
        }
        RunningBroker.await(
                "the application's consumer has left",
                () -> broker.channel("orders", "billing").consumers() == 0);
    }

    @Test
    void shouldEndTheSubscriptionWhenAMessageIsTooLargeForTheNetwork() {
        ActorTestKit application = ActorTestKit.create("weir", config("application"));
        try {
            join(application);
            TestProbe<ConsumerEvent> remote = application.createTestProbe();
            remoteApi(application).tell(new Subscribe("orders", "work", 10, MINUTE, remote.ref()));
            remote.expectMessageClass(Subscribed.class, SOON);
            TestProbe<PublishOutcome> outcomes = brokerNode.createTestProbe();
            api.tell(new Publish("orders", new byte[FRAME_BYTES], MessageContext.NONE, outcomes.ref()));
            outcomes.expectMessageClass(Accepted.class);
            assertThat(remote.expectMessageClass(Ended.class, SOON).reason()).contains("too large for a consumer");
            TestProbe<ConsumerEvent> local = brokerNode.createTestProbe();
            api.tell(new Subscribe("orders", "work", 10, MINUTE, local.ref()));
            local.expectMessageClass(Subscribed.class);
            assertThat(local.expectMessageClass(Delivery.class, SOON).body()).hasSize(FRAME_BYTES);
        } finally {
            application.shutdownTestKit();
        }
    }

    @Test
    void shouldLetNonMembersPublishButNotConsume() {
        ActorTestKit stranger = ActorTestKit.create("weir", config("application"));
        try {
            TestProbe<PublishOutcome> outcomes = stranger.createTestProbe();
            remoteApi(stranger).tell(new Publish("orders", "x".getBytes(UTF_8), MessageContext.NONE, outcomes.ref()));
            outcomes.expectMessageClass(Accepted.class, SOON);
            TestProbe<ConsumerEvent> consumer = stranger.createTestProbe();
            remoteApi(stranger).tell(new Subscribe("orders", "work", 10, MINUTE, consumer.ref()));
            assertThat(consumer.expectMessageClass(Ended.class, SOON).reason()).contains("not a member");
        } finally {
            stranger.shutdownTestKit();
        }
    }

    @Test
    void shouldBeTheExampleThatTheDocumentShows() throws IOException {
        String code = Files.readString(Path.of("src/test/java/io/weir/topics/example/Billing.java"));
        String shown = code.substring(code.indexOf("/** Publishes an invoice"));
        assertThat(Files.readString(Path.of("../ACTOR-API.md"))).contains(shown);
    }

    private String seed() {
        return Cluster.get(brokerNode.system())
                .selfMember()
                .address()
                .hostPort()
                .replaceFirst(".*@", "");
    }

    private void join(ActorTestKit application) {
        Cluster.get(application.system())
                .manager()
                .tell(Join.create(Cluster.get(brokerNode.system()).selfMember().address()));
        RunningBroker.await(
                "both are members",
                () -> StreamSupport.stream(
                                        Cluster.get(brokerNode.system())
                                                .state()
                                                .getMembers()
                                                .spliterator(),
                                        false)
                                .count()
                        == 2);
    }

    private ActorRef<BrokerCommand> remoteApi(ActorTestKit from) {
        String path = ActorRefResolver.get(brokerNode.system()).toSerializationFormat(api);
        return ActorRefResolver.get(from.system()).resolveActorRef(path);
    }
}

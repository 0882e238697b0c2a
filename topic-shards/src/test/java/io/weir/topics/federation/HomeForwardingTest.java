package io.weir.topics.federation;

import static io.weir.topics.federation.LinkedBrokers.TOPIC;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.topics.api.InProcessPublisher;
import io.weir.topics.definition.LimitMode;
import io.weir.topics.definition.Overflow;
import io.weir.topics.definition.TopicSettings;
import io.weir.topics.path.NsqSocket;
import io.weir.topics.path.RunningBroker;
import io.weir.transport.api.MessageContext;
import io.weir.transport.api.PublishOutcome;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A publisher's messages go to its home broker, over a real media driver. */
@Timeout(120)
class HomeForwardingTest {
    @RegisterExtension
    final LinkedBrokers brokers = new LinkedBrokers();

    @Test
    void shouldTellAPublisherWhatItsHomeSays() throws Exception {
        LinkedBroker a = brokers.broker("a");
        LinkedBroker b = brokers.broker("b");
        b.topics = topic -> switch (topic.value()) {
            case "none" -> throw new IllegalArgumentException("nobody may make that topic");
            case "unknown" -> null;
            case "policed" -> TopicSettings.defaults().with(LimitMode.POLICE);
            default -> TopicSettings.defaults();
        };
        b.broker.supply("policed", 0.001, 2);
        LinkedBroker.join(a, b);
        a.home = b.id();
        NsqSocket publisher = brokers.open(a.publisher());

        publisher.sendBody("PUB " + TOPIC, "m");
        assertThat(publisher.answer()).isEqualTo("OK");
        publisher.sendBatch(TOPIC, "m1", "m2", "m3");
        assertThat(publisher.answer()).isEqualTo("OK");
        assertThat(b.broker.stats(TOPIC).published()).isEqualTo(4);

        publisher.sendBatch("policed", "m1", "m2");
        assertThat(publisher.answer()).isEqualTo("OK");
        publisher.sendBody("PUB policed", "m3");
        assertThat(publisher.answer()).startsWith("E_PUB_FAILED").contains("retry after");

        NsqSocket unlucky = brokers.open(a.publisher());
        unlucky.sendBody("PUB none", "m");
        assertThat(unlucky.answer()).startsWith("E_PUB_FAILED").contains("nobody may make that topic", "home b");

        publisher.sendBody("PUB unknown", "m");
        RunningBroker.await("it waits at its home", () -> b.isWaiting("unknown", 1));
        b.cut();
        assertThat(publisher.answer()).startsWith("E_PUB_FAILED").contains("link", "not known");
        assertThat(a.stats().forwardsLost()).isEqualTo(1);
        assertThat(a.stats().forwarded()).isEqualTo(6);

        // Without its home a publisher is served where it is.
        NsqSocket orphan = brokers.open(a.publisher());
        orphan.sendBody("PUB " + TOPIC, "m");
        assertThat(orphan.answer()).isEqualTo("OK");
        assertThat(a.broker.stats(TOPIC).published()).isEqualTo(1);
    }

    /**
     * Through an intake, which hears what kind of outcome it is; over the clients' protocol all failures look alike.
     */
    @Test
    void shouldKeepTheKindOfAnOutcomeOnItsWayFromTheHome() throws Exception {
        LinkedBroker a = brokers.broker("a");
        LinkedBroker b = brokers.broker("b");
        b.topics = topic -> switch (topic.value()) {
            case "none" -> throw new IllegalArgumentException("nobody may make that topic");
            case "slow" -> new TopicSettings(LimitMode.SHAPE, 1_000_000, 10, 10, Overflow.HOLD_BACK);
            default -> TopicSettings.defaults();
        };
        LinkedBroker.join(a, b);
        a.home = b.id();
        InProcessPublisher intake = new InProcessPublisher(
                a.broker.path(), new InProcessPublisher.Bounds(1_000, 1_000, 1_000, 10, 10_000), System::nanoTime);

        assertThat(publish(intake, "none")).isInstanceOfSatisfying(PublishOutcome.UnknownTopic.class, unknown -> {
            assertThat(unknown.topic()).isEqualTo("none");
            assertThat(unknown.reason()).contains("nobody may make that topic", "home b");
        });
        assertThat(publish(intake, "slow")).isInstanceOfSatisfying(PublishOutcome.Failed.class, late -> {
            assertThat(late.overLimit()).isTrue();
            assertThat(late.reason()).contains("waited longer", "home b");
        });
        assertThat(publish(intake, TOPIC)).isInstanceOf(PublishOutcome.Accepted.class);
        assertThat(a.stats().forwarded()).isEqualTo(3);
    }

    private static PublishOutcome publish(InProcessPublisher intake, String topic) throws Exception {
        CompletableFuture<PublishOutcome> outcome = new CompletableFuture<>();
        intake.publish(topic, MessageContext.NONE, null, new byte[] {1}, 0, outcome::complete);
        return outcome.get(20, TimeUnit.SECONDS);
    }

    @Test
    void shouldAnswerAPublicationThatIsTooLargeForItsHome() throws Exception {
        LinkedBroker a = brokers.broker("a");
        LinkedBroker b = brokers.smallBroker("b", "driver");
        LinkedBroker.join(a, b);
        a.home = b.id();
        String large = "x".repeat(10_000);
        NsqSocket one = brokers.open(a.publisher());
        one.sendBody("PUB " + TOPIC, large);
        assertThat(one.answer()).startsWith("E_PUB_FAILED").contains("8192", "home b");
        NsqSocket batch = brokers.open(a.publisher());
        batch.sendBatch(TOPIC, "small", large);
        assertThat(batch.answer()).startsWith("E_MPUB_FAILED").contains("home b");
        NsqSocket small = brokers.open(a.publisher());
        small.sendBody("PUB " + TOPIC, "small");
        assertThat(small.answer()).isEqualTo("OK");
        assertThat(b.broker.stats(TOPIC).published())
                .as("nothing of the others")
                .isEqualTo(1);
        assertThat(b.stats().malformed()).isEqualTo(2);
    }

    @Test
    void shouldSendOnToAHomeWhileOutcomesAreOutstandingAndAnswerInOrder() throws Exception {
        LinkedBroker a = brokers.broker("a");
        LinkedBroker b = brokers.broker("b");
        LinkedBroker.join(a, b);
        a.home = b.id();
        NsqSocket publisher = brokers.open(a.publisher());
        int count = 100;
        for (int i = 0; i < count; i++) {
            // Every tenth goes past the others, to a topic with supply: its answer must not.
            publisher.sendBody("PUB " + (i % 10 == 9 ? TOPIC : "dry"), "m" + i);
        }
        RunningBroker.await("as many wait at the home as may be open", () -> b.isWaiting("dry", 58));
        RunningBroker.await(
                "those of the other topic have passed",
                () -> b.broker.stats(TOPIC).published() == 6);
        assertThat(a.stats().forwarded()).isEqualTo(64);

        b.broker.supply("dry", 1_000_000, 1_000_000);
        for (int i = 0; i < count; i++) {
            assertThat(publisher.answer()).isEqualTo("OK");
        }
        assertThat(b.broker.stats("dry").published()).isEqualTo(90);
        assertThat(a.stats().forwarded()).isEqualTo(count);
    }

    @Test
    void shouldNotLetAPublicationOvertakeThoseOnTheirWayToAHome() throws Exception {
        LinkedBroker a = brokers.broker("a");
        LinkedBroker b = brokers.broker("b");
        LinkedBroker.join(a, b);
        a.broker.supply("dry", 1_000_000, 1_000_000);
        a.home = b.id();
        NsqSocket publisher = brokers.open(a.publisher());
        publisher.sendBody("PUB dry", "first");
        RunningBroker.await("it waits at its home", () -> b.isWaiting("dry", 1));

        a.home = null;
        publisher.sendBody("PUB dry", "second");
        NsqSocket other = brokers.open(a.publisher());
        other.sendBody("PUB dry", "of another");
        assertThat(other.answer()).isEqualTo("OK");
        publisher.send("NOP\n");
        assertThat(a.broker.stats("dry").published()).isEqualTo(1);

        b.broker.supply("dry", 1_000_000, 1_000_000);
        assertThat(publisher.answer()).isEqualTo("OK");
        assertThat(publisher.answer()).isEqualTo("OK");
        assertThat(a.broker.stats("dry").published()).isEqualTo(2);
    }

    @Test
    void shouldTellAPublisherThatAskedWhereItBelongsAndAgainWhenThatChanges() throws IOException {
        LinkedBroker a = brokers.broker("a");
        LinkedBroker b = brokers.broker("b");
        LinkedBroker.join(a, b);
        NsqSocket asked = brokers.open(a.publisher());
        NsqSocket never = brokers.open(a.publisher());
        asked.sendBody("IDENTIFY", "{\"feature_negotiation\":true,\"weir_homes\":true}");
        assertThat(asked.answer()).contains("\"broker_id\":\"a\",\"weir_homes\":true");

        assertThat(outcome(asked)).isEqualTo("0 OK");
        a.home = b.id();
        assertThat(outcome(asked))
                .isEqualTo("3 {\"topic\":\"" + TOPIC + "\",\"broker\":\"b\",\"tcp\":\"b.example:4150\"} 0 OK");
        assertThat(outcome(asked)).isEqualTo("0 OK");
        assertThat(outcome(never)).isEqualTo("0 OK");
        a.home = null;
        assertThat(outcome(asked))
                .isEqualTo("3 {\"topic\":\"" + TOPIC + "\",\"broker\":\"a\",\"tcp\":\"a.example:4150\"} 0 OK");
        assertThat(outcome(never)).isEqualTo("0 OK");
    }

    /** The frames up to the answer of one publication. */
    private static String outcome(NsqSocket publisher) throws IOException {
        publisher.sendBody("PUB " + TOPIC, "m");
        NsqSocket.Frame frame = publisher.frame();
        return frame.type() == 3 ? "3 " + frame.text() + " " + outcomeOnly(publisher.frame()) : outcomeOnly(frame);
    }

    private static String outcomeOnly(NsqSocket.Frame frame) {
        return frame.type() + " " + frame.text();
    }
}

package io.weir.topics.federation;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Sharing;
import io.weir.topics.definition.Definitions;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import io.weir.topics.definition.TopicSettings;
import io.weir.topics.path.NsqSocket;
import io.weir.topics.path.PipelinedLoad;
import io.weir.topics.path.RunningBroker;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tokens that brokers lend each other, over a real media driver. */
@Timeout(120)
class LoansTest {
    private static final String TOPIC = "shared";
    private static final int BURST = 10;
    /** So slow that the tests see no refill. */
    private static final double RATE = 0.001;

    @RegisterExtension
    final LinkedBrokers brokers = new LinkedBrokers();

    private LinkedBroker broker(String id, Sharing sharing) throws Exception {
        LinkedBroker broker = brokers.broker(id);
        broker.broker.supply(TOPIC, RATE, BURST);
        define(broker, sharing);
        return broker;
    }

    private static void define(LinkedBroker broker, Sharing sharing) {
        LimitSettings limit = new LimitSettings(1, 1, 0, sharing);
        TopicDefinition definition = Definitions.of(new TopicName(TOPIC), limit, TopicSettings.defaults());
        RunningBroker.await(broker.broker.path().apply(definition));
    }

    private static void publish(NsqSocket publisher, int messages) throws Exception {
        for (int i = 0; i < messages; i++) {
            publisher.sendBody("PUB " + TOPIC, "m");
        }
    }

    private static long published(LinkedBroker broker) {
        return broker.broker.stats(TOPIC).published();
    }

    @Test
    void shouldUseTheTokensOfAllBrokersAndNoMoreWhenEverythingIsPublishedAtOne() throws Exception {
        LinkedBroker a = broker("a", Sharing.GOSSIP);
        LinkedBroker b = broker("b", Sharing.GOSSIP);
        LinkedBroker c = broker("c", Sharing.ADAPTOR);
        LinkedBroker.join(a, b);
        LinkedBroker.join(a, c);
        NsqSocket publisher = brokers.open(a.publisher());
        int all = 3 * BURST;

        publish(publisher, all + 5);
        // Less than a token may be left at each.
        RunningBroker.await("a has nearly all", () -> published(a) >= all - 3);
        for (int i = 0; i < all - 3; i++) {
            assertThat(publisher.answer()).isEqualTo("OK");
        }
        NsqSocket other = brokers.open(b.publisher());
        publish(other, 5);
        RunningBroker.await("one waits at b", () -> b.broker.stats(TOPIC).waiting() == 1);
        assertThat(published(a) + published(b)).isLessThanOrEqualTo(all);
        assertThat(a.stats().borrowedMicros()).isGreaterThan((2 * BURST - 3) * 1_000_000L);
        assertThat(a.stats().malformed() + b.stats().malformed() + c.stats().malformed())
                .isZero();
    }

    @Test
    void shouldUseNoTokenTwiceWhenEveryFrameOfLoansComesTwiceAndSomeRequestsAreLost() throws Exception {
        LinkedBroker a = broker("a", Sharing.GOSSIP);
        LinkedBroker b = broker("b", Sharing.GOSSIP);
        AtomicInteger sent = new AtomicInteger();
        a.loanCopies = () -> sent.getAndIncrement() % 5 == 0 ? 0 : 2;
        b.loanCopies = () -> 2;
        LinkedBroker.join(a, b);
        NsqSocket publisher = brokers.open(a.publisher());
        int all = 2 * BURST;

        publish(publisher, all + 5);
        RunningBroker.await("a has nearly all", () -> published(a) >= all - 2);
        NsqSocket other = brokers.open(b.publisher());
        publish(other, 5);
        RunningBroker.await("one waits at b", () -> b.broker.stats(TOPIC).waiting() == 1);
        assertThat(published(a) + published(b)).isLessThanOrEqualTo(all);
        assertThat(sent.get()).as("frames of a, a fifth of them lost").isGreaterThan(1);
    }

    @Test
    void shouldBorrowNothingWhenTheTopicIsStatic() throws Exception {
        LinkedBroker a = broker("a", Sharing.STATIC);
        LinkedBroker b = broker("b", Sharing.STATIC);
        LinkedBroker.join(a, b);
        NsqSocket publisher = brokers.open(a.publisher());

        publish(publisher, BURST + 1);
        RunningBroker.await("one waits", () -> a.broker.stats(TOPIC).waiting() == 1);
        assertThat(published(a)).isEqualTo(BURST);
        assertThat(a.stats().loanFrames() + b.stats().loanFrames()).isZero();

        define(a, Sharing.GOSSIP);
        define(b, Sharing.GOSSIP);
        RunningBroker.await("it borrows from now on", () -> published(a) == BURST + 1);
    }

    @Test
    void shouldGoOnWithItsOwnTokensWhenTheLinkBreaks() throws Exception {
        LinkedBroker a = broker("a", Sharing.GOSSIP);
        LinkedBroker b = broker("b", Sharing.GOSSIP);
        LinkedBroker.join(a, b);
        NsqSocket publisher = brokers.open(a.publisher());
        publish(publisher, BURST + 2);
        RunningBroker.await("two were lent", () -> published(a) == BURST + 2);
        b.cut();
        RunningBroker.await("a is alone", () -> a.stats().peers() == 0);

        a.broker.supply(TOPIC, RATE, BURST);
        long before = published(a);
        publish(publisher, BURST);
        RunningBroker.await("it has tokens of its own", () -> published(a) >= before + BURST - 1);
    }

    @Test
    void shouldAllocateNothingPerMessageThatBorrows() throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        int messages = 8_000;
        LinkedBroker a = brokers.broker("a");
        LinkedBroker b = brokers.broker("b");
        for (LinkedBroker broker : new LinkedBroker[] {a, b}) {
            broker.broker.supply(TOPIC, 20_000, 40);
            define(broker, Sharing.GOSSIP);
        }
        LinkedBroker.join(a, b);
        try (PipelinedLoad load = new PipelinedLoad(a.broker.address(), a.broker.address(), TOPIC, 100)) {
            load.run(3 * messages);
            double atA = Double.MAX_VALUE;
            double atB = Double.MAX_VALUE;
            long frames = a.stats().loanFrames();
            for (int batch = 0; batch < 4; batch++) {
                long beforeA = threads.getThreadAllocatedBytes(a.broker.threadId());
                long beforeB = threads.getThreadAllocatedBytes(b.broker.threadId());
                load.run(messages);
                atA = Math.min(
                        atA, (threads.getThreadAllocatedBytes(a.broker.threadId()) - beforeA) / (double) messages);
                atB = Math.min(
                        atB, (threads.getThreadAllocatedBytes(b.broker.threadId()) - beforeB) / (double) messages);
            }
            assertThat(a.stats().loanFrames() - frames).as("it does borrow").isGreaterThan(1_000);
            assertThat(atA).as("bytes per message where it is published").isLessThan(2);
            assertThat(atB).as("bytes per message where it is lent").isLessThan(2);
        }
    }
}

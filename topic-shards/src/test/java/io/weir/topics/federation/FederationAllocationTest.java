package io.weir.topics.federation;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.weir.topics.path.AllocationTest;
import io.weir.topics.path.PipelinedLoad;
import io.weir.topics.path.RunningBroker;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** As {@link AllocationTest}, on both ends of a link. */
@Timeout(120)
class FederationAllocationTest {
    private static final int BATCHES = 4;

    @RegisterExtension
    final LinkedBrokers brokers = new LinkedBrokers();

    @Test
    void shouldAllocateNothingPerMessageThatIsConsumedElsewhere() throws Exception {
        measure(false, 40_000);
    }

    @Test
    void shouldAllocateNothingPerMessageThatIsPublishedAtItsHome() throws Exception {
        measure(true, 3_200);
    }

    /** Published at one broker, consumed at the other; forwarded there, or fetched from there. */
    private void measure(boolean forwarded, int messages) throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (LinkedBroker a = new LinkedBroker("a", brokers.driver()).supply("orders");
                LinkedBroker b = new LinkedBroker("b", brokers.driver()).supply("orders")) {
            LinkedBroker.join(a, b);
            a.home = forwarded ? b.id() : null;
            try (PipelinedLoad load = new PipelinedLoad(a.broker.address(), b.broker.address(), "orders", 100)) {
                RunningBroker.await("a knows the consumer at b", () -> a.hasConsumers("orders", "work", 1));
                load.run(3 * messages);
                // What is allocated for each message is allocated in every batch; what grows once, in one of them.
                double atA = Double.MAX_VALUE;
                double atB = Double.MAX_VALUE;
                for (int batch = 0; batch < BATCHES; batch++) {
                    long beforeA = threads.getThreadAllocatedBytes(a.broker.threadId());
                    long beforeB = threads.getThreadAllocatedBytes(b.broker.threadId());
                    load.run(messages);
                    long afterA = threads.getThreadAllocatedBytes(a.broker.threadId());
                    long afterB = threads.getThreadAllocatedBytes(b.broker.threadId());
                    atA = Math.min(atA, (afterA - beforeA) / (double) messages);
                    atB = Math.min(atB, (afterB - beforeB) / (double) messages);
                }
                assertThat(atA).as("bytes per message where it is published").isLessThan(2);
                assertThat(atB).as("bytes per message where it is consumed").isLessThan(2);
                long passed = forwarded
                        ? a.stats().forwarded()
                        : a.stats().deliveredToPeers() - b.stats().givenBack();
                assertThat(passed).isEqualTo((3L + BATCHES) * messages);
            }
        }
    }
}

package io.weir.topics;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The hot path allocates nothing per message once it is warm; what is left is the selector's, per wake-up. */
@Timeout(60)
class AllocationTest {
    private static final int MESSAGES = 200_000;

    @Test
    void shouldAllocateNothingPerMessageOnceWarm() throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (RunningBroker broker = RunningBroker.start().supply("orders", 100_000_000, 100_000_000);
                PipelinedLoad load = new PipelinedLoad(broker.address(), "orders", 100)) {
            load.run(MESSAGES);
            long before = threads.getThreadAllocatedBytes(broker.threadId());
            load.run(MESSAGES);
            long allocated = threads.getThreadAllocatedBytes(broker.threadId()) - before;
            assertThat(allocated / (double) MESSAGES)
                    .as("bytes per message on the gateway's thread")
                    .isLessThan(16);
            assertThat(broker.channel("orders", "work").delivered()).isEqualTo(2L * MESSAGES);
        }
    }

    @Test
    void shouldAllocateNothingPerMessageThatWaitsForItsToken() throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (RunningBroker broker = RunningBroker.start().supply("orders", 50_000, 100);
                PipelinedLoad load = new PipelinedLoad(broker.address(), "orders", 100)) {
            load.run(32_000);
            long before = threads.getThreadAllocatedBytes(broker.threadId());
            load.run(64_000);
            long allocated = threads.getThreadAllocatedBytes(broker.threadId()) - before;
            assertThat(broker.gate("orders").delayed()).isPositive();
            assertThat(allocated / 64_000.0)
                    .as("bytes per message on the gateway's thread")
                    .isLessThan(16);
        }
    }
}

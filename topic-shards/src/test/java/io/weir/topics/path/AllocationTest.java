package io.weir.topics.path;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.weir.config.value.TopicName;
import io.weir.topics.algorithm.ArrivalRecording;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The hot path allocates nothing per message once it is warm; what is left is the selector's, per wake-up. */
@Timeout(60)
public class AllocationTest {
    private static final int BATCHES = 3;
    private static final int MESSAGES = 200_000;

    @Test
    void shouldAllocateNothingPerMessageOnceWarm() throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (RunningBroker broker = RunningBroker.start().supply("orders", 100_000_000, 100_000_000);
                PipelinedLoad load = new PipelinedLoad(broker.address(), "orders", 100)) {
            load.run(MESSAGES);
            assertThat(leastAllocated(threads, broker, load, MESSAGES))
                    .as("bytes per message on the gateway's thread")
                    .isLessThan(2);
            assertThat(broker.channel("orders", "work").delivered()).isEqualTo((1L + BATCHES) * MESSAGES);
        }
    }

    @Test
    void shouldAllocateNothingPerMessageThatWaitsForItsToken() throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (RunningBroker broker = RunningBroker.start().supply("orders", 50_000, 100);
                PipelinedLoad load = new PipelinedLoad(broker.address(), "orders", 100)) {
            load.run(32_000);
            double least = leastAllocated(threads, broker, load, 32_000);
            assertThat(broker.gate("orders").delayed()).isPositive();
            assertThat(least).as("bytes per message on the gateway's thread").isLessThan(2);
        }
    }

    @Test
    void shouldAllocateNothingPerMessageThatIsRecorded() throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (RunningBroker broker = RunningBroker.start().supply("orders", 100_000_000, 100_000_000);
                PipelinedLoad load = new PipelinedLoad(broker.address(), "orders", 100)) {
            load.run(MESSAGES);
            ArrivalRecording recording =
                    new ArrivalRecording(ArrivalRecording.MOST_INSTANTS, ArrivalRecording.LONGEST_NS);
            broker.path()
                    .record(new TopicName("orders"), recording)
                    .toCompletableFuture()
                    .get();
            assertThat(leastAllocated(threads, broker, load, MESSAGES))
                    .as("bytes per message on the gateway's thread")
                    .isLessThan(2);
            assertThat(broker.path()
                            .recorded(recording, true)
                            .toCompletableFuture()
                            .get()
                            .messages())
                    .isEqualTo((long) BATCHES * MESSAGES);
        }
    }

    /** What is allocated for each message is allocated in every batch; what grows once, in one of them. */
    private static double leastAllocated(ThreadMXBean threads, RunningBroker broker, PipelinedLoad load, int messages)
            throws Exception {
        double least = Double.MAX_VALUE;
        for (int batch = 0; batch < BATCHES; batch++) {
            long before = threads.getThreadAllocatedBytes(broker.threadId());
            load.run(messages);
            long after = threads.getThreadAllocatedBytes(broker.threadId());
            least = Math.min(least, (after - before) / (double) messages);
        }
        return least;
    }
}

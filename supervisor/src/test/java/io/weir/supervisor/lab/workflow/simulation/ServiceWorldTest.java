package io.weir.supervisor.lab.workflow.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.limiter.simulation.Sample;
import io.weir.supervisor.lab.workflow.simulation.Setup.Control;
import io.weir.supervisor.lab.workflow.simulation.Setup.Flow;
import io.weir.supervisor.lab.workflow.simulation.Setup.Step;
import io.weir.supervisor.lab.workflow.simulation.Setup.Tier;
import io.weir.topics.algorithm.Schedule;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class ServiceWorldTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long SEED = 4;

    private static Flow flow(int number, int tasks) {
        List<Step> steps = List.of(new Step(0, -1, 1, 1e6), new Step(1, 0, tasks, 10e6));
        return new Flow(number, "w" + number, steps, List.of(List.of(), List.of()));
    }

    private static ServiceWorld world(Control control) {
        List<Tier> tiers = List.of(new Tier("front", 2, 8), new Tier("back", 2, 4));
        return new ServiceWorld(new Setup(tiers, control), new SplittableRandom(SEED));
    }

    private static List<String> history(Control control) {
        ServiceWorld world = world(control);
        List<String> history = new ArrayList<>();
        for (int w = 1; w <= 2; w++) {
            world.open(
                    flow(w, w),
                    200 * w,
                    10 * SECOND,
                    200_000_000L,
                    request -> history.add(request.workflow() + " " + request.startNs() + " " + request.endNs() + " "
                            + request.end()));
        }
        world.run(20 * SECOND);
        return history;
    }

    @Test
    void shouldReplayWhenTheSeedIsTheSame() {
        Control control = Control.rates(Schedule.LSTF).fairly();
        assertThat(history(control)).isNotEmpty().isEqualTo(history(control));
    }

    @Test
    void shouldEndEveryRequestOnce() {
        ServiceWorld world = world(Control.rates(Schedule.EDF));
        long[] ends = new long[3];
        List<Request> late = new ArrayList<>();
        for (int i = 0; i < 3_000; i++) {
            world.after(
                    i * 1_000_000L,
                    () -> world.submit(flow(1, 4), 100_000_000L, request -> {
                        ends[request.end().ordinal()]++;
                        if (request.end() == Request.End.DONE && !request.inTime()) {
                            late.add(request);
                        }
                    }));
        }
        world.run(60 * SECOND);
        assertThat(ends[0] + ends[1] + ends[2]).isEqualTo(3_000);
        assertThat(ends[0])
                .as("done, of which more than half in time at five times what fits")
                .isGreaterThan(200);
        assertThat((double) late.size()).isLessThan(0.5 * ends[0]);
        assertThat(ends[1]).as("refused").isPositive();
    }

    @Test
    void shouldTakeTheServiceTimeWhenNobodyElseIsThere() {
        ServiceWorld world = world(Control.BASELINE);
        Sample latencyMs = new Sample();
        world.open(flow(1, 1), 10, 200 * SECOND, SECOND, request -> latencyMs.add(request.latencyMs()));
        world.run(210 * SECOND);
        assertThat(latencyMs.mean()).as("1 ms and 10 ms, seed %d", SEED).isCloseTo(11, within(1.0));
    }

    @Test
    void shouldHoldAnOverloadedServiceBelowItsCapacity() {
        ServiceWorld world = world(Control.rates(Schedule.FIFO));
        long[] done = new long[1];
        Sample queued = new Sample();
        world.open(flow(1, 1), 2_000, 30 * SECOND, 10 * SECOND, request -> {
            if (request.inTime() && world.nowNs() > 10 * SECOND) {
                done[0]++;
            }
        });
        world.everyInterval(now -> {
            if (now.nowNs() > 10 * SECOND) {
                queued.add(now.queued(1));
            }
        });
        world.run(30 * SECOND);
        assertThat(done[0] / 20.0).as("of 800/s").isGreaterThan(0.8 * 800);
        assertThat(queued.mean()).as("a quarter of a second of work").isLessThan(200);
    }
}

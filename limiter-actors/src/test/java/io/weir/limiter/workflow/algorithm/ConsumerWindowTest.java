package io.weir.limiter.workflow.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayDeque;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** A consumer with handlers and a queue of its own, which the broker does not see. */
class ConsumerWindowTest {
    private static final long INTERVAL_NS = 100_000_000L;
    private static final long SEED = 3;

    private final SplittableRandom random = new SplittableRandom(SEED);
    private final ConsumerWindow window = ConsumerWindow.learning();
    private final ChannelCapacity channel = new ChannelCapacity(0);

    private record Delivery(long atNs, boolean quiet) {}

    private record Work(long endNs, Delivery delivery) {}

    private final PriorityQueue<Work> working = new PriorityQueue<>((a, b) -> Long.compare(a.endNs, b.endNs));
    private final ArrayDeque<Delivery> inClient = new ArrayDeque<>();
    private long nowNs;
    private double serviceNs;
    private int handlers;
    /** So many a second come; infinite if messages always wait. */
    private double rate = Double.POSITIVE_INFINITY;

    private double owed;
    private long queued;
    private long finished;

    private void run(double seconds) {
        long untilNs = nowNs + (long) (seconds * 1e9);
        while (nowNs < untilNs) {
            long endNs = nowNs + INTERVAL_NS;
            for (long tickNs = nowNs; tickNs < endNs; tickNs += 1_000_000) {
                owed += rate / 1e3;
                while (owed >= 1 && !Double.isInfinite(rate)) {
                    owed--;
                    queued++;
                }
                while (!working.isEmpty() && working.peek().endNs <= tickNs) {
                    finish(working.poll());
                }
                deliver(tickNs);
                nowNs = tickNs;
            }
            nowNs = endNs;
            window.interval(INTERVAL_NS, channel.pressed(nowNs));
            channel.interval((int) Math.min(queued, 10_000), List.of(window), nowNs);
        }
    }

    private void finish(Work work) {
        long tookNs = work.endNs - work.delivery.atNs;
        window.finished(tookNs, work.delivery.quiet);
        channel.finished(1, tookNs, work.delivery.quiet);
        finished++;
        if (!inClient.isEmpty()) {
            begin(inClient.poll(), work.endNs);
        }
        deliver(work.endNs);
    }

    private void deliver(long atNs) {
        while (window.open() && (Double.isInfinite(rate) || queued > 0)) {
            queued = Double.isInfinite(rate) ? 10_000 : queued - 1;
            Delivery delivery = new Delivery(atNs, window.delivered());
            if (working.size() < handlers) {
                begin(delivery, atNs);
            } else {
                inClient.add(delivery);
            }
        }
        channel.waiting(Double.isInfinite(rate) || queued > 0, atNs);
    }

    private void begin(Delivery delivery, long atNs) {
        double draw = -Math.log(1 - random.nextDouble());
        working.add(new Work(atNs + (long) (serviceNs * (0.75 + 0.25 * draw)), delivery));
    }

    @Test
    void shouldFindEightHandlersAndTheirCapacityBehindAnyCredit() {
        handlers = 8;
        serviceNs = 3.8e6;
        run(30);
        long before = finished;
        run(30);
        double possible = 8 / 3.8e-3;
        assertThat((finished - before) / 30.0).as("throughput, seed %d", SEED).isGreaterThan(0.95 * possible);
        assertThat(channel.rate()).as("C").isCloseTo(possible, within(0.05 * possible));
        assertThat(channel.exact()).isTrue();
        assertThat(window.window()).as("W").isBetween(8, 26);
        assertThat(window.handlers()).as("k̂").isCloseTo(8, within(1.5));
        assertThat(channel.costNs(1)).isCloseTo(3_800_000, within(500_000L));
        assertThat(channel.overloaded()).as("10,000 wait").isTrue();
    }

    @Test
    void shouldFollowWhenItsConsumerBecomesSlower() {
        handlers = 4;
        serviceNs = 5e6;
        run(20);
        serviceNs = 20e6;
        run(40);
        assertThat(channel.rate()).isCloseTo(200, within(20.0));
        assertThat(window.window()).isBetween(4, 16);
    }

    @Test
    void shouldOnlySayAtLeastWhenNothingEverWaits() {
        handlers = 8;
        serviceNs = 3.8e6;
        rate = 100;
        run(20);
        assertThat(channel.overloaded()).isFalse();
        assertThat(channel.rate()).isGreaterThanOrEqualTo(95);
        Resource resource = new Resource(1);
        channel.tell(resource);
        assertThat(resource.overloaded()).isFalse();
    }

    @Test
    void shouldNotTakeATimeOutForAServiceTime() {
        window.delivered();
        window.gone();
        window.interval(INTERVAL_NS, true);
        assertThat(window.serviceNs()).isZero();
        assertThat(window.inFlight()).isZero();
        assertThat(window.exact()).isFalse();
    }

    @Test
    void shouldTakeItsHandlersWhenTheConsumerNamesThem() {
        ConsumerWindow named = ConsumerWindow.of(3);
        for (int i = 0; i < 3; i++) {
            assertThat(named.open()).isTrue();
            assertThat(named.delivered()).isTrue();
        }
        assertThat(named.open()).isFalse();
        named.interval(INTERVAL_NS, true);
        assertThat(named.window()).isEqualTo(3);
    }
}

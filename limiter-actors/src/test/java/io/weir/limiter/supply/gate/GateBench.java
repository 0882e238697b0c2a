package io.weir.limiter.supply.gate;

import static io.weir.config.value.Limit.MICROS;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.TokenBucket;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What one message costs at the gate: token, lease, demand, beside the bare bucket and two readings of the clock.
 * {@code mvn -Pquick,bench -pl limiter-actors -am test -Dbench="GateBench -prof gc"} runs it.
 *
 * <p>Told time: the clock is a field, so that only the work is measured. Clock: {@code System.nanoTime}, read before
 * the token is taken and again after it, as the protocol wants.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class GateBench {
    private static final long RATE = 20_000_000L;
    private static final TopicName TOPIC = new TopicName("orders");

    private final Holder holder = new Holder(new BrokerId("b1"), 1);
    private final Lease lease = new Lease(Long.MAX_VALUE / 4);
    private final TokenBucket bucket = new TokenBucket(RATE * MICROS, RATE * MICROS, RATE * MICROS, System.nanoTime());
    private final Gates gates;
    private final TopicGate gate;
    private long nowNs = System.nanoTime();

    public GateBench() {
        lease.renewed(nowNs);
        gates = new Gates(holder, lease, 1_000, () -> {});
        gates.add(
                holder,
                Map.of(
                        TOPIC,
                        Holding.of(new Share(RATE * MICROS, RATE * MICROS), 0).full()));
        gates.poll(() -> nowNs);
        gate = gates.gate(TOPIC, nowNs);
    }

    @Benchmark
    public boolean bareBucketToldTime() {
        nowNs += 100;
        return bucket.tryTake(1, nowNs);
    }

    @Benchmark
    public boolean gateToldTime() {
        nowNs += 100;
        return gate.admit(1, this::now);
    }

    @Benchmark
    public boolean gateAndDemandToldTime() {
        nowNs += 100;
        boolean passed = gate.admit(1, this::now);
        gate.arrived(1, 0, nowNs);
        return passed;
    }

    @Benchmark
    public boolean gateAndDemandWithClock() {
        boolean passed = gate.admit(1, System::nanoTime);
        gate.arrived(1, 0, gate.stampNs());
        return passed;
    }

    @Benchmark
    public long twoReadingsOfTheClock() {
        return System.nanoTime() - System.nanoTime();
    }

    private long now() {
        return nowNs;
    }
}

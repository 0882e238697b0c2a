package io.weir.topics.path;

import static io.weir.config.value.Limit.MICROS;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.gate.Gates;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.topics.definition.Definitions;
import io.weir.topics.definition.TopicSettings;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import io.weir.transport.gateway.Subscriber;
import io.weir.transport.gateway.Subscription;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The limiter's price a message: the gate and the line before it, called as {@link TokenLine} calls them, beside a
 * whole shard's work on the message (store, limiter, channel, delivery, acknowledgement), all without sockets.
 * {@code mvn -Pquick,limit-bench -pl topic-shards -am test} runs it; what a message costs with sockets is
 * {@code dataPathNanosPerMessage} of {@code weir bench throughput -o json}.
 *
 * <p>{@code clock}: field, set by the benchmark, so that only the work is measured; read, {@code System.nanoTime} as in
 * a broker. {@code turn}: messages of one publisher that come at once. A broker reads the clock twice for a run of them
 * ({@link io.weir.limiter.supply.gate.algorithm.Gate#admitNext}), so alone a message pays for both readings.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class LimitBench {
    private static final long RATE = 50_000_000L;
    private static final TopicName TOPIC = new TopicName("orders");
    private static final int BODY_BYTES = 100;
    /** So many wait in line while one passes. */
    private static final int IN_LINE = 1_000;

    @Param({"field", "read"})
    public String clock;

    @Param({"1", "32"})
    public int turn;

    private final WaitingLine line = new FifoLine();
    private final Outcomes outcomes = new Outcomes();
    private final PublishRequest request = new PublishRequest();
    private final ByteBuffer in = ByteBuffer.allocateDirect(256);
    private LongSupplier time;
    private Gates gates;
    private TopicGate gate;
    private Shards shards;
    private Reader reader;
    private Publication spare = new Publication();
    private long nowNs;
    private int topicLength;
    private boolean fieldClock;
    private int inTurn;

    /** Takes every outcome, and remembers only how many there were. */
    private static final class Outcomes implements Publisher {
        long accepted;

        @Override
        public void accepted(long ticket) {
            accepted++;
        }

        @Override
        public void throttled(long ticket, long retryAfterNs) {
            throw new IllegalStateException("throttled");
        }

        @Override
        public void failed(long ticket, String reason) {
            throw new IllegalStateException(reason);
        }
    }

    /** Remembers which message it got last. */
    private static final class Reader implements Subscriber {
        Subscription subscription;
        long lastId;

        @Override
        public boolean deliver(long timestampNs, int attempts, long id, ByteBuffer body, int bodyAt, int bodyLength) {
            lastId = id;
            return true;
        }

        @Override
        public void gone(String reason) {
            throw new IllegalStateException(reason);
        }
    }

    @Setup
    public void setUp() {
        nowNs = System.nanoTime();
        fieldClock = clock.equals("field");
        time = fieldClock ? () -> nowNs : System::nanoTime;
        Holder holder = new Holder(new BrokerId("b1"), 1);
        Lease lease = new Lease(Long.MAX_VALUE / 4);
        lease.renewed(nowNs);
        gates = new Gates(holder, lease, 1_000, () -> {});
        Share share = new Share(RATE * MICROS, RATE * MICROS);
        gates.add(holder, Map.of(TOPIC, Holding.of(share, 0).full()));
        gates.poll(() -> nowNs);
        gate = gates.gate(TOPIC, nowNs);
        for (int i = 0; i < IN_LINE; i++) {
            line.add(one(new Publication()));
        }
        shards = new Shards(PathSettings.defaults(), 1 << 20, gates, (topic, token) -> {}, 1, time, () -> 5_000);
        shards.apply(Definitions.of(TOPIC, TopicSettings.defaults()));
        reader = new Reader();
        reader.subscription = shards.subscribe(reader, TOPIC.value(), "work", TimeUnit.MINUTES.toNanos(1), nowNs);
        reader.subscription.ready(10, nowNs);
        byte[] name = TOPIC.value().getBytes(StandardCharsets.US_ASCII);
        topicLength = name.length;
        in.put(name).put(new byte[BODY_BYTES]);
    }

    /** As in the loop, messages of one turn have one time; answers whether this one follows another in its turn. */
    private boolean tick() {
        boolean next = ++inTurn < turn;
        if (!next) {
            inTurn = 0;
            nowNs = fieldClock ? nowNs + 100L * turn : System.nanoTime();
        }
        return next;
    }

    private boolean admit(boolean next) {
        return next ? gate.admitNext(1, time) : gate.admit(1, time);
    }

    private Publication one(Publication publication) {
        publication.begin(outcomes, 1, nowNs, 1);
        publication.add(1);
        return publication;
    }

    /** A message that finds its token: what {@link TokenLine#publish} asks of the limiter. */
    @Benchmark
    public boolean gateWhenItPassesAtOnce() {
        boolean passed = admit(tick());
        gate.arrived(1, 0, nowNs);
        return passed;
    }

    /** A message that has to stand in line first: into it, and one out of it, as {@link TokenLine#drain} does it. */
    @Benchmark
    public boolean gateAndLineWhenItWaits() {
        boolean next = tick();
        line.add(one(spare));
        gate.arrived(1, IN_LINE + 1, nowNs);
        gate.countDelayed(1);
        boolean expired = line.expired(nowNs - TimeUnit.HOURS.toNanos(1)) != null;
        Publication first = line.peek();
        boolean passed = admit(next);
        line.remove();
        gate.waiting(IN_LINE, nowNs);
        spare = first;
        return passed && !expired;
    }

    /** The whole of a shard's work on one message, limiter included. */
    @Benchmark
    public long wholeShard() {
        tick();
        request.begin(outcomes, 1, in, nowNs).topic(0, topicLength).body(topicLength, BODY_BYTES);
        shards.publish(request, nowNs);
        reader.subscription.finish(reader.lastId, nowNs);
        return outcomes.accepted;
    }
}

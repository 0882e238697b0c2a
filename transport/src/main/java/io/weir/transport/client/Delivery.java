package io.weir.transport.client;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A message that the consumer holds until it is finished, requeued, or the broker's time-out is over. Its methods may
 * be called from any thread, later too; the first of {@link #finish} and {@link #requeue} counts.
 */
public final class Delivery {
    private final MessageConsumer consumer;
    private final BrokerConnection connection;
    private final String id;
    private final int attempts;
    private final long timestampNs;
    private final byte[] body;
    /** Zero if the broker did not tell. */
    private final long timeoutNs;
    /** When it came or was touched last, so later than the broker counts from. Changed by the loop alone. */
    private volatile long takenNs;

    private final AtomicBoolean decided = new AtomicBoolean();
    private final AtomicBoolean touching = new AtomicBoolean();

    Delivery(
            MessageConsumer consumer,
            BrokerConnection connection,
            String id,
            int attempts,
            long timestampNs,
            byte[] body,
            long timeoutNs,
            long nowNs) {
        this.consumer = consumer;
        this.connection = connection;
        this.id = id;
        this.attempts = attempts;
        this.timestampNs = timestampNs;
        this.body = body;
        this.timeoutNs = timeoutNs;
        takenNs = nowNs;
    }

    public String topic() {
        return consumer.topic();
    }

    /** Of the message, while it is held: another delivery of it has the same. */
    public String id() {
        return id;
    }

    /** 1 at first. */
    public int attempts() {
        return attempts;
    }

    /** When the broker took the message in, in nanoseconds since 1970. */
    public long timestampNs() {
        return timestampNs;
    }

    public byte[] body() {
        return body;
    }

    /**
     * The message is done with. A connection that breaks right then makes it come again.
     *
     * @return false if it was decided before
     */
    public boolean finish() {
        return decide("FIN " + id + "\n", true);
    }

    /**
     * The message should come again, to anybody. Once the broker's time-out is over it does so anyway, and nothing is
     * said.
     *
     * @return false if it was decided before
     */
    public boolean requeue(Duration delay) {
        return decide("REQ " + id + " " + Math.max(0, delay.toMillis()) + "\n", false);
    }

    /** The broker's time-out begins anew. Nothing happens if the message was decided or the time-out is over. */
    public void touch() {
        if (!decided.get() && touching.compareAndSet(false, true)) {
            consumer.command(this, "TOUCH " + id + "\n", null);
        }
    }

    private boolean decide(String command, boolean success) {
        if (!decided.compareAndSet(false, true)) {
            return false;
        }
        consumer.command(this, command, success);
        return true;
    }

    BrokerConnection connection() {
        return connection;
    }

    void touched(long nowNs) {
        takenNs = nowNs;
        touching.set(false);
    }

    /** Whether the broker has taken it back, by all that is known here. */
    boolean takenBack(long nowNs) {
        return timeoutNs > 0 && nowNs - takenNs > timeoutNs;
    }

    /**
     * Whether it counts against the broker's credit for certain. Well before its time-out, because the broker's clock
     * was ahead by the way.
     */
    boolean counts(long nowNs) {
        return timeoutNs == 0 || nowNs - takenNs <= timeoutNs / 2;
    }
}

package io.weir.topics.api;

import io.weir.config.value.TopicName;
import io.weir.topics.path.MessagePath;
import io.weir.transport.api.MessageContext;
import io.weir.transport.api.PublishOutcome;
import io.weir.transport.api.PublisherIdentity;
import io.weir.transport.gateway.AccessRights;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * The way to the message path for whoever publishes without a socket of the gateway's: actors and HTTP, one intake
 * each. Checks what is published and hands it over; may be called by any thread, and never waits. The outcome comes
 * once, at once if the publication is not handed over, else by the message path's thread, which must not be held up.
 *
 * <p>Bounds: a publication fails as busy when {@link Bounds#maxOutstanding} have no outcome yet or
 * {@link Bounds#maxQueuedBytes} are on their way to the message path.
 */
public final class InProcessPublisher {
    private static final String BUSY = "this broker is busy: ";

    /**
     * How much may come in.
     *
     * @param maxMessageBytes of one message's body and context together
     * @param maxBatchBytes of all bodies of a batch, with four bytes each for their lengths
     * @param maxDelayMs the longest that a message may be deferred
     * @param maxOutstanding publications that have no outcome yet; further ones fail
     * @param maxQueuedBytes of publications on their way to the message path; further ones fail, unless none is on its
     *     way
     */
    public record Bounds(
            int maxMessageBytes, int maxBatchBytes, long maxDelayMs, int maxOutstanding, long maxQueuedBytes) {}

    private final MessagePath path;
    private final Bounds bounds;
    private final LongSupplier clock;
    private final ApiPublication.Load load;
    private final AccessRights.Grant grant;

    /** @param clock the message path's */
    public InProcessPublisher(MessagePath path, Bounds bounds, LongSupplier clock) {
        this.path = path;
        this.bounds = bounds;
        this.clock = clock;
        this.load = new ApiPublication.Load(bounds);
        this.grant = null;
    }

    private InProcessPublisher(InProcessPublisher of, AccessRights.Grant grant) {
        this.path = of.path;
        this.bounds = of.bounds;
        this.clock = of.clock;
        this.load = of.load;
        this.grant = grant;
    }

    /** The same for a client that has shown a secret, by whose rights topics come to be; null for one that has not. */
    public InProcessPublisher by(AccessRights.Grant clients) {
        return clients == null ? this : new InProcessPublisher(this, clients);
    }

    /**
     * Publishes one message.
     *
     * @param publisher null for nobody in particular
     * @param body not to be changed afterwards
     * @param deferMs how long from now consumers do not get it
     */
    public void publish(
            String topic,
            MessageContext context,
            PublisherIdentity publisher,
            byte[] body,
            long deferMs,
            Consumer<PublishOutcome> outcome) {
        String problem = problemOf(topic, context);
        byte[] contextBytes = problem == null ? context.toBytes() : null;
        if (problem == null) {
            problem = problemOf(body, contextBytes.length);
        }
        if (problem == null && (deferMs < 0 || deferMs > bounds.maxDelayMs)) {
            problem = "a message can't be deferred by " + deferMs + " ms: 0 to " + bounds.maxDelayMs;
        }
        if (problem != null) {
            outcome.accept(new PublishOutcome.Failed(problem));
            return;
        }
        ByteBuffer in = begin(topic, contextBytes, body.length).put(body);
        long deferNs = TimeUnit.MILLISECONDS.toNanos(deferMs);
        send(new ApiPublication(topic, in, contextBytes.length, publisher, grant, 0, deferNs, load, clock, outcome));
    }

    /** Publishes several messages with one outcome; each of them gets the context. */
    public void publishBatch(
            String topic,
            MessageContext context,
            PublisherIdentity publisher,
            List<byte[]> bodies,
            Consumer<PublishOutcome> outcome) {
        String problem = problemOf(topic, context);
        byte[] contextBytes = problem == null ? context.toBytes() : null;
        if (problem == null) {
            problem = problemOf(bodies, contextBytes.length);
        }
        if (problem != null) {
            outcome.accept(new PublishOutcome.Failed(problem));
            return;
        }
        int bytes = bodies.stream().mapToInt(body -> 4 + body.length).sum();
        ByteBuffer in = begin(topic, contextBytes, bytes);
        bodies.forEach(body -> in.putInt(body.length).put(body));
        send(new ApiPublication(
                topic, in, contextBytes.length, publisher, grant, bodies.size(), 0, load, clock, outcome));
    }

    /** As the message path wants it: all in one buffer, first the topic's name, then the context. */
    private static ByteBuffer begin(String topic, byte[] context, int bytes) {
        return ByteBuffer.allocate(topic.length() + context.length + bytes)
                .put(topic.getBytes(StandardCharsets.US_ASCII))
                .put(context);
    }

    private void send(ApiPublication publication) {
        if (!load.begin(publication.bytes())) {
            publication.busy(BUSY + "too many publications wait for their outcome");
        } else if (!path.offer(publication)) {
            load.taken(publication.bytes());
            load.ended();
            publication.busy(BUSY + "its message path takes no more now");
        }
    }

    private static String problemOf(String topic, MessageContext context) {
        if (context == null) {
            return "a publication without context has MessageContext.NONE";
        }
        try {
            TopicName.of(topic);
            return null;
        } catch (IllegalArgumentException e) {
            return e.getMessage();
        }
    }

    private String problemOf(byte[] body, int contextLength) {
        if (body == null || body.length == 0) {
            return "a message's body must not be empty";
        }
        if (body.length > bounds.maxMessageBytes - contextLength) {
            return "a body of " + body.length + " bytes with a context of " + contextLength
                    + " is too large: together at most " + bounds.maxMessageBytes;
        }
        return null;
    }

    private String problemOf(List<byte[]> bodies, int contextLength) {
        if (bodies == null || bodies.isEmpty()) {
            return "a batch must not be empty";
        }
        long bytes = 0;
        for (byte[] body : bodies) {
            String problem = problemOf(body, contextLength);
            if (problem != null) {
                return problem;
            }
            bytes += 4L + body.length;
        }
        return bytes > bounds.maxBatchBytes
                ? "a batch of " + bytes + " bytes is too large: at most " + bounds.maxBatchBytes
                : null;
    }
}

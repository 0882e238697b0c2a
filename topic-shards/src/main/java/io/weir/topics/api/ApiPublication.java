package io.weir.topics.api;

import io.weir.topics.path.MessagePath;
import io.weir.transport.api.PublishOutcome;
import io.weir.transport.api.PublisherIdentity;
import io.weir.transport.gateway.AccessRights;
import io.weir.transport.gateway.Duty;
import io.weir.transport.gateway.MessagePort;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * What was published through an {@link InProcessPublisher}, on its way to the message path and until it has its outcome
 * there.
 */
final class ApiPublication implements MessagePath.Work, Publisher {
    /**
     * What all publications of an intake hold at the moment; counted up by whoever publishes, and down by the message
     * path.
     */
    static final class Load {
        private final InProcessPublisher.Bounds bounds;
        private int outstanding;
        private long queuedBytes;

        Load(InProcessPublisher.Bounds bounds) {
            this.bounds = bounds;
        }

        /** Answers false, and counts nothing, if that would be too much. */
        synchronized boolean begin(int bytes) {
            if (outstanding >= bounds.maxOutstanding()
                    || queuedBytes > 0 && queuedBytes + bytes > bounds.maxQueuedBytes()) {
                return false;
            }
            outstanding++;
            queuedBytes += bytes;
            return true;
        }

        synchronized void taken(int bytes) {
            queuedBytes -= bytes;
        }

        synchronized void ended() {
            outstanding--;
        }
    }

    private final String topic;
    private final int contextLength;
    private final PublisherIdentity publisher;
    private final AccessRights.Grant grant;
    private final int messages;
    private final long deferNs;
    private final Load load;
    private final LongSupplier clock;
    private final Consumer<PublishOutcome> outcome;
    /** Let go of when the message path has its own copy. */
    private ByteBuffer in;

    private long arrivedNs;
    private boolean waits;

    /**
     * @param in topic, context, and the body, or each body of a batch after its length
     * @param publisher null for nobody in particular
     * @param grant null for one that showed no secret
     * @param messages of a batch; 0 for one message
     */
    ApiPublication(
            String topic,
            ByteBuffer in,
            int contextLength,
            PublisherIdentity publisher,
            AccessRights.Grant grant,
            int messages,
            long deferNs,
            Load load,
            LongSupplier clock,
            Consumer<PublishOutcome> outcome) {
        this.topic = topic;
        this.in = in;
        this.contextLength = contextLength;
        this.publisher = publisher == null ? PublisherIdentity.NONE : publisher;
        this.grant = grant;
        this.messages = messages;
        this.deferNs = deferNs;
        this.load = load;
        this.clock = clock;
        this.outcome = outcome;
    }

    int bytes() {
        return in.capacity();
    }

    /** It was not handed over. */
    void busy(String reason) {
        outcome.accept(new PublishOutcome.Failed(reason));
    }

    @Override
    public void run(MessagePort port, long nowNs) {
        ByteBuffer given = in;
        in = null;
        load.taken(given.capacity());
        arrivedNs = nowNs;
        int contextAt = topic.length();
        int bodyAt = contextAt + contextLength;
        int bodyLength = given.capacity() - bodyAt;
        PublishRequest request = new PublishRequest()
                .begin(this, 0, given, nowNs)
                .topic(0, topic.length())
                .context(contextAt, contextLength)
                .batch(bodyAt, bodyLength, messages)
                .deferNs(deferNs);
        port.publish(request, nowNs);
        waits = true;
    }

    @Override
    public long id() {
        return Publisher.idOf(publisher.name());
    }

    @Override
    public boolean named() {
        return !publisher.name().isEmpty();
    }

    @Override
    public String group() {
        return publisher.group();
    }

    @Override
    public double expectedRate() {
        return publisher.rate();
    }

    @Override
    public AccessRights.Grant grant() {
        return grant;
    }

    @Override
    public void accepted(long ticket) {
        end(new PublishOutcome.Accepted(waits ? Duration.ofNanos(clock.getAsLong() - arrivedNs) : Duration.ZERO));
    }

    @Override
    public void throttled(long ticket, long retryAfterNs) {
        end(new PublishOutcome.Refused(
                retryAfterNs == Duty.NO_DEADLINE ? Optional.empty() : Optional.of(Duration.ofNanos(retryAfterNs))));
    }

    @Override
    public void failed(long ticket, String reason) {
        end(new PublishOutcome.Failed(reason));
    }

    @Override
    public void heldUpTooLong(long ticket, String reason) {
        end(new PublishOutcome.Failed(reason, true));
    }

    @Override
    public void unknownTopic(long ticket, String reason) {
        end(new PublishOutcome.UnknownTopic(topic, reason));
    }

    private void end(PublishOutcome result) {
        load.ended();
        outcome.accept(result);
    }
}

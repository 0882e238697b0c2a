package io.weir.topics;

import akka.actor.typed.ActorRef;
import io.weir.transport.api.PublishOutcome;
import io.weir.transport.gateway.Duty;
import io.weir.transport.gateway.MessagePort;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** What one actor published, on its way to the message path and until it has its outcome there. */
final class ApiPublication implements MessagePath.Work, Publisher {
    /** What all of a broker's publications by actors hold at the moment; counted up by one actor, and down by the message path. */
    static final class Load {
        private final AtomicInteger outstanding = new AtomicInteger();
        private final AtomicLong queuedBytes = new AtomicLong();

        /** Answers false, and counts nothing, if that would be too much. */
        boolean begin(int bytes, ApiSettings settings) {
            if (outstanding.get() >= settings.maxOutstanding()
                    || queuedBytes.get() > 0 && queuedBytes.get() + bytes > settings.maxQueuedBytes()) {
                return false;
            }
            outstanding.incrementAndGet();
            queuedBytes.addAndGet(bytes);
            return true;
        }

        void taken(int bytes) {
            queuedBytes.addAndGet(-bytes);
        }

        void ended() {
            outstanding.decrementAndGet();
        }
    }

    private final String topic;
    private final int contextLength;
    private final int messages;
    private final Load load;
    private final LongSupplier clock;
    private final ActorRef<PublishOutcome> replyTo;
    /** Let go of when the message path has its own copy. */
    private ByteBuffer in;

    private long arrivedNs;
    private boolean waits;

    /**
     * @param in topic, context, and the body, or each body of a batch after its length
     * @param messages of a batch; 0 for one message
     */
    ApiPublication(
            String topic,
            ByteBuffer in,
            int contextLength,
            int messages,
            Load load,
            LongSupplier clock,
            ActorRef<PublishOutcome> replyTo) {
        this.topic = topic;
        this.in = in;
        this.contextLength = contextLength;
        this.messages = messages;
        this.load = load;
        this.clock = clock;
        this.replyTo = replyTo;
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
                .batch(bodyAt, bodyLength, messages);
        port.publish(request, nowNs);
        waits = true;
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
    public void unknownTopic(long ticket, String reason) {
        end(new PublishOutcome.UnknownTopic(topic, reason));
    }

    private void end(PublishOutcome outcome) {
        load.ended();
        replyTo.tell(outcome);
    }
}

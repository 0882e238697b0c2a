package io.weir.topics;

import akka.actor.Address;
import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.MailboxSelector;
import akka.actor.typed.Props;
import akka.actor.typed.SupervisorStrategy;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.actor.typed.receptionist.Receptionist;
import io.weir.config.value.ChannelName;
import io.weir.config.value.TopicName;
import io.weir.transport.api.BrokerCommand;
import io.weir.transport.api.BrokerCommand.Publish;
import io.weir.transport.api.BrokerCommand.PublishBatch;
import io.weir.transport.api.BrokerCommand.Subscribe;
import io.weir.transport.api.ConsumerEvent;
import io.weir.transport.api.MessageContext;
import io.weir.transport.api.PublishOutcome;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.slf4j.event.Level;

/**
 * A broker's way in for actors. Checks what it is told and hands it to the message path; the outcome goes from there straight to
 * whoever asked, and a consumer gets an {@link ApiSubscription} of its own.
 *
 * <p>Bounds: a publication fails as busy when {@link ApiSettings#maxOutstanding} have no outcome yet or {@link
 * ApiSettings#maxQueuedBytes} are on their way to the message path. What comes faster than this actor can look at it is lost beyond
 * {@value #MAILBOX} messages, and whoever asked gets no answer.
 */
public final class BrokerApi extends AbstractBehavior<BrokerCommand> {
    public static final String NAME = "api";

    private static final int MAILBOX = 16 * 1024;
    private static final String BUSY = "this broker is busy: ";

    private final MessagePath path;
    private final ApiSettings settings;
    private final Predicate<Address> members;
    private final LongSupplier clock;
    private final ApiPublication.Load load = new ApiPublication.Load();

    /**
     * Registers with the receptionist.
     *
     * @param members whether a node is a member of the cluster: others' deaths would go unnoticed, so they do not consume
     * @param clock the message path's
     */
    public static Behavior<BrokerCommand> create(
            MessagePath path, ApiSettings settings, Predicate<Address> members, LongSupplier clock) {
        Behavior<BrokerCommand> api = Behaviors.setup(context -> {
            context.getSystem().receptionist().tell(Receptionist.register(BrokerCommand.KEY, context.getSelf()));
            return new BrokerApi(context, path, settings, members, clock);
        });
        // A message that lacks what it must have, such as whom to answer, is left aside.
        return Behaviors.supervise(api)
                .onFailure(RuntimeException.class, SupervisorStrategy.resume().withLogLevel(Level.DEBUG));
    }

    /** How it is to be spawned: with a bounded mailbox. */
    public static Props props() {
        return MailboxSelector.bounded(MAILBOX);
    }

    private BrokerApi(
            ActorContext<BrokerCommand> context,
            MessagePath path,
            ApiSettings settings,
            Predicate<Address> members,
            LongSupplier clock) {
        super(context);
        this.path = path;
        this.settings = settings;
        this.members = members;
        this.clock = clock;
    }

    @Override
    public Receive<BrokerCommand> createReceive() {
        return newReceiveBuilder()
                .onMessage(Publish.class, this::onPublish)
                .onMessage(PublishBatch.class, this::onPublishBatch)
                .onMessage(Subscribe.class, this::onSubscribe)
                .build();
    }

    private Behavior<BrokerCommand> onPublish(Publish publish) {
        String problem = problemOf(publish.topic(), publish.context());
        byte[] context = problem == null ? publish.context().toBytes() : null;
        if (problem == null) {
            problem = problemOf(publish.body(), context.length);
        }
        if (problem != null) {
            publish.replyTo().tell(new PublishOutcome.Failed(problem));
            return this;
        }
        ByteBuffer in = begin(publish.topic(), context, publish.body().length).put(publish.body());
        send(in, publish.topic(), context.length, 0, publish.replyTo());
        return this;
    }

    private Behavior<BrokerCommand> onPublishBatch(PublishBatch publish) {
        String problem = problemOf(publish.topic(), publish.context());
        byte[] context = problem == null ? publish.context().toBytes() : null;
        if (problem == null) {
            problem = problemOf(publish.bodies(), context.length);
        }
        if (problem != null) {
            publish.replyTo().tell(new PublishOutcome.Failed(problem));
            return this;
        }
        int bytes = publish.bodies().stream().mapToInt(body -> 4 + body.length).sum();
        ByteBuffer in = begin(publish.topic(), context, bytes);
        publish.bodies().forEach(body -> in.putInt(body.length).put(body));
        send(in, publish.topic(), context.length, publish.bodies().size(), publish.replyTo());
        return this;
    }

    /** As the message path wants it: all in one buffer, first the topic's name, then the context. */
    private static ByteBuffer begin(String topic, byte[] context, int bytes) {
        return ByteBuffer.allocate(topic.length() + context.length + bytes)
                .put(topic.getBytes(StandardCharsets.US_ASCII))
                .put(context);
    }

    private void send(ByteBuffer in, String topic, int contextLength, int messages, ActorRef<PublishOutcome> replyTo) {
        if (!load.begin(in.capacity(), settings)) {
            replyTo.tell(new PublishOutcome.Failed(BUSY + "too many publications wait for their outcome"));
            return;
        }
        ApiPublication publication = new ApiPublication(topic, in, contextLength, messages, load, clock, replyTo);
        if (!path.offer(publication)) {
            load.taken(in.capacity());
            load.ended();
            replyTo.tell(new PublishOutcome.Failed(BUSY + "its message path takes no more now"));
        }
    }

    private Behavior<BrokerCommand> onSubscribe(Subscribe subscribe) {
        String problem = problemOf(subscribe);
        if (problem == null) {
            getContext().spawnAnonymous(ApiSubscription.create(path, settings, subscribe), props());
        } else {
            subscribe.consumer().tell(new ConsumerEvent.Ended(subscribe.topic(), subscribe.channel(), problem));
        }
        return this;
    }

    private String problemOf(String topic, MessageContext context) {
        if (context == null) {
            return "a publication without context has MessageContext.NONE";
        }
        return problemOf(() -> new TopicName(topic));
    }

    private String problemOf(byte[] body, int contextLength) {
        if (body == null || body.length == 0) {
            return "a message's body must not be empty";
        }
        if (body.length > settings.maxMessageBytes() - contextLength) {
            return "a body of " + body.length + " bytes with a context of " + contextLength
                    + " is too large: together at most " + settings.maxMessageBytes();
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
        return bytes > settings.maxBatchBytes()
                ? "a batch of " + bytes + " bytes is too large: at most " + settings.maxBatchBytes()
                : null;
    }

    private String problemOf(Subscribe subscribe) {
        Address from = subscribe.consumer().path().address();
        if (from.hasGlobalScope() && !members.test(from)) {
            return "the consumer's node " + from + " is not a member of the cluster, so its death would go unnoticed";
        }
        if (getContext().getChildren().size() >= settings.maxSubscriptions()) {
            return "this broker has " + settings.maxSubscriptions() + " consumers already";
        }
        if (subscribe.credit() < 0 || subscribe.credit() > settings.maxCredit()) {
            return "a credit of " + subscribe.credit() + " is not between 0 and " + settings.maxCredit();
        }
        if (subscribe.messageTimeout() == null
                || subscribe.messageTimeout().isNegative()
                || subscribe.messageTimeout().isZero()
                || subscribe.messageTimeout().compareTo(Duration.ofMillis(settings.maxTimeoutMs())) > 0) {
            return "a message time-out of " + subscribe.messageTimeout() + " is not between 0 and "
                    + settings.maxTimeoutMs() + " ms";
        }
        String problem = problemOf(() -> new TopicName(subscribe.topic()));
        return problem != null ? problem : problemOf(() -> new ChannelName(subscribe.channel()));
    }

    private static String problemOf(Runnable check) {
        try {
            check.run();
            return null;
        } catch (IllegalArgumentException e) {
            return e.getMessage();
        }
    }
}

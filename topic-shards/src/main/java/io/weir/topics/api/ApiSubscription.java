package io.weir.topics.api;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.PostStop;
import akka.actor.typed.Terminated;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import io.weir.topics.path.MessagePath;
import io.weir.transport.api.BrokerCommand.Subscribe;
import io.weir.transport.api.ConsumerEvent;
import io.weir.transport.api.MessageContext;
import io.weir.transport.api.SubscriptionCommand;
import io.weir.transport.api.SubscriptionCommand.Credit;
import io.weir.transport.api.SubscriptionCommand.Finish;
import io.weir.transport.api.SubscriptionCommand.Requeue;
import io.weir.transport.api.SubscriptionCommand.Touch;
import io.weir.transport.api.SubscriptionCommand.Unsubscribe;
import io.weir.transport.gateway.MessagePort;
import io.weir.transport.gateway.Subscriber;
import io.weir.transport.gateway.Subscription;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * An actor's hold on a channel. Lives as long as the consumer, which it watches: whichever way it ends, what the
 * consumer held goes to others.
 *
 * <p>An acknowledgement that finds the message path's queue full is tried again. Deliveries need no queue with a bound
 * of its own: the consumer's credit is that bound.
 */
final class ApiSubscription extends AbstractBehavior<SubscriptionCommand> {
    private static final Duration TRY_AGAIN = Duration.ofMillis(10);

    private final MessagePath path;
    private final ApiSettings settings;
    private final ActorRef<ConsumerEvent> consumer;
    private final PathEnd end;

    static Behavior<SubscriptionCommand> create(MessagePath path, ApiSettings settings, Subscribe subscribe) {
        return Behaviors.setup(context -> new ApiSubscription(context, path, settings, subscribe));
    }

    private ApiSubscription(
            ActorContext<SubscriptionCommand> context, MessagePath path, ApiSettings settings, Subscribe subscribe) {
        super(context);
        this.path = path;
        this.settings = settings;
        this.consumer = subscribe.consumer();
        this.end = new PathEnd(subscribe, settings.maxRemoteBytes(), context.getSelf());
        context.watch(consumer);
        if (!path.offer(end::begin)) {
            end.giveUp("this broker is busy: its message path takes no more now");
        }
    }

    @Override
    public Receive<SubscriptionCommand> createReceive() {
        return newReceiveBuilder()
                .onMessage(Finish.class, finish -> onPath(finish, (port, nowNs) -> end.finish(finish.id(), nowNs)))
                .onMessage(Requeue.class, this::onRequeue)
                .onMessage(Touch.class, touch -> onPath(touch, (port, nowNs) -> end.touch(touch.id(), nowNs)))
                .onMessage(Credit.class, this::onCredit)
                .onMessage(Unsubscribe.class, unsubscribe -> Behaviors.stopped())
                .onSignal(Terminated.class, gone -> Behaviors.stopped())
                .onSignal(PostStop.class, stopped -> onPostStop())
                .build();
    }

    private Behavior<SubscriptionCommand> onPath(SubscriptionCommand command, MessagePath.Work work) {
        if (!path.offer(work)) {
            getContext().scheduleOnce(TRY_AGAIN, getContext().getSelf(), command);
        }
        return this;
    }

    /** A delay that is out of bounds becomes the nearest one that is not, as it does over TCP. */
    private Behavior<SubscriptionCommand> onRequeue(Requeue requeue) {
        Duration most = Duration.ofMillis(settings.maxDelayMs());
        Duration asked = requeue.delay() == null || requeue.delay().isNegative() ? Duration.ZERO : requeue.delay();
        long delayNs = (asked.compareTo(most) > 0 ? most : asked).toNanos();
        return onPath(requeue, (port, nowNs) -> end.requeue(requeue.id(), delayNs, nowNs));
    }

    private Behavior<SubscriptionCommand> onCredit(Credit credit) {
        if (credit.messages() < 0 || credit.messages() > settings.maxCredit()) {
            end.giveUp("a credit of " + credit.messages() + " is not between 0 and " + settings.maxCredit());
            return this;
        }
        return onPath(credit, (port, nowNs) -> end.credit(credit.messages(), nowNs));
    }

    private Behavior<SubscriptionCommand> onPostStop() {
        close(path, end);
        return this;
    }

    /** Without this actor: it is gone, and the channel must not go on delivering to nobody. */
    private static void close(MessagePath path, PathEnd end) {
        if (!path.offer((port, nowNs) -> end.close(nowNs)) && !path.closed()) {
            CompletableFuture.delayedExecutor(TRY_AGAIN.toMillis(), TimeUnit.MILLISECONDS)
                    .execute(() -> close(path, end));
        }
    }

    /** What the message path sees of it. On that thread only, but for the constructor and {@link #giveUp}. */
    private static final class PathEnd implements Subscriber {
        private final Subscribe asked;
        private final int maxBytes;
        private final ActorRef<SubscriptionCommand> self;
        private final long timeoutNs;
        private Subscription subscription;
        private boolean ended;

        PathEnd(Subscribe asked, int maxRemoteBytes, ActorRef<SubscriptionCommand> self) {
            this.asked = asked;
            this.maxBytes = asked.consumer().path().address().hasGlobalScope() ? maxRemoteBytes : Integer.MAX_VALUE;
            this.self = self;
            this.timeoutNs = asked.messageTimeout().toNanos();
        }

        void begin(MessagePort port, long nowNs) {
            if (ended) {
                return;
            }
            subscription = port.subscribe(this, asked.topic(), asked.channel(), timeoutNs, nowNs);
            if (subscription == null) {
                giveUp("this broker has no room for another topic or channel");
                return;
            }
            asked.consumer().tell(new ConsumerEvent.Subscribed(asked.topic(), asked.channel(), self));
            subscription.ready(asked.credit(), nowNs);
        }

        /** Sends the consumer the reason, and has the actor stop, whereupon this is closed. */
        void giveUp(String reason) {
            asked.consumer().tell(new ConsumerEvent.Ended(asked.topic(), asked.channel(), reason));
            self.tell(new Unsubscribe());
        }

        void finish(long id, long nowNs) {
            answer(id, subscription != null && subscription.finish(id, nowNs));
        }

        void requeue(long id, long delayNs, long nowNs) {
            answer(id, subscription != null && subscription.requeue(id, delayNs, nowNs));
        }

        void touch(long id, long nowNs) {
            answer(id, subscription != null && subscription.touch(id, nowNs));
        }

        private void answer(long id, boolean held) {
            if (!held) {
                asked.consumer().tell(new ConsumerEvent.NotHeld(id));
            }
        }

        void credit(int messages, long nowNs) {
            if (subscription != null) {
                subscription.ready(messages, nowNs);
            }
        }

        void close(long nowNs) {
            ended = true;
            if (subscription != null) {
                subscription.close(nowNs);
                subscription = null;
            }
        }

        @Override
        public boolean deliver(long timestampNs, int attempts, long id, ByteBuffer body, int bodyAt, int bodyLength) {
            return deliver(timestampNs, attempts, id, body, 0, 0, bodyAt, bodyLength);
        }

        @Override
        public boolean deliver(
                long timestampNs,
                int attempts,
                long id,
                ByteBuffer in,
                int contextAt,
                int contextLength,
                int bodyAt,
                int bodyLength) {
            if (contextLength + bodyLength > maxBytes) {
                // The network would drop it, again after every time-out.
                giveUp("a message of " + (contextLength + bodyLength)
                        + " bytes is too large for a consumer on another node: at most " + maxBytes);
                return false;
            }
            asked.consumer()
                    .tell(new ConsumerEvent.Delivery(
                            id,
                            attempts,
                            timestampNs,
                            copy(in, bodyAt, bodyLength),
                            contextLength == 0 ? MessageContext.NONE : context(copy(in, contextAt, contextLength)),
                            self));
            return true;
        }

        /**
         * One that cannot be read, of a later version perhaps, must not hold up the channel; the consumer can see it.
         */
        private static MessageContext context(byte[] bytes) {
            try {
                return MessageContext.fromBytes(bytes);
            } catch (IllegalArgumentException e) {
                return MessageContext.NONE.withHeader(MessageContext.UNREADABLE, String.valueOf(bytes.length));
            }
        }

        private static byte[] copy(ByteBuffer from, int at, int length) {
            byte[] bytes = new byte[length];
            from.get(at, bytes);
            return bytes;
        }

        @Override
        public void gone(String reason) {
            subscription = null;
            giveUp(reason);
        }
    }
}

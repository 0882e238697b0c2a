package io.weir.transport.client;

import io.weir.config.Endpoint;
import io.weir.config.value.ChannelName;
import io.weir.config.value.TopicName;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Consumes a channel. It holds no more messages than its credit, so every queue behind it is bounded by that. A lost
 * connection is opened again, at the next broker; what was held on it goes to somebody else, or comes again. So does
 * what was held for longer than the broker's time-out: as long as a handler is still at it, the broker gets that much
 * less credit, and what only waited for a handler is left.
 *
 * <p>When a handler throws, the consumer takes nothing for a while, then one message; when that is handled, all of its
 * credit counts again, otherwise it waits twice as long.
 */
public final class MessageConsumer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MessageConsumer.class);
    /**
     * Deliveries of lost connections may wait for a handler beside those of the present one; so many times the credit,
     * and it breaks too.
     */
    private static final int MOST_CREDITS = 10;

    private static final long WARN_AGAIN_NS = TimeUnit.MINUTES.toNanos(1);

    private final ClientLoop loop;
    private final ConsumerSettings settings;
    private final Executor handlers;
    private final DeliveryHandler handler;
    private final String topic;
    private final String channel;
    private final ConcurrentLinkedQueue<Command> commands = new ConcurrentLinkedQueue<>();
    private final Work work;
    private final LongAdder received = new LongAdder();
    private final LongAdder finished = new LongAdder();
    private final LongAdder requeued = new LongAdder();
    private final LongAdder failures = new LongAdder();
    private final LongAdder tooLate = new LongAdder();
    private final LongAdder lost = new LongAdder();
    private final AtomicLong inFlight = new AtomicLong();
    private final CompletableFuture<Void> quiet = new CompletableFuture<>();
    private volatile boolean closing;
    private volatile boolean ended;
    private volatile boolean backingOff;
    private volatile int connected;

    /** What a delivery wants to say; its decision, or null for a touch. At most two a delivery wait here. */
    private record Command(Delivery delivery, String line, Boolean success) {}

    MessageConsumer(
            ClientLoop loop,
            ClientSettings client,
            ConsumerSettings settings,
            HostLookup hosts,
            Executor handlers,
            String topic,
            String channel,
            DeliveryHandler handler) {
        this.loop = loop;
        this.settings = settings;
        this.handlers = handlers;
        this.handler = handler;
        this.topic = TopicName.of(topic).value();
        this.channel = new ChannelName(channel).value();
        work = new Work(client, hosts);
        if (!loop.execute(() -> loop.add(work))) {
            throw new IllegalStateException("the client is closed");
        }
    }

    public String topic() {
        return topic;
    }

    public String channel() {
        return channel;
    }

    public ConsumerStats stats() {
        return new ConsumerStats(
                received.sum(),
                finished.sum(),
                requeued.sum(),
                failures.sum(),
                tooLate.sum(),
                lost.sum(),
                connected,
                inFlight.get(),
                backingOff);
    }

    boolean ended() {
        return ended;
    }

    void command(Delivery delivery, String line, Boolean success) {
        commands.add(new Command(delivery, line, success));
        loop.wake();
    }

    private void handle(Delivery delivery) {
        if (!delivery.connection().open() || delivery.takenBack(System.nanoTime())) {
            // Its connection was lost, or it waited too long here: it is somebody else's by now, or comes again. Only
            // released here.
            delivery.requeue(settings.requeueDelay());
            return;
        }
        boolean handled = false;
        try {
            handler.handle(delivery);
            handled = true;
        } catch (Exception e) {
            if (e instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
            LOG.debug("Handler of {} on {} failed", channel, topic, e);
        } finally {
            // An Error goes on to the thread's end, but the message and its credit do not go with it.
            if (!handled) {
                failures.increment();
                delivery.requeue(settings.requeueDelay());
                loop.execute(() -> work.backOff(System.nanoTime()));
            } else if (settings.acknowledge()) {
                delivery.finish();
            }
        }
    }

    /** Takes no more messages, waits a while for those that it holds, and leaves. Not to be called by a handler. */
    @Override
    public void close() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        if (!loop.execute(() -> work.leave())) {
            return;
        }
        if (!loop.isCurrentThread()) {
            quiet.completeOnTimeout(null, settings.closeWithin().toMillis(), TimeUnit.MILLISECONDS)
                    .join();
        }
        boolean goesOn = loop.execute(() -> {
            work.end(System.nanoTime());
            done.complete(null);
        });
        if (goesOn && !loop.isCurrentThread()) {
            done.completeOnTimeout(null, 1, TimeUnit.SECONDS).join();
        }
    }

    /** The consumer's part on the loop. */
    private final class Work implements ClientLoop.Worker, BrokerConnection.Owner {
        private final List<Dialer> dialers = new ArrayList<>();
        /** With the messages that are held on each, as the broker has it: longest first. */
        private final Map<BrokerConnection, Set<Delivery>> subscribed = new HashMap<>();

        /** Held here, and by the brokers' clocks not any more. */
        private final Set<Delivery> takenBack = new HashSet<>();

        private int failedInARow;
        private long pausedUntilNs;
        private String warnedOf;
        private long warnedNs;
        private boolean probing;

        Work(ClientSettings client, HostLookup hosts) {
            int connections = Math.min(settings.connections(), client.brokers().size());
            for (int i = 0; i < connections; i++) {
                dialers.add(
                        new Dialer(loop, client, hosts, client.brokers(), i, null, settings.messageTimeout(), this));
            }
        }

        @Override
        public boolean hasMore() {
            return !commands.isEmpty();
        }

        @Override
        public boolean receive(long nowNs) {
            Command command = commands.poll();
            boolean any = command != null;
            while (command != null) {
                carryOut(command, nowNs);
                command = commands.poll();
            }
            return any;
        }

        private void carryOut(Command command, long nowNs) {
            Delivery delivery = command.delivery;
            BrokerConnection connection = delivery.connection();
            boolean late = delivery.takenBack(nowNs) || takenBack.contains(delivery);
            // The message's next delivery has the same id. It may be finished in its place, but it is not this one's to
            // give back or keep.
            if (connection.open() && (!late || command.success == Boolean.TRUE)) {
                connection.command(command.line);
            }
            if (command.success == null && late) {
                return;
            }
            Set<Delivery> held = subscribed.get(connection);
            boolean counted = held != null && held.remove(delivery);
            if (command.success == null) {
                delivery.touched(nowNs);
                if (counted) {
                    held.add(delivery);
                }
                return;
            }
            if (takenBack.remove(delivery)) {
                tellReady();
            }
            (command.success ? finished : requeued).increment();
            if (inFlight.decrementAndGet() == 0 && closing) {
                quiet.complete(null);
            }
            if (command.success && probing) {
                probing = false;
                failedInARow = 0;
                backingOff = false;
                tellReady();
            }
        }

        private void backOff(long nowNs) {
            // Those that were under way when the first failed say nothing new.
            if (backingOff && !probing) {
                return;
            }
            probing = false;
            backingOff = true;
            long pauseNs = settings.shortestBackoff().toNanos();
            long longestNs = settings.longestBackoff().toNanos();
            for (int i = 0; i < failedInARow && pauseNs < longestNs; i++) {
                pauseNs *= 2;
            }
            failedInARow++;
            pausedUntilNs = nowNs + Math.min(pauseNs, longestNs);
            tellReady();
        }

        @Override
        public long work(long nowNs) {
            long waitNs = ClientLoop.NEVER_NS;
            for (Dialer dialer : dialers) {
                waitNs = Math.min(waitNs, dialer.work(nowNs));
            }
            if (backingOff && !probing) {
                if (nowNs - pausedUntilNs < 0) {
                    return Math.min(waitNs, pausedUntilNs - nowNs);
                }
                probing = true;
                tellReady();
            }
            return waitNs;
        }

        private void tellReady() {
            boolean first = true;
            for (BrokerConnection connection : subscribed.keySet()) {
                tellReady(connection, first);
                first = false;
            }
        }

        private void tellReady(BrokerConnection connection, boolean first) {
            int credit = Math.max(0, settings.maxInFlight() - takenBack.size()) / dialers.size();
            if (closing || backingOff) {
                credit = probing && first && !closing ? 1 : 0;
            }
            connection.command("RDY " + Math.min(credit, connection.maxReady()) + "\n");
        }

        @Override
        public void opened(BrokerConnection connection, long nowNs) {
            connection.command("SUB " + topic + " " + channel + "\n");
        }

        @Override
        public void answered(BrokerConnection connection, boolean ok, long nowNs) {
            // The other answer that comes is CLOSE_WAIT.
            if (ok && subscribed.putIfAbsent(connection, new LinkedHashSet<>()) == null) {
                connected = subscribed.size();
                tellReady();
            }
        }

        @Override
        public void failed(BrokerConnection connection, String error, long nowNs) {
            if (error.startsWith("E_FIN_FAILED") || error.startsWith("E_REQ_FAILED")) {
                tooLate.increment();
            } else if (!error.startsWith("E_TOUCH_FAILED")) {
                warn(connection, error, nowNs);
                connection.close(error, nowNs);
            }
        }

        /** Not with every attempt of a consumer that may not have its channel. */
        private void warn(BrokerConnection connection, String error, long nowNs) {
            if (!error.equals(warnedOf) || nowNs - warnedNs > WARN_AGAIN_NS) {
                warnedOf = error;
                warnedNs = nowNs;
                LOG.warn("Broker {} says {} to the consumer of {} on {}", connection.endpoint(), error, channel, topic);
            }
        }

        @Override
        public void delivered(
                BrokerConnection connection, long timestampNs, int attempts, String id, byte[] body, long nowNs) {
            Set<Delivery> held = subscribed.get(connection);
            if (held == null
                    || held.size() >= settings.maxInFlight() && counted(held, nowNs) >= settings.maxInFlight()
                    || inFlight.get() >= (long) MOST_CREDITS * settings.maxInFlight()) {
                connection.close("more messages than there was credit or room for", nowNs);
                return;
            }
            received.increment();
            inFlight.incrementAndGet();
            Delivery delivery = new Delivery(
                    MessageConsumer.this,
                    connection,
                    id,
                    attempts,
                    timestampNs,
                    body,
                    connection.messageTimeoutNs(),
                    nowNs);
            held.add(delivery);
            try {
                handlers.execute(() -> handle(delivery));
            } catch (RejectedExecutionException e) {
                delivery.requeue(settings.requeueDelay());
            }
        }

        private static long counted(Set<Delivery> held, long nowNs) {
            return held.stream().filter(delivery -> delivery.counts(nowNs)).count();
        }

        @Override
        public void homeTold(BrokerConnection connection, String at, Endpoint home, long nowNs) {
            // Consumers get messages from all brokers wherever they are.
        }

        @Override
        public void closed(BrokerConnection connection, String reason, long nowNs) {
            if (subscribed.remove(connection) != null) {
                connected = subscribed.size();
                lost.increment();
                if (probing) {
                    tellReady();
                }
            }
        }

        @Override
        public void keepHouse(long nowNs) {
            // Time-outs of connections are the connections' own.
            int before = takenBack.size();
            for (Set<Delivery> held : subscribed.values()) {
                Iterator<Delivery> longestFirst = held.iterator();
                boolean more = true;
                while (more && longestFirst.hasNext()) {
                    Delivery delivery = longestFirst.next();
                    more = delivery.takenBack(nowNs);
                    if (more) {
                        longestFirst.remove();
                        takenBack.add(delivery);
                    }
                }
            }
            if (takenBack.size() > before) {
                tellReady();
            }
        }

        private void leave() {
            closing = true;
            for (BrokerConnection connection : subscribed.keySet()) {
                connection.command("RDY 0\nCLS\n");
            }
            if (inFlight.get() == 0) {
                quiet.complete(null);
            }
        }

        @Override
        public void end(long nowNs) {
            closing = true;
            ended = true;
            // What was decided last goes out before the connection does.
            receive(nowNs);
            for (BrokerConnection connection : List.copyOf(subscribed.keySet())) {
                connection.flush(nowNs);
            }
            dialers.forEach(dialer -> dialer.end("the consumer was closed", nowNs));
            quiet.complete(null);
            loop.remove(this);
        }
    }
}

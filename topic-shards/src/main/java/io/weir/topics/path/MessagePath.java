package io.weir.topics.path;

import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.Gates;
import io.weir.topics.algorithm.ArrivalRecording;
import io.weir.topics.algorithm.DelayCounts;
import io.weir.topics.algorithm.DelayTotals;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicDirectory;
import io.weir.topics.definition.TopicServer;
import io.weir.transport.gateway.ClientStats;
import io.weir.transport.gateway.Duty;
import io.weir.transport.gateway.GatewayLoop;
import io.weir.transport.gateway.GatewaySettings;
import io.weir.transport.gateway.MessagePort;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.agrona.concurrent.ManyToOneConcurrentArrayQueue;

/**
 * The message path of one broker, from publishers' sockets through the limit to consumers' sockets, on the gateway's
 * thread. That thread is also the one that admits at the {@link Gates}. All others ask through this class: a request
 * goes into a bounded queue that the thread works off between messages. If the queue is full, the answer fails at once.
 */
public final class MessagePath implements TopicServer, AutoCloseable {
    private static final int QUEUE = 1024;
    private static final int WORK_QUEUE = 16 * 1024;
    /** Topics and channels, or clients, that are looked at in one turn: some tens of microseconds. */
    private static final int LOOKS_A_TURN = 128;

    private static final String CLOSED = "the message path is closed";

    /** Something to be done with the port on the message path's thread. Must not wait and must not throw. */
    @FunctionalInterface
    public interface Work {
        void run(MessagePort port, long nowNs);
    }

    /** A request, with the answer that its caller waits for. */
    private static final class Command<T> {
        private final Supplier<T> work;
        private final CompletableFuture<T> answer = new CompletableFuture<>();

        Command(Supplier<T> work) {
            this.work = work;
        }

        /** An exception completes the answer too: the caller would otherwise wait for ever. */
        void run() {
            try {
                answer.complete(work.get());
            } catch (RuntimeException e) {
                answer.completeExceptionally(e);
            }
        }

        void refuse(String reason) {
            answer.completeExceptionally(new IllegalStateException(reason));
        }
    }

    private final ManyToOneConcurrentArrayQueue<Command<?>> commands = new ManyToOneConcurrentArrayQueue<>(QUEUE);
    /** Apart from the commands, so that load does not keep an operator out. */
    private final ManyToOneConcurrentArrayQueue<Work> work = new ManyToOneConcurrentArrayQueue<>(WORK_QUEUE);

    private final GatewayLoop loop;
    private final Shards shards;
    private final MessagePort port;
    private volatile boolean closed;

    private MessagePath(GatewayLoop loop, Shards shards, MessagePort port) {
        this.loop = loop;
        this.shards = shards;
        this.port = port;
    }

    /**
     * Starts the loop's thread, which owns the gates from now on.
     *
     * @param loop bound but not started; the gates were made with its {@link GatewayLoop#wakeUp}
     * @param clock the one the loop and the lease go by
     * @param others further duties of the thread, such as links to other brokers
     */
    public static MessagePath start(
            GatewayLoop loop,
            GatewaySettings gateway,
            PathSettings settings,
            Gates gates,
            TopicDirectory directory,
            LongSupplier clock,
            Duty... others) {
        return start(loop, gateway, settings, gates, directory, null, clock, others);
    }

    /**
     * As the other; what is published and consumed here also goes over the links to {@code otherBrokers}, unless that
     * is null.
     */
    public static MessagePath start(
            GatewayLoop loop,
            GatewaySettings gateway,
            PathSettings settings,
            Gates gates,
            TopicDirectory directory,
            OtherBrokers otherBrokers,
            LongSupplier clock,
            Duty... others) {
        Shards shards = new Shards(
                settings,
                gateway.maxMessageBytes(),
                gates,
                directory,
                new SecureRandom().nextLong() << 40,
                clock,
                System::currentTimeMillis);
        MessagePort port = otherBrokers == null ? shards : shards.federate(otherBrokers, gateway.maxMessageBytes());
        MessagePath path = new MessagePath(loop, shards, port);
        List<Duty> duties = new ArrayList<>();
        duties.add(path.new Commands());
        if (otherBrokers != null) {
            duties.add(otherBrokers);
        }
        duties.addAll(List.of(others));
        loop.start(port, duties.toArray(new Duty[0]));
        return path;
    }

    /** For another way in than the gateway; to be called on the loop's thread only, that is by one of its duties. */
    public MessagePort port() {
        return port;
    }

    /**
     * From any thread: has this done by the message path's. False if {@value #WORK_QUEUE} wait already, or the path is
     * closed.
     */
    public boolean offer(Work toDo) {
        boolean queued = !closed && work.offer(toDo);
        loop.wakeUp();
        return queued;
    }

    public boolean closed() {
        return closed;
    }

    @Override
    public CompletionStage<Void> apply(TopicDefinition definition) {
        return command(() -> shards.apply(definition));
    }

    @Override
    public CompletionStage<Void> update(TopicDefinition definition) {
        return command(() -> shards.update(definition));
    }

    @Override
    public CompletionStage<Map<TopicName, Long>> revisions() {
        return ask(shards::revisions);
    }

    @Override
    public CompletionStage<Void> refuse(TopicName topic, String reason) {
        return command(() -> shards.remove(topic, reason));
    }

    @Override
    public CompletionStage<Void> empty(TopicName topic) {
        return command(() -> shards.empty(topic));
    }

    @Override
    public CompletionStage<Void> emptyChannel(TopicName topic, String channel) {
        return command(() -> shards.emptyChannel(topic, channel));
    }

    public CompletionStage<List<TopicStats>> stats() {
        return ask(shards::stats);
    }

    /** As {@link #stats}, and for brokers with any number of topics: messages have their turns in between. */
    public CompletionStage<List<TopicLook>> looks() {
        return inTurns(
                shards::topics,
                shards::look,
                look -> look.stats().topic(),
                look -> 1 + look.stats().channels().size());
    }

    /**
     * What messages waited between their arrival at the cluster and their passing the limit here, since the last call,
     * of topics that had any.
     */
    public CompletionStage<Map<TopicName, DelayCounts.Window>> takeDelays() {
        return ask(shards::takeDelays);
    }

    /** Counts from now on how long messages of these topics take until consumers here have them; null: of all. */
    public CompletionStage<Void> measure(Set<TopicName> topics) {
        return command(() -> shards.measure(topics));
    }

    /** How long messages of the {@link #measure measured} topics took since the last call. */
    public CompletionStage<List<Delivered>> takeDeliveries() {
        return ask(shards::takeDeliveries);
    }

    /** The same of all topics together, since the beginning. */
    public CompletionStage<DeliveryTotals> deliveries() {
        return ask(shards::deliveries);
    }

    /**
     * What messages waited for the limit, from the beginning of each topic here, for as many readers as there are.
     *
     * @param only of this topic; empty: of all, which takes the path's thread a microsecond for some topics
     */
    public CompletionStage<Map<TopicName, DelayTotals>> delays(Optional<String> only) {
        return ask(() -> shards.delays(only));
    }

    /**
     * What arrives for that topic goes into this recording from now on, until its time is over or it is full. A
     * recording that was under way ends.
     */
    public CompletionStage<Void> record(TopicName topic, ArrivalRecording into) {
        return command(() -> shards.record(topic, into));
    }

    /**
     * How far a recording is. Once the answer says that it is over, its arrivals may be read.
     *
     * @param end whether it shall end now, if it is not over yet
     */
    public CompletionStage<ArrivalRecording.Progress> recorded(ArrivalRecording which, boolean end) {
        return ask(() -> shards.recorded(which, end));
    }

    /** All topics together; cheap, however many there are. */
    public CompletionStage<PathStats> totals() {
        return ask(shards::totals);
    }

    /** Who is connected; with many clients this takes several turns of the path's thread. */
    public CompletionStage<List<ClientStats>> clients() {
        return inTurns(loop::connections, loop::client, ClientStats::remoteAddress, client -> 1);
    }

    /**
     * Looks at a long list bit by bit, from its end to its beginning. Others may go meanwhile, and then those behind
     * them move forward, or the last one takes their place: so none that stays is missed, and one may be seen twice.
     *
     * @param name by which one that is seen twice is known
     * @param weight how much of a turn's work one is
     */
    private <T> CompletionStage<List<T>> inTurns(
            IntSupplier size, IntFunction<T> at, Function<T, Object> name, ToIntFunction<T> weight) {
        return inTurns(new LinkedHashMap<>(), Integer.MAX_VALUE, size, at, name, weight);
    }

    private <T> CompletionStage<List<T>> inTurns(
            Map<Object, T> seen,
            int before,
            IntSupplier size,
            IntFunction<T> at,
            Function<T, Object> name,
            ToIntFunction<T> weight) {
        return ask(() -> {
                    int next = Math.min(before, size.getAsInt());
                    int looked = 0;
                    while (next > 0 && looked < LOOKS_A_TURN) {
                        next--;
                        T found = at.apply(next);
                        seen.put(name.apply(found), found);
                        looked += weight.applyAsInt(found);
                    }
                    return next;
                })
                .thenCompose(next -> next == 0
                        ? CompletableFuture.completedFuture(List.copyOf(seen.values()))
                        : inTurns(seen, next, size, at, name, weight));
    }

    @Override
    public void close() {
        closed = true;
        loop.close();
        commands.drain(command -> command.refuse(CLOSED));
    }

    private CompletionStage<Void> command(Runnable work) {
        return ask(() -> {
            work.run();
            return null;
        });
    }

    private <T> CompletionStage<T> ask(Supplier<T> work) {
        Command<T> command = new Command<>(work);
        if (!commands.offer(command)) {
            command.refuse("the message path's queue of " + QUEUE + " commands is full");
        }
        loop.wakeUp();
        if (closed) {
            // The thread may be gone. If it still runs the command, whichever answer comes first counts.
            command.refuse(CLOSED);
        }
        return command.answer;
    }

    /** What others asked for, between messages. */
    private final class Commands implements Duty {
        @Override
        public int doWork(long nowNs) {
            // What a command asks for in its turn is for the next one.
            int most = commands.size();
            int done = 0;
            Command<?> command = most > 0 ? commands.poll() : null;
            while (command != null) {
                command.run();
                done++;
                command = done < most ? commands.poll() : null;
            }
            return done + work(nowNs);
        }

        private int work(long nowNs) {
            int done = 0;
            Work next = work.poll();
            while (next != null) {
                next.run(port(), nowNs);
                done++;
                next = done < QUEUE ? work.poll() : null;
            }
            if (done == QUEUE) {
                // Sockets have their turn; then there may be more here.
                loop.wakeUp();
            }
            return done;
        }

        @Override
        public long nextDeadlineNs() {
            return NO_DEADLINE;
        }
    }
}

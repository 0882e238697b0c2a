package io.weir.transport.client;

import io.weir.config.Endpoint;
import io.weir.config.value.TopicName;
import io.weir.transport.client.TopicLane.Transfer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToDoubleFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.agrona.concurrent.ManyToOneConcurrentArrayQueue;

/**
 * Publishes messages in batches whose size and timing tune themselves to the load and to the broker: the publisher of
 * Balasubramanian et al. ("Auto-tuned Publisher in a Pub/Sub System"), for NSQ's PUB and MPUB. Safe for any number of
 * threads.
 *
 * <ul>
 *   <li>Messages wait in a bounded store. When it is full, {@link #publish} waits or fails, by
 *       {@link PublisherSettings#waitForRoom()}.
 *   <li>Every future completes with an {@link Outcome}, at the latest {@link PublisherSettings#answerWithin()} after
 *       {@code publish}.
 *   <li>One thread's messages of a topic reach brokers in order, through reconnects and when a topic moves to another
 *       broker. With {@link PublisherSettings#retry()}, what was on its way when a connection broke is sent again: it
 *       may be there twice, the second time after messages that followed it. A batch that a topic's limit refused as
 *       too many at once is tried again in smaller ones, one after the other: only what was on its way behind it
 *       already, and passed, comes before it.
 *   <li>It publishes to 10,000 topics at a time; of more, it lets those go that have been idle for a second.
 *   <li>Futures complete on the client's one thread. What is chained to them must not block; {@code ...Async} does not
 *       run there.
 * </ul>
 */
public final class AutoTunedPublisher implements AutoCloseable {
    private static final int MAX_TOPICS = 10_000;
    private static final int MANY_TOPICS = MAX_TOPICS * 9 / 10;
    private static final long IDLE_LANE_NS = TimeUnit.SECONDS.toNanos(1);
    private static final int MAX_HOMES = 64;
    private static final long LONGEST_WITHOUT_HOME_NS = TimeUnit.MINUTES.toNanos(10);
    private static final int RECEIVED_AT_ONCE = 4_096;
    private static final int HIGHEST_LATENCY_US = 600_000_000;
    private static final Pattern RETRY_AFTER = Pattern.compile("retry after (\\d{1,15}) ms");
    private static final Pattern AT_MOST = Pattern.compile("at most (\\d{1,9}) messages");
    /** Nothing of it was published, and the connection goes on. */
    private static final Pattern REFUSAL = Pattern.compile("E_[MD]?PUB_FAILED [MD]?PUB refused: .*", Pattern.DOTALL);
    /** It may have been published. */
    private static final Pattern DOUBT = Pattern.compile("E_[MD]?PUB_FAILED [MD]?PUB unknown: .*", Pattern.DOTALL);

    private static final Outcome.Failed CLOSED = new Outcome.Failed("the publisher is closed");

    private final ClientLoop loop;
    private final ClientSettings client;
    private final PublisherSettings settings;
    private final HostLookup hosts;
    /** Under which it is the same publisher at every broker, so that it keeps its home when it goes there. */
    private final String name = UUID.randomUUID().toString();

    private final Store store;
    private final ManyToOneConcurrentArrayQueue<Request> received;
    private final Map<String, TopicLane> lanes = new ConcurrentHashMap<>();
    private final Histogram latency = new ConcurrentHistogram(HIGHEST_LATENCY_US, 2);
    private final Work work;
    private final LongAdder accepted = new LongAdder();
    private final LongAdder refused = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final LongAdder unknown = new LongAdder();
    private final LongAdder retries = new LongAdder();
    private final LongAdder batches = new LongAdder();
    private final LongAdder lost = new LongAdder();
    private volatile boolean closed;
    private volatile boolean ended;

    AutoTunedPublisher(ClientLoop loop, ClientSettings client, PublisherSettings settings, HostLookup hosts) {
        this.loop = loop;
        this.client = client;
        this.settings = settings;
        this.hosts = hosts;
        store = new Store(settings.maxMessages(), settings.maxBytes());
        received = new ManyToOneConcurrentArrayQueue<>(Math.max(2, settings.maxMessages()));
        work = new Work();
        if (!loop.execute(() -> loop.add(work))) {
            throw new IllegalStateException("the client is closed");
        }
    }

    /**
     * Publishes {@code body}, which must not be changed before the outcome is there. Waits if the store is full, as the
     * settings say; on the client's own thread it does not wait.
     */
    public CompletableFuture<Outcome> publish(String topic, byte[] body) {
        if (body.length < 1 || body.length > client.maxMessageBytes()) {
            return failed("a message has 1 to " + client.maxMessageBytes() + " bytes, not " + body.length);
        }
        TopicLane lane = lanes.get(topic);
        if (lane == null) {
            try {
                lane = newLane(topic);
            } catch (IllegalArgumentException e) {
                return failed(e.getMessage());
            }
        }
        long publishedNs = System.nanoTime();
        long waitNs = loop.isCurrentThread() ? 0 : settings.waitForRoom().toNanos();
        if (!store.reserve(body.length, waitNs)) {
            return failed(
                    closed
                            ? CLOSED.reason()
                            : "the store is full: " + settings.maxMessages() + " messages or " + settings.maxBytes()
                                    + " bytes wait for their outcome");
        }
        Request request = new Request(lane, body, publishedNs);
        // There is room for it: the store counts no more messages than the queue holds.
        received.offer(request);
        loop.wake();
        if (ended) {
            work.forgetIfEnded();
        }
        return request.future;
    }

    private TopicLane newLane(String topic) {
        TopicName.of(topic);
        if (lanes.size() >= MAX_TOPICS) {
            throw new IllegalArgumentException("this publisher has " + MAX_TOPICS + " topics in use already");
        }
        return lanes.computeIfAbsent(
                topic, name -> new TopicLane(name, settings.batching(), settings.workers(), System.nanoTime()));
    }

    private CompletableFuture<Outcome> failed(String reason) {
        failed.increment();
        return CompletableFuture.completedFuture(new Outcome.Failed(reason));
    }

    /** What it has done so far and what the tuner chose. */
    public PublisherStats stats() {
        Histogram seen = latency.copy();
        List<PublisherStats.Topic> topics =
                lanes.values().stream().map(TopicLane::stats).toList();
        return new PublisherStats(
                store.messages(),
                accepted.sum(),
                refused.sum(),
                failed.sum(),
                unknown.sum(),
                retries.sum(),
                batches.sum(),
                lost.sum(),
                new PublisherStats.Latency(
                        seen.getMean(),
                        seen.getValueAtPercentile(50),
                        seen.getValueAtPercentile(99),
                        seen.getValueAtPercentile(99.9),
                        seen.getMaxValue()),
                topics);
    }

    /**
     * Hands every figure to {@code sink} once, to be read whenever it likes. Batch, polling interval, waiting and in
     * flight are those of the busiest topic, or sums over topics.
     */
    public void gauges(GaugeSink sink) {
        sink.gauge("weir.publisher.batch", () -> most(TopicLane::batchNow));
        sink.gauge("weir.publisher.poll.seconds", () -> most(lane -> lane.pollNsNow() / 1e9));
        sink.gauge("weir.publisher.waiting", () -> total(TopicLane::waitingNow));
        sink.gauge("weir.publisher.in.flight", () -> total(TopicLane::inFlightNow));
        sink.gauge("weir.publisher.stored", store::messages);
        sink.gauge("weir.publisher.accepted", accepted::doubleValue);
        sink.gauge("weir.publisher.refused", refused::doubleValue);
        sink.gauge("weir.publisher.failed", failed::doubleValue);
        sink.gauge("weir.publisher.unknown", unknown::doubleValue);
        sink.gauge("weir.publisher.retries", retries::doubleValue);
        sink.gauge("weir.publisher.batches", batches::doubleValue);
        sink.gauge("weir.publisher.connections.lost", lost::doubleValue);
        sink.gauge("weir.publisher.latency.p99.seconds", () -> latency.getValueAtPercentile(99) / 1e6);
    }

    private double most(ToDoubleFunction<TopicLane> figure) {
        return lanes.values().stream().mapToDouble(figure).max().orElse(0);
    }

    private double total(ToDoubleFunction<TopicLane> figure) {
        return lanes.values().stream().mapToDouble(figure).sum();
    }

    /** Takes no more, waits a while for the outcomes of what is there, and completes the rest as failed or unknown. */
    @Override
    public void close() {
        closed = true;
        store.close();
        if (!loop.isCurrentThread()) {
            store.awaitEmpty(settings.closeWithin().toNanos());
        }
        CompletableFuture<Void> done = new CompletableFuture<>();
        if (loop.execute(() -> {
                    work.end(System.nanoTime());
                    done.complete(null);
                })
                && !loop.isCurrentThread()) {
            // The loop may end before it comes to this; it ends its workers itself then.
            done.completeOnTimeout(null, 1, TimeUnit.SECONDS).join();
        }
    }

    boolean ended() {
        return ended;
    }

    private LongAdder counter(Outcome outcome) {
        if (outcome.accepted()) {
            return accepted;
        }
        if (outcome instanceof Outcome.Refused) {
            return refused;
        }
        return outcome instanceof Outcome.Failed ? failed : unknown;
    }

    /** The publisher's part on the loop. */
    private final class Work implements ClientLoop.Worker, BrokerConnection.Owner {
        private final Dialer anyBroker = dialer(client.brokers());
        private final Map<Endpoint, Dialer> homes = new HashMap<>();
        /** In the order in which the answers come, for each connection. */
        private final Map<BrokerConnection, ArrayDeque<Transfer>> unanswered = new HashMap<>();

        /** Those with messages that wait or are on their way. */
        private final List<TopicLane> busy = new ArrayList<>();

        private final List<Transfer> started = new ArrayList<>();

        private Dialer dialer(List<Endpoint> endpoints) {
            return new Dialer(loop, client, hosts, endpoints, 0, name, Duration.ZERO, this);
        }

        @Override
        public boolean hasMore() {
            return !received.isEmpty();
        }

        @Override
        public boolean receive(long nowNs) {
            int count = 0;
            Request request;
            while (count < RECEIVED_AT_ONCE && (request = received.poll()) != null) {
                TopicLane lane = request.lane.letGo ? present(request.lane) : request.lane;
                lane.receive(request, nowNs);
                if (!lane.listed) {
                    lane.listed = true;
                    busy.add(lane);
                }
                count++;
            }
            return count > 0;
        }

        /** The topic's lane, after this one was let go while somebody published by way of it. */
        private TopicLane present(TopicLane lane) {
            TopicLane other = lanes.putIfAbsent(lane.topic(), lane);
            if (other != null) {
                return other;
            }
            lane.letGo = false;
            return lane;
        }

        @Override
        public long work(long nowNs) {
            if (ended) {
                return ClientLoop.NEVER_NS;
            }
            long waitNs = anyBroker.work(nowNs);
            for (Dialer home : homes.values()) {
                waitNs = Math.min(waitNs, home.work(nowNs));
            }
            for (int i = busy.size() - 1; i >= 0; i--) {
                TopicLane lane = busy.get(i);
                Dialer dialer = dialerFor(lane);
                waitNs = Math.min(waitNs, lane.send(dialer, started, nowNs));
                if (!started.isEmpty()) {
                    unanswered.get(dialer.connection()).addAll(started);
                    batches.add(started.size());
                    started.clear();
                } else if (lane.idle()) {
                    lane.listed = false;
                    lane.idleSinceNs = nowNs;
                    busy.set(i, busy.get(busy.size() - 1));
                    busy.remove(busy.size() - 1);
                }
            }
            return waitNs;
        }

        private Dialer dialerFor(TopicLane lane) {
            Dialer home = lane.home() == null ? null : homes.get(lane.home());
            return home != null && home.connection() != null ? home : anyBroker;
        }

        @Override
        public void opened(BrokerConnection connection, long nowNs) {
            unanswered.put(connection, new ArrayDeque<>());
        }

        @Override
        public void answered(BrokerConnection connection, boolean ok, long nowNs) {
            if (!ok) {
                connection.close("not NSQ V2: a publication is answered with OK", nowNs);
                return;
            }
            Transfer transfer = unanswered.get(connection).poll();
            if (transfer == null) {
                connection.close("not NSQ V2: an answer to nothing", nowNs);
                return;
            }
            long answeredNs = System.nanoTime();
            transfer.lane().accepted(transfer, answeredNs);
            for (Request request : transfer.messages()) {
                latency.recordValue(
                        Math.min(HIGHEST_LATENCY_US, Math.max(0, (answeredNs - request.publishedNs) / 1_000)));
            }
            complete(transfer, Outcome.Accepted.INSTANCE);
        }

        @Override
        public void failed(BrokerConnection connection, String error, long nowNs) {
            ArrayDeque<Transfer> open = unanswered.get(connection);
            Transfer transfer = open.peek();
            if (transfer != null && REFUSAL.matcher(error).matches()) {
                open.remove();
                refused(transfer, error, nowNs);
                return;
            }
            if (transfer != null && !DOUBT.matcher(error).matches()) {
                open.remove();
                transfer.lane().lost(transfer, nowNs);
                // Of several that fail, some may have been published before.
                boolean several = transfer.messages().size() > 1;
                complete(
                        transfer,
                        several && error.startsWith("E_MPUB_FAILED")
                                ? new Outcome.Unknown(error)
                                : new Outcome.Failed(error));
            }
            // The broker ends the connection after this. What is in doubt, and what was sent after it, goes as when a
            // connection breaks.
            connection.close("the broker said " + error, nowNs);
        }

        private void refused(Transfer transfer, String error, long nowNs) {
            Matcher retryAfter = RETRY_AFTER.matcher(error);
            boolean known = retryAfter.find();
            int count = transfer.messages().size();
            if (count > 1 && !known) {
                // More at once than may pass, perhaps: fewer do.
                Matcher atMost = AT_MOST.matcher(error);
                int most = atMost.find() ? Integer.parseInt(atMost.group(1)) : count;
                transfer.lane().tryFewer(transfer, most < count ? most : count / 2, nowNs);
                countBack(transfer);
                return;
            }
            transfer.lane().lost(transfer, nowNs);
            complete(
                    transfer,
                    new Outcome.Refused(
                            known
                                    ? Optional.of(Duration.ofMillis(Long.parseLong(retryAfter.group(1))))
                                    : Optional.empty()));
        }

        @Override
        public void delivered(
                BrokerConnection connection, long timestampNs, int attempts, String id, byte[] body, long nowNs) {
            connection.close("not NSQ V2: a message to a publisher", nowNs);
        }

        @Override
        public void homeTold(BrokerConnection connection, String topic, Endpoint home, long nowNs) {
            TopicLane lane = lanes.get(topic);
            if (lane == null || home.equals(lane.home())) {
                return;
            }
            BrokerConnection current = anyBroker.connection();
            if (current != null && home.equals(current.endpoint())) {
                lane.home(null);
                return;
            }
            if (!homes.containsKey(home) && homes.size() >= MAX_HOMES) {
                return;
            }
            lane.home(home);
            homes.computeIfAbsent(home, endpoint -> dialer(List.of(endpoint)));
        }

        @Override
        public void closed(BrokerConnection connection, String reason, long nowNs) {
            ArrayDeque<Transfer> open = unanswered.remove(connection);
            if (open == null) {
                return;
            }
            lost.increment();
            Outcome.Unknown outcome = new Outcome.Unknown("the connection broke: " + reason);
            for (Iterator<Transfer> last = open.descendingIterator(); last.hasNext(); ) {
                Transfer transfer = last.next();
                if (settings.retry() && !ended) {
                    transfer.messages().forEach(request -> request.inDoubt = true);
                    transfer.lane().putBack(transfer, nowNs);
                    countBack(transfer);
                } else {
                    transfer.lane().lost(transfer, nowNs);
                    complete(transfer, outcome);
                }
            }
        }

        private void countBack(Transfer transfer) {
            for (Request request : transfer.messages()) {
                if (request.told) {
                    store.release(1, request.body.length);
                } else {
                    retries.increment();
                }
            }
        }

        /**
         * A home that breaks is dialled again and again, while its topics go on through any broker: that one has told
         * where the home is and does not repeat it. Forgotten is a home that no topic has any more, or that was not
         * reached for very long.
         */
        private void forgetHomes(long nowNs) {
            if (homes.isEmpty()) {
                return;
            }
            Set<Endpoint> wanted = new HashSet<>();
            Set<Dialer> used = new HashSet<>();
            for (TopicLane lane : lanes.values()) {
                wanted.add(lane.home());
                used.add(lane.dialerInUse());
            }
            homes.entrySet().removeIf(entry -> {
                Dialer dialer = entry.getValue();
                boolean gone = dialer.failingForNs(nowNs) > LONGEST_WITHOUT_HOME_NS;
                if (!gone && (wanted.contains(entry.getKey()) || used.contains(dialer))) {
                    return false;
                }
                dialer.end("not needed any more", nowNs);
                for (TopicLane lane : lanes.values()) {
                    if (entry.getKey().equals(lane.home())) {
                        lane.home(null);
                    }
                }
                return true;
            });
        }

        /**
         * While there is room for more topics, a quiet one keeps what its tuner has learned and where it is at home.
         */
        private void letIdleLanesGo(long nowNs) {
            if (lanes.size() > MANY_TOPICS) {
                lanes.values().removeIf(lane -> {
                    lane.letGo = !lane.listed && nowNs - lane.idleSinceNs > IDLE_LANE_NS;
                    return lane.letGo;
                });
            }
        }

        @Override
        public void keepHouse(long nowNs) {
            if (ended) {
                return;
            }
            forgetHomes(nowNs);
            letIdleLanesGo(nowNs);
            long beforeNs = nowNs - settings.answerWithin().toNanos();
            String within = "no answer within " + settings.answerWithin().toMillis() + " ms";
            for (TopicLane lane : lanes.values()) {
                Request request = lane.pollOlderThan(beforeNs);
                while (request != null) {
                    giveUp(request, within + "; " + anyBroker.lastFailure());
                    request = lane.pollOlderThan(beforeNs);
                }
            }
            for (ArrayDeque<Transfer> open : unanswered.values()) {
                for (Transfer transfer : open) {
                    for (Request request : transfer.messages()) {
                        // It stays in the store until the broker answers or the connection breaks.
                        if (request.publishedNs - beforeNs <= 0 && !request.told) {
                            tell(request, new Outcome.Unknown(within));
                        }
                    }
                }
            }
        }

        private void complete(Transfer transfer, Outcome outcome) {
            store.release(transfer.messages().size(), transfer.bytes());
            for (Request request : transfer.messages()) {
                tell(request, outcome);
            }
        }

        private void giveUp(Request request, String reason) {
            store.release(1, request.body.length);
            tell(request, new Outcome.Failed(reason));
        }

        private void tell(Request request, Outcome last) {
            request.told = true;
            Outcome outcome = request.inDoubt ? inDoubt(last) : last;
            if (request.future.complete(outcome)) {
                counter(outcome).increment();
            }
        }

        /** That it was not published this time does not say that it was not before. */
        private static Outcome inDoubt(Outcome last) {
            String before = "the connection broke when it was sent before; then ";
            if (last instanceof Outcome.Refused) {
                return new Outcome.Unknown(before + "the topic's limit refused it");
            }
            return last instanceof Outcome.Failed failure ? new Outcome.Unknown(before + failure.reason()) : last;
        }

        @Override
        public void end(long nowNs) {
            if (ended) {
                return;
            }
            closed = true;
            store.close();
            ended = true;
            anyBroker.end("the publisher was closed", nowNs);
            homes.values().forEach(home -> home.end("the publisher was closed", nowNs));
            for (TopicLane lane : lanes.values()) {
                Request request = lane.poll();
                while (request != null) {
                    giveUp(request, CLOSED.reason());
                    request = lane.poll();
                }
            }
            forgetIfEnded();
            loop.remove(this);
        }

        /** What came in while this ended; any thread may be the one to find it. */
        synchronized void forgetIfEnded() {
            if (ended) {
                Request request = received.poll();
                while (request != null) {
                    giveUp(request, CLOSED.reason());
                    request = received.poll();
                }
            }
        }
    }
}

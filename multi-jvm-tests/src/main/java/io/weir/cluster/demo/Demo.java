package io.weir.cluster.demo;

import io.weir.cluster.chaos.client.ClientPlan.Publishing;
import io.weir.cluster.chaos.client.ClientPlan.Status;
import io.weir.cluster.chaos.client.ClientRecord;
import io.weir.cluster.chaos.client.RecordingPublisher;
import io.weir.cluster.demo.Picture.BrokerView;
import io.weir.cluster.demo.Picture.Event;
import io.weir.cluster.history.History;
import io.weir.cluster.history.HistoryCheck;
import io.weir.cluster.history.HistoryWriter;
import io.weir.cluster.history.StoreRecorder;
import io.weir.cluster.history.SupplyAudit;
import io.weir.limiter.supply.gate.AdmissionHistory;
import io.weir.supervisor.node.TopicDescription;
import io.weir.supervisor.node.TopicDescription.BrokerShare;
import io.weir.supervisor.node.TopicRequest;
import io.weir.transport.client.ClientSettings;
import io.weir.transport.client.ConsumerSettings;
import io.weir.transport.client.WeirClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * The tour: a topic with a limit, load at every broker, then at one, a broker that is killed and one that is out of the
 * others' sight. It records what happens as a chaos run does, and ends with the same checker's verdict.
 *
 * <p>{@link #stop} may come at any time, from any thread; the tour then goes to its end.
 */
final class Demo implements AutoCloseable {
    static final List<String> BROKERS = List.of("b1", "b2", "b3");
    static final String TOPIC = "demo";
    static final double RATE = 300;
    static final double BURST = 60;
    private static final String CHANNEL = "audit";
    private static final int CONNECTIONS = 6;
    /** What each broker is offered when all are: together twice what the limit lets through. */
    private static final double OFFERED = 200;

    private static final double WHOLE = 0.98;
    private static final Duration SETTLED_WITHIN = Duration.ofSeconds(20);
    private static final Duration INHERITED_WITHIN = Duration.ofSeconds(20);
    private static final Duration BACK_WITHIN = Duration.ofSeconds(30);
    private static final long NOTHING_COMES_NS = TimeUnit.SECONDS.toNanos(4);
    private static final long LOOK_MS = 100;
    private static final long DESCRIBE_MS = 400;
    private static final int RATES_A_SECOND = 1;

    /** How long each scene is shown. */
    record Pace(Duration evenly, Duration alone, Duration least, boolean isolation) {
        static final Pace FULL = new Pace(Duration.ofSeconds(8), Duration.ofSeconds(10), Duration.ofSeconds(5), true);
        static final Pace BRIEF = new Pace(Duration.ofSeconds(4), Duration.ofSeconds(4), Duration.ofSeconds(2), false);
    }

    /** What came of it. */
    record Outcome(
            HistoryCheck check,
            List<Event> events,
            double seconds,
            long acknowledged,
            long delivered,
            boolean stoppedEarly,
            Optional<String> skipped) {}

    /** The viewer has seen enough. */
    private static final class Stopped extends RuntimeException {}

    private final DemoCluster cluster;
    private final Path directory;
    private final Pace pace;
    private final Consumer<Event> onEvent;
    private final HistoryWriter history;
    private final Map<String, ClientRecord> clients = new LinkedHashMap<>();
    private final Map<String, List<RecordingPublisher>> publishers = new LinkedHashMap<>();
    private final Map<String, String> troubles = new ConcurrentHashMap<>();
    private final List<Event> events = new CopyOnWriteArrayList<>();
    private final List<Double> admitted = new CopyOnWriteArrayList<>();
    private final Map<String, Double> lastSecond = new ConcurrentHashMap<>();
    /**
     * What the publishers at each broker would send if nobody held them back; a broker itself sees only what they do
     * send.
     */
    private final Map<String, Double> wanted = new ConcurrentHashMap<>();

    private final Map<String, Long> counted = new ConcurrentHashMap<>();
    private final ScheduledExecutorService looking = Executors.newScheduledThreadPool(2, task -> {
        Thread thread = new Thread(task, "demo-look");
        thread.setDaemon(true);
        return thread;
    });
    private volatile Optional<TopicDescription> described = Optional.empty();
    private volatile String headline = "";
    private volatile boolean stopped;
    private Optional<String> skipped = Optional.empty();
    private WeirClient consumer;
    private long beginNs = System.nanoTime();
    private Thread playing;
    private long missingBefore = -1;
    private long missingSinceNs;

    /**
     * @param cluster not yet started; who made it closes it
     * @param directory for what is recorded; brokers must use {@link #admissions} of it
     */
    Demo(DemoCluster cluster, Path directory, Pace pace, Consumer<Event> onEvent) throws IOException {
        this.cluster = cluster;
        this.directory = directory;
        this.pace = pace;
        this.onEvent = onEvent;
        history = new HistoryWriter(historyFile());
    }

    private Path historyFile() {
        return directory.resolve("HISTORY.jsonl");
    }

    static Path admissions(Path directory) {
        return directory.resolve("admissions");
    }

    /** Ends the tour soon. */
    synchronized void stop() {
        stopped = true;
        if (playing != null) {
            playing.interrupt();
        }
    }

    Picture picture() {
        List<BrokerView> brokers = new ArrayList<>();
        for (String broker : BROKERS) {
            Optional<BrokerShare> share = share(broker);
            brokers.add(new BrokerView(
                    broker,
                    troubles.getOrDefault(broker, ""),
                    share.map(BrokerShare::rate).orElse(0.0),
                    wanted.getOrDefault(broker, 0.0),
                    lastSecond.getOrDefault(broker, 0.0)));
        }
        return new Picture(seconds(), headline, RATE, BURST, List.copyOf(admitted), brokers, List.copyOf(events));
    }

    private double seconds() {
        return (System.nanoTime() - beginNs) / 1e9;
    }

    private Optional<BrokerShare> share(String broker) {
        return described.flatMap(found -> found.shares().stream()
                .filter(each -> each.broker().equals(broker))
                .findFirst());
    }

    private void say(String text) {
        headline = text;
        Event event = new Event(seconds(), text);
        events.add(event);
        onEvent.accept(event);
    }

    /** The whole tour, on the caller's thread; what was started is closed by {@link #close}. */
    Outcome run() throws IOException, SQLException {
        synchronized (this) {
            playing = Thread.currentThread();
        }
        StoreRecorder store = null;
        boolean early = false;
        try {
            headline = "starting a store and " + BROKERS.size() + " brokers";
            endIfStopped();
            history.setup(System.nanoTime(), Map.of("brokers", BROKERS, "topics", List.of(TOPIC)));
            cluster.start();
            store = new StoreRecorder(cluster.storeUrl());
            beginNs = System.nanoTime();
            open();
            play();
        } catch (Stopped e) {
            early = true;
        } catch (RuntimeException e) {
            // An interrupted start fails in its own words.
            if (!stopped) {
                throw e;
            }
            early = true;
        } finally {
            synchronized (this) {
                playing = null;
                // From here on nobody interrupts.
                Thread.interrupted();
            }
        }
        try (StoreRecorder recorder = store) {
            return finish(recorder, early);
        }
    }

    private void open() {
        history.phase(System.nanoTime(), "warm");
        history.limit(System.nanoTime(), TOPIC, RATE, BURST);
        cluster.topics("b1").create(TOPIC, TopicRequest.limit(RATE, BURST, null, null));
        try {
            for (String broker : BROKERS) {
                history.broker(System.nanoTime(), broker, true);
                clients.put(broker, new ClientRecord("at-" + broker, clientFile(broker)));
                List<RecordingPublisher> own = new ArrayList<>();
                for (int i = 0; i < CONNECTIONS; i++) {
                    own.add(new RecordingPublisher(
                            new Publishing(broker, cluster.tcp(broker).toString(), TOPIC, OFFERED, CONNECTIONS),
                            clients.get(broker)));
                }
                publishers.put(broker, own);
            }
        } catch (IOException e) {
            throw new IllegalStateException("the demo can't record in " + directory + ": " + e.getMessage(), e);
        }
        consumer = WeirClient.create(ClientSettings.of(List.of(cluster.tcp("b1"))));
        consumer.consume(TOPIC, CHANNEL, ConsumerSettings.defaults().withMaxInFlight(200), message -> clients.get("b1")
                .deliver(TOPIC, CHANNEL, new String(message.body(), StandardCharsets.US_ASCII), message.attempts()));
        await(BACK_WITHIN, () -> cluster.topics("b1")
                .describe(TOPIC)
                .filter(found -> found.done() && !found.channels().isEmpty())
                .isPresent());
        history.channel(System.nanoTime(), TOPIC, CHANNEL);
        publishers.values().forEach(own -> own.forEach(Thread::start));
        looking.scheduleAtFixedRate(this::count, 1_000, 1_000 / RATES_A_SECOND, TimeUnit.MILLISECONDS);
        looking.scheduleWithFixedDelay(this::describe, 0, DESCRIBE_MS, TimeUnit.MILLISECONDS);
    }

    private Path clientFile(String broker) {
        return directory.resolve("at-" + broker + ".jsonl");
    }

    private void count() {
        double all = 0;
        for (Map.Entry<String, ClientRecord> each : clients.entrySet()) {
            long now = each.getValue().status().ok();
            double more =
                    (now - Optional.ofNullable(counted.put(each.getKey(), now)).orElse(0L)) * RATES_A_SECOND;
            lastSecond.put(each.getKey(), more);
            all += more;
        }
        admitted.add(all);
    }

    private void describe() {
        cluster.topics("b1").describe(TOPIC).ifPresent(found -> described = Optional.of(found));
    }

    private void play() {
        history.phase(System.nanoTime(), "chaos");
        say("Publishers at every broker want " + Screen.number(OFFERED * BROKERS.size()) + "/s in all; "
                + Screen.number(RATE) + "/s are let through.");
        press(1, 1, 1);
        hold(pace.evenly);

        say("All the load moves to b1, and its share of the limit follows.");
        press(BROKERS.size(), 0, 0);
        hold(pace.alone);

        press(1, 1, 1);
        hold(pace.least);
        kill("b3");
        comeBack("b3");
        if (pace.isolation) {
            isolate("b2");
        }
        hold(pace.least);
    }

    private void press(double... times) {
        for (int i = 0; i < BROKERS.size(); i++) {
            double each = times[i];
            wanted.put(BROKERS.get(i), each * OFFERED);
            publishers.get(BROKERS.get(i)).forEach(publisher -> publisher.press(each));
        }
    }

    private void kill(String broker) {
        long atNs = System.nanoTime();
        history.nemesis(atNs, "kill", "start", broker, List.of(broker));
        cluster.kill(broker);
        history.broker(System.nanoTime(), broker, false);
        troubles.put(broker, "killed; its share is nobody's until its lease is surely over");
        say(broker + " is killed (kill -9). Nobody may use its share until its lease is surely over.");
        awaitHeirs(broker, atNs);
    }

    private void awaitHeirs(String broker, long atNs) {
        boolean whole = await(
                INHERITED_WITHIN,
                () -> share(broker).isEmpty()
                        && described
                                .filter(found -> found.sumRate() >= WHOLE * RATE)
                                .isPresent());
        if (whole) {
            say(String.format("The others have inherited %s's share, %d s later.", broker, since(atNs)));
            troubles.computeIfPresent(broker, (id, text) -> text.replaceFirst(";.*", "; the others have its share"));
        }
        hold(pace.least);
    }

    private static long since(long ns) {
        return Math.round((System.nanoTime() - ns) / 1e9);
    }

    private void comeBack(String broker) {
        say(broker + " is started again. It begins with nothing and earns its share.");
        troubles.put(broker, "starting");
        cluster.restart(broker);
        history.broker(System.nanoTime(), broker, true);
        history.nemesis(System.nanoTime(), "kill", "end", broker, List.of(broker));
        troubles.remove(broker);
        await(BACK_WITHIN, () -> holdsAgain(broker));
        hold(pace.least);
    }

    private boolean holdsAgain(String broker) {
        return share(broker).filter(found -> found.rate() > RATE / 10).isPresent();
    }

    private void isolate(String broker) {
        skipped = cluster.cutObstacle();
        boolean cut = skipped.isEmpty();
        String fault = cut ? "partition" : "pause";
        skipped.ifPresent(why -> say("No broker is cut off: " + why));
        long atNs = System.nanoTime();
        history.nemesis(atNs, fault, "start", broker, List.of(broker));
        try {
            cluster.isolate(broker);
            troubles.put(broker, cut ? "cut off; on its lease for 6 s at the most" : "stopped");
            say(
                    cut
                            ? broker
                                    + " is cut off from the others and from the store. Its lease lets it go on for 6 s."
                            : broker + " is stopped (SIGSTOP) instead.");
            awaitHeirs(broker, atNs);
        } finally {
            cluster.rejoin(broker);
            history.nemesis(System.nanoTime(), fault, "end", broker, List.of(broker));
        }
        troubles.put(broker, "coming back as a new life");
        say(cut ? "The cut is healed." : broker + " goes on (SIGCONT), and finds that it is not what it was.");
        if (await(BACK_WITHIN, () -> holdsAgain(broker))) {
            say(broker + " is back, with a share.");
        }
        troubles.remove(broker);
        hold(pace.least);
    }

    private void endIfStopped() {
        if (stopped) {
            throw new Stopped();
        }
    }

    /** Lets the viewer look. */
    private void hold(Duration time) {
        await(time, () -> false);
    }

    /** Whether it came in time. */
    private boolean await(Duration within, BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + within.toNanos();
        while (!condition.getAsBoolean()) {
            endIfStopped();
            if (System.nanoTime() - deadlineNs > 0) {
                return false;
            }
            nap();
        }
        endIfStopped();
        return true;
    }

    private void nap() {
        try {
            TimeUnit.MILLISECONDS.sleep(LOOK_MS);
        } catch (InterruptedException e) {
            throw new Stopped();
        }
    }

    /** Load off, wait for what is on its way, collect, check. */
    private Outcome finish(StoreRecorder store, boolean early) throws IOException, SQLException {
        if (store != null && consumer != null) {
            say(
                    early
                            ? "Stopped. What was recorded so far is checked."
                            : "The load ends. What was recorded is checked.");
            history.phase(System.nanoTime(), "healed");
            if (!publishers.isEmpty()) {
                press(0, 0, 0);
            }
            settle(store, early ? Duration.ofSeconds(3) : SETTLED_WITHIN);
            publishers.values().forEach(own -> own.forEach(RecordingPublisher::end));
            if (!early) {
                history.phase(System.nanoTime(), "end");
            }
            history.store(System.nanoTime(), store.now());
        }
        looking.shutdownNow();
        if (consumer != null) {
            consumer.close();
        }
        history.recorded(AdmissionHistory.readAll(admissions(directory)));
        long acknowledged = 0;
        long delivered = 0;
        for (Map.Entry<String, ClientRecord> each : clients.entrySet()) {
            acknowledged += each.getValue().status().ok();
            delivered += each.getValue().status().delivered();
            each.getValue().close();
            history.append(clientFile(each.getKey()));
        }
        history.close();
        return new Outcome(
                HistoryCheck.of(History.read(historyFile())),
                List.copyOf(events),
                seconds(),
                acknowledged,
                delivered,
                early,
                skipped);
    }

    /**
     * Until every answer is in, every message delivered and every share at rest, or for so long. What went with the
     * killed broker is never delivered: where nothing has come for a while nothing is waited for.
     */
    private void settle(StoreRecorder store, Duration within) throws SQLException {
        long deadlineNs = System.nanoTime() + within.toNanos();
        while (System.nanoTime() - deadlineNs < 0
                && !(quiet() && SupplyAudit.unsettled(store.now()).isEmpty())) {
            try {
                TimeUnit.MILLISECONDS.sleep(LOOK_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    private boolean quiet() {
        long waiting = 0;
        long missing = 0;
        for (ClientRecord client : clients.values()) {
            Status status = client.status();
            waiting += status.invoked() - status.ok() - status.failed() - status.unknown();
            missing += status.ok() - status.delivered();
        }
        long nowNs = System.nanoTime();
        if (missing != missingBefore) {
            missingBefore = missing;
            missingSinceNs = nowNs;
        }
        return waiting <= 0 && (missing <= 0 || nowNs - missingSinceNs > NOTHING_COMES_NS);
    }

    History history() throws IOException {
        return History.read(historyFile());
    }

    @Override
    public void close() throws IOException {
        looking.shutdownNow();
        publishers.values().forEach(own -> own.forEach(RecordingPublisher::end));
        if (consumer != null) {
            consumer.close();
        }
        for (ClientRecord client : clients.values()) {
            client.close();
        }
        history.close();
    }
}

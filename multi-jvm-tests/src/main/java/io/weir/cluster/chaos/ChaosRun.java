package io.weir.cluster.chaos;

import io.weir.cluster.chaos.client.ClientPlan;
import io.weir.cluster.chaos.client.ClientPlan.Status;
import io.weir.cluster.chaos.report.ReportPage;
import io.weir.cluster.history.History;
import io.weir.cluster.history.HistoryCheck;
import io.weir.cluster.history.HistoryWriter;
import io.weir.cluster.history.StoreRecorder;
import io.weir.cluster.history.StoredSupply;
import io.weir.cluster.history.SupplyAudit;
import io.weir.cluster.history.Violation;
import io.weir.cluster.stage.Stage;
import io.weir.limiter.supply.gate.AdmissionHistory;
import io.weir.supervisor.local.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One chaos run from an empty directory to a verdict:
 *
 * <pre>
 *   start     a cluster, topics with limits, a client beside each broker that publishes, consumes and records
 *   warm      everybody works
 *   chaos     the {@link Nemesis} carries out the {@link FaultSchedule}, while the load moves from broker to broker
 *   healed    every fault is undone; all of the limit must be with somebody again within a minute
 *   saturated more load than the limits let through: they must be used
 *   end       the load is off, what is left is delivered, the store comes to rest
 * </pre>
 *
 * What everybody recorded is then joined in one history and checked. A run that is interrupted ends with a verdict of
 * what it has.
 */
public final class ChaosRun {
    private static final Logger LOG = LoggerFactory.getLogger(ChaosRun.class);
    private static final double DRIFT = 1e-3;
    private static final Duration READY_WITHIN = Duration.ofSeconds(150);
    private static final Duration TOPICS_WITHIN = Duration.ofSeconds(60);
    private static final Duration WARM_WITHIN = Duration.ofSeconds(60);
    private static final Duration SETTLED_WITHIN = Duration.ofSeconds(60);
    /** The limit's way to where the demand is, and the 30 s in which it is used. */
    private static final Duration SATURATED_FOR = Duration.ofSeconds(40);

    /** A message that a lost consumer held comes again after a minute at the most. */
    private static final Duration DRAINED_WITHIN = Duration.ofSeconds(75);

    private static final Duration LAST_READING_WITHIN = Duration.ofSeconds(5);

    private static final long LOOK_MS = 100;

    private final ChaosPlan plan;
    private final Installation installation;
    private final Story story;
    private final long beginNs = System.nanoTime();
    private final List<String> troubles = new ArrayList<>();
    private volatile boolean stopped;

    /** @param story shows what happens */
    public ChaosRun(ChaosPlan plan, Installation installation, Consumer<String> story) {
        this.plan = plan;
        this.installation = installation;
        this.story = line ->
                story.accept(String.format(Locale.ROOT, "%6.1f s  %s", (System.nanoTime() - beginNs) / 1e9, line));
    }

    /** Ends the faults soon; {@link #run} then returns with a verdict of what was recorded. */
    public void stop() {
        stopped = true;
    }

    public ChaosOutcome run() throws IOException, InterruptedException {
        Path historyFile = plan.directory().resolve("HISTORY.jsonl");
        Files.createDirectories(plan.directory());
        Map<String, Integer> begun = new TreeMap<>();
        Status messages;
        Path logs;
        try (Ground ground = ground();
                HistoryWriter history = new HistoryWriter(historyFile)) {
            logs = ground.directory();
            messages = play(ground, history, begun);
        } catch (SQLException e) {
            throw new IOException("the store can't be read: " + e.getMessage(), e);
        }
        story.tell("check: " + Files.size(historyFile) / 1_000_000 + " MB of history");
        History recorded = History.read(historyFile);
        HistoryCheck check = HistoryCheck.of(recorded);
        Path report = plan.directory().resolve("report.html");
        ReportPage.write(recorded, check, report);
        return new ChaosOutcome(
                plan.seed(),
                stopped,
                plan.brief(),
                check,
                troubles,
                begun,
                counts(messages),
                historyFile,
                report,
                logs);
    }

    private Ground ground() {
        if (plan.processFaultsOnly()) {
            return new LocalGround(plan, installation, "brokers share the network of this machine, as asked for");
        }
        Optional<String> obstacle = Stage.obstacle();
        return obstacle.isPresent()
                ? new LocalGround(plan, installation, obstacle.get())
                : new StagedGround(plan, installation);
    }

    private static Map<String, Long> counts(Status messages) {
        Map<String, Long> counts = new LinkedHashMap<>();
        counts.put("published", messages.invoked());
        counts.put("acknowledged", messages.ok());
        counts.put("refused", messages.failed());
        counts.put("unknown", messages.unknown());
        counts.put("delivered", messages.delivered());
        return counts;
    }

    private Status play(Ground ground, HistoryWriter history, Map<String, Integer> begun)
            throws IOException, InterruptedException, SQLException {
        Scene scene = Scene.of(
                plan.brokers(), ChaosTopic.ALL.stream().map(ChaosTopic::name).toList(), ground.means());
        FaultSchedule schedule = FaultSchedule.of(plan.seed(), scene, plan.faults(), plan.duration());
        introduce(ground, scene, schedule, history);

        ground.start();
        await("every broker is ready", READY_WITHIN, () -> scene.brokers().stream()
                .allMatch(ground::ready));
        Clients clients = new Clients(ground, scene, plan);
        try (BrokerWatch watch = new BrokerWatch(ground, scene, history);
                StoreRecorder store = new StoreRecorder(ground.storeUrl());
                HomeBook homes = new HomeBook(ground.storeUrl())) {
            LimitChanges limits = new LimitChanges(ground, scene.brokers(), store, history);
            Nemesis nemesis = new Nemesis(scene, ground, limits, homes, history, story);
            try {
                warm(scene, limits, homes, clients, history);
                chaos(schedule, nemesis, history, begun);
                afterwards(ground, scene, nemesis, clients, store, history);
            } catch (IllegalStateException e) {
                // Ctrl-C takes the stage away: whatever still uses it fails.
                if (!stopped) {
                    throw e;
                }
            } finally {
                clients.quit();
            }
            if (stopped) {
                story.tell("interrupted: what was recorded so far is checked");
            }
            troubles.addAll(nemesis.troubles());
            return collect(ground, clients, store, history);
        }
    }

    private void introduce(Ground ground, Scene scene, FaultSchedule schedule, HistoryWriter history) {
        Map<String, Object> setup = new LinkedHashMap<>();
        setup.put("seed", plan.seed());
        setup.put("brokers", scene.brokers());
        setup.put("floor", plan.floors().get(0));
        setup.put("floors", plan.floors());
        setup.put("topics", scene.topics());
        // The load of a brief run goes up and down: what it uses of a limit says nothing.
        setup.put("saturated", plan.brief() && !plan.flooded() ? List.of() : scene.topics());
        setup.put("homes", plan.placing());
        setup.put("drift", DRIFT);
        setup.put("durationMs", plan.duration().toMillis());
        setup.put("faults", plan.faults().stream().map(Fault::toString).toList());
        setup.put("sabotage", plan.sabotage().environment());
        history.setup(System.nanoTime(), setup);
        ground.obstacles().forEach(story::tell);
        story.tell(String.format(
                Locale.ROOT,
                "seed %d: %d brokers, floor %s, %d faults within %d s; logs in %s",
                plan.seed(),
                plan.brokers(),
                plan.floors(),
                schedule.episodes().size(),
                plan.duration().toSeconds(),
                ground.directory()));
        List<Fault> impossible =
                plan.faults().stream().filter(fault -> !fault.possible(scene)).toList();
        if (!impossible.isEmpty()) {
            story.tell("not possible here, or with so few brokers: "
                    + impossible.stream().map(Fault::toString).collect(Collectors.joining(", ")));
        }
    }

    private void warm(Scene scene, LimitChanges limits, HomeBook homes, Clients clients, HistoryWriter history)
            throws IOException, InterruptedException {
        if (stopped) {
            return;
        }
        history.phase(System.nanoTime(), "warm");
        for (ChaosTopic topic : ChaosTopic.ALL) {
            limits.create(topic, plan.floorOf(topic), TOPICS_WITHIN);
        }
        story.tell("the cluster is up, with " + ChaosTopic.ALL.size() + " topics; clients start");
        clients.start();
        await("every client publishes and consumes", WARM_WITHIN, () -> clients.each()
                .allMatch(status -> status.ok() > 0 && status.delivered() > 0));
        if (plan.placing()) {
            await("every topic's publishers have a home", WARM_WITHIN, () -> scene.topics().stream()
                    .allMatch(homes::placed));
        }
        long nowNs = System.nanoTime();
        scene.topics().forEach(topic -> history.channel(nowNs, topic, Clients.CHANNEL));
    }

    private void chaos(FaultSchedule schedule, Nemesis nemesis, HistoryWriter history, Map<String, Integer> begun)
            throws InterruptedException {
        if (stopped) {
            return;
        }
        history.phase(System.nanoTime(), "chaos");
        story.tell("chaos begins");
        long chaosNs = System.nanoTime();
        nemesis.run(schedule, () -> stopped);
        long playedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - chaosNs);
        schedule.episodes().stream()
                .filter(episode -> episode.startMs() <= playedMs)
                .forEach(episode -> begun.merge(episode.fault().toString(), 1, Integer::sum));
    }

    private void afterwards(
            Ground ground, Scene scene, Nemesis nemesis, Clients clients, StoreRecorder store, HistoryWriter history)
            throws IOException, InterruptedException {
        if (stopped) {
            return;
        }
        nemesis.heal();
        history.phase(System.nanoTime(), "healed");
        story.tell("all faults are over; the cluster mends");
        long healedNs = System.nanoTime();
        await("every broker is ready again", READY_WITHIN, () -> scene.brokers().stream()
                .allMatch(ground::ready));
        awaitRest(store, SETTLED_WITHIN.minusNanos(System.nanoTime() - healedNs));
        if (plan.brief()) {
            clients.order(ClientPlan.Orders.HUSH);
            await(DRAINED_WITHIN, clients::drained);
            return;
        }
        story.tell("more load than the limits let through, for " + SATURATED_FOR.toSeconds() + " s");
        clients.order(ClientPlan.Orders.SATURATE);
        await(SATURATED_FOR, () -> false);
        if (stopped) {
            return;
        }
        history.phase(System.nanoTime(), "end");
        clients.order(ClientPlan.Orders.HUSH);
        story.tell("the load is off; what is left is delivered");
        await(DRAINED_WITHIN, clients::drained);
        awaitRest(store, SETTLED_WITHIN);
    }

    /** Until the store shows nothing that should not stay; what is left then is the check's to tell. */
    private void awaitRest(StoreRecorder store, Duration within) throws InterruptedException {
        long fromNs = System.nanoTime();
        boolean rests = await(within, () -> unsettled(store).isEmpty());
        story.tell(
                rests
                        ? String.format(
                                Locale.ROOT,
                                "all of every limit is in place after %.1f s",
                                (System.nanoTime() - fromNs) / 1e9)
                        : "not in place: " + unsettled(store));
    }

    private static List<Violation> unsettled(StoreRecorder store) {
        try {
            return SupplyAudit.unsettled(store.now());
        } catch (SQLException e) {
            return List.of(new Violation("C6", "the store does not answer: " + e.getMessage()));
        }
    }

    /** Brokers go on to exchange supply, so a reading with nothing on its way is waited for. */
    private void readStore(StoreRecorder store, HistoryWriter history) throws InterruptedException {
        long deadlineNs = System.nanoTime() + LAST_READING_WITHIN.toNanos();
        while (true) {
            long readNs = System.nanoTime();
            try {
                StoredSupply now = store.now();
                if (SupplyAudit.unsettled(now).isEmpty() || readNs - deadlineNs > 0) {
                    history.store(readNs, now);
                    return;
                }
            } catch (SQLException e) {
                // Ctrl-C ends the store too, and what was read of it until then is still a history.
                store.last().ifPresent(last -> history.store(store.lastReadingNs(), last));
                if (!stopped) {
                    troubles.add("the store did not answer at the end: " + e.getMessage());
                }
                return;
            }
            TimeUnit.MILLISECONDS.sleep(LOOK_MS);
        }
    }

    /** Joins what everybody recorded. */
    private Status collect(Ground ground, Clients clients, StoreRecorder store, HistoryWriter history)
            throws IOException, InterruptedException {
        readStore(store, history);
        store.takenBack()
                .forEach(entry -> troubles.add("A3: the store has taken back event " + entry.sequence() + " of "
                        + entry.holder() + ", which it had shown: " + entry.event()));
        history.recorded(AdmissionHistory.readAll(ground.admissions()));
        for (Path file : clients.histories()) {
            history.append(file);
        }
        return clients.status();
    }

    private void await(String what, Duration within, BooleanSupplier condition) throws InterruptedException {
        if (!await(within, condition) && !stopped) {
            troubles.add("not within " + within.toSeconds() + " s: " + what);
            story.tell("not within " + within.toSeconds() + " s: " + what);
        }
    }

    private boolean await(Duration within, BooleanSupplier condition) throws InterruptedException {
        long deadlineNs = System.nanoTime() + within.toNanos();
        while (!condition.getAsBoolean()) {
            if (stopped || System.nanoTime() - deadlineNs > 0) {
                LOG.debug("Stopped waiting");
                return false;
            }
            TimeUnit.MILLISECONDS.sleep(LOOK_MS);
        }
        return true;
    }
}

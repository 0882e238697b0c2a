package io.weir.supervisor.node;

import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorRefResolver;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.AskPattern;
import akka.cluster.typed.ClusterSingleton;
import akka.cluster.typed.SingletonActor;
import akka.http.javadsl.model.StatusCodes;
import akka.japi.function.Function;
import io.weir.config.WeirSettings;
import io.weir.config.WeirSettings.PlacementMode;
import io.weir.config.WeirSettings.PlacementSettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.actor.SupplyCoordinator;
import io.weir.supervisor.placement.Decisions;
import io.weir.supervisor.placement.Placement;
import io.weir.supervisor.placement.PlacementAgent;
import io.weir.supervisor.placement.PlacementCounters;
import io.weir.supervisor.store.DecisionTable;
import io.weir.topics.algorithm.SendingRecording;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.federation.PlacementTable;
import io.weir.topics.path.MessagePath;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A broker's part in placement, for as long as its process lives: homes are kept while the actor system is away. */
public final class BrokerPlacement implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BrokerPlacement.class);

    private final PlacementSettings settings;
    private final BrokerId here;
    private final PlacementTable table;
    private final DecisionTable decisions;
    private final PlacementCounters counters = new PlacementCounters();
    private volatile ActorSystem<?> system;
    private volatile ActorRef<Placement.Command> singleton;
    private volatile ActorRef<PlacementAgent.Command> agent;
    private volatile Map<BrokerId, String> addresses = Map.of();

    private BrokerPlacement(WeirSettings settings) {
        this.settings = settings.placement();
        here = settings.broker().id();
        table = this.settings.mode() == PlacementMode.ALL
                ? new PlacementTable(here)
                : new PlacementTable(here, this::wakeAgent);
        decisions = new DecisionTable(settings.store(), settings.store().statementTimeout());
    }

    static Optional<BrokerPlacement> of(WeirSettings settings, boolean linked) {
        PlacementMode mode = settings.placement().mode();
        if (mode == PlacementMode.ALL && !linked) {
            LOG.warn(
                    "weir.placement.enabled changes nothing without weir.aeron.directory: messages can't flow between brokers");
        }
        return mode != PlacementMode.OFF && linked ? Optional.of(new BrokerPlacement(settings)) : Optional.empty();
    }

    /** @param members as {@code host:port} */
    void members(Map<BrokerId, String> members) {
        addresses = Map.copyOf(members);
    }

    /** On the message path's thread. */
    private void wakeAgent() {
        ActorRef<PlacementAgent.Command> mine = agent;
        if (mine != null) {
            mine.tell(new PlacementAgent.SomebodyRegistered());
        }
    }

    /** Registrations are new in the store. A hint, also for agents that are asleep, which nothing else wakes. */
    private void haveAllLook() {
        ActorRef<PlacementAgent.Command> mine = agent;
        if (mine == null) {
            return;
        }
        addresses.forEach((broker, address) -> {
            String path =
                    "akka://" + system.name() + "@" + address + mine.path().toStringWithoutAddress();
            ActorRef<PlacementAgent.Command> there =
                    broker.equals(here) ? mine : ActorRefResolver.get(system).resolveActorRef(path);
            there.tell(new PlacementAgent.LookNow());
        });
    }

    PlacementTable table() {
        return table;
    }

    public Decisions decisions() {
        return decisions;
    }

    public PlacementCounters counters() {
        return counters;
    }

    /** Asks the singleton, wherever it is. */
    public <T> CompletionStage<T> ask(Function<ActorRef<T>, Placement.Command> question, Duration timeout) {
        ActorRef<Placement.Command> there = singleton;
        if (there == null) {
            throw new Refusal(StatusCodes.SERVICE_UNAVAILABLE, "UNAVAILABLE", here + " is not in a cluster just now");
        }
        return AskPattern.ask(there, question, timeout, system.scheduler());
    }

    /**
     * Records who sends when to that topic, for forecasts, if placement follows the topic; else nothing is recorded. A
     * path that has no room for it records nothing either: the topic's forecasts then go by the formula.
     */
    void record(MessagePath path, TopicName topic, long forNs) {
        SendingRecording recording = new SendingRecording(topic, SendingRecording.MOST, forNs);
        path.offer((port, nowNs) -> table.record(recording, System.nanoTime(), TopicRecorder.wallClockNs()));
    }

    /** In every life of the actor system. */
    void start(
            ActorContext<?> context,
            long incarnation,
            BrokerTopics topics,
            ActorRef<SupplyCoordinator.Command> supply,
            Executor storeThreads) {
        Random random = new Random();
        system = context.getSystem();
        singleton = ClusterSingleton.get(context.getSystem())
                .init(SingletonActor.of(
                        Placement.create(new Placement.Dependencies(
                                settings,
                                here + "#" + incarnation + "." + Long.toString(random.nextLong() >>> 40, 36),
                                topic -> limit(topics, topic),
                                decisions,
                                storeThreads,
                                counters,
                                this::haveAllLook,
                                random,
                                System::nanoTime,
                                System::currentTimeMillis)),
                        Placement.NAME));
        agent = context.spawn(
                PlacementAgent.create(new PlacementAgent.Dependencies(
                        here,
                        topics.path(),
                        table,
                        decisions,
                        storeThreads,
                        singleton,
                        rates -> supply.tell(new SupplyCoordinator.Placed(rates)),
                        settings.report(),
                        random::nextLong,
                        System::nanoTime,
                        wallClock(),
                        settings.mode() == PlacementMode.REGISTERED)),
                PlacementAgent.NAME);
    }

    /** Groups are found if brokers are looked at often enough: a look sees {@link PlacementTable#SLOTS} slots back. */
    private LongSupplier wallClock() {
        boolean often = settings.report().toNanos() < PlacementTable.SLOTS * PlacementTable.SLOT_NS;
        if (settings.findGroups() && !often && settings.mode() == PlacementMode.ALL) {
            LOG.warn(
                    "weir.placement.find-groups changes nothing: weir.placement.report is {} ms, and groups are found up to 600 ms",
                    settings.report().toMillis());
        }
        return settings.findGroups() && often
                ? () -> TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis())
                : () -> PlacementTable.UNOBSERVED;
    }

    private static Optional<Limit> limit(BrokerTopics topics, TopicName topic) {
        return topics.definition(topic.value())
                .map(TopicDefinition::limit)
                .filter(limit -> limit.rateMicros() > 0)
                .map(limit -> new Limit(limit.rateMicros(), Math.max(Limit.MICROS, limit.burstMicros())));
    }

    @Override
    public void close() {
        decisions.close();
    }
}

package io.weir.supervisor.node;

import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.javadsl.AskPattern;
import akka.cluster.sharding.typed.javadsl.ClusterSharding;
import akka.cluster.sharding.typed.javadsl.EntityRef;
import akka.japi.function.Function;
import io.weir.config.value.BrokerId;
import io.weir.config.value.ChannelName;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.actor.SupplyCoordinator;
import io.weir.limiter.supply.actor.SupplyStore;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.topics.definition.ShardEntity;
import io.weir.topics.definition.Topic;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicDefinition.ChannelSettings;
import io.weir.topics.definition.TopicDefinition.Delivery;
import io.weir.topics.definition.TopicDefinition.DeliveryChange;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import io.weir.topics.definition.TopicRows;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.stream.Stream;

/** What operators ask of topics, answered by the cluster that this broker is in. */
public final class TopicAdmin {
    /**
     * A broker that has not answered by then is shown as it last answered: a question must not wait for a dead broker.
     */
    private static final Duration ANSWER_WITHIN = Duration.ofMillis(80);

    private final ActorSystem<?> system;
    private final ActorRef<SupplyCoordinator.Command> supply;
    private final SupplyStore store;
    private final TopicRows rows;
    private final LastParts lastParts;
    private final Executor storeThreads;
    private final Duration timeout;

    public TopicAdmin(
            ActorSystem<?> system,
            ActorRef<SupplyCoordinator.Command> supply,
            SupplyStore store,
            TopicRows rows,
            LastParts lastParts,
            Executor storeThreads,
            Duration timeout) {
        this.rows = rows;
        this.lastParts = lastParts;
        this.system = system;
        this.supply = supply;
        this.store = store;
        this.storeThreads = storeThreads;
        this.timeout = timeout;
    }

    public CompletionStage<Topic.Answer> create(TopicName name, TopicRequest request) {
        LimitSettings limit = request.newLimit();
        Delivery delivery = request.deliveryChange().on(Delivery.defaults());
        return ask(name, replyTo -> new Topic.Create(limit, delivery, replyTo));
    }

    /** Makes it if it is not there; whatever is there is fine. */
    public CompletionStage<Topic.Answer> ensure(TopicName name, LimitSettings limit) {
        return ask(name, replyTo -> new Topic.Ensure(limit, Delivery.defaults(), "", replyTo));
    }

    /** The definition as it is. */
    public CompletionStage<TopicDefinition> get(TopicName name) {
        return ask(name, Topic.Get::new, timeout).thenApply(Topic.Answer::definition);
    }

    public CompletionStage<Topic.Answer> ensureChannel(TopicName name, String channel) {
        String checked = lasting(channel);
        return ask(name, replyTo -> new Topic.EnsureChannel(checked, replyTo));
    }

    /**
     * A definition names what every broker keeps messages for; an ephemeral channel is there for its consumers only.
     */
    public static String lasting(String channel) {
        ChannelName name = new ChannelName(channel);
        if (name.ephemeral()) {
            throw new IllegalArgumentException(
                    "channel " + channel
                            + " is ephemeral: it comes with its first consumer and goes with its last, and can't be made, paused, limited or deleted");
        }
        return name.value();
    }

    /**
     * Drops messages at every one of these brokers.
     *
     * @param channel whose; empty for those of the topic that no channel has yet
     * @return the brokers that did not do it, or did not say so in time
     */
    public CompletionStage<List<BrokerId>> empty(TopicName name, Optional<String> channel, List<BrokerId> brokers) {
        return everywhere(name, brokers, entity -> entity.<ShardEntity.Emptied>ask(
                        replyTo -> new ShardEntity.Empty(channel.orElse(null), replyTo), timeout)
                .thenApply(ShardEntity.Emptied::done));
    }

    /**
     * Tells every one of these brokers what a topic is like now, rather than let them read it from the store.
     *
     * @return the brokers that do not go by it yet, or did not say so in time
     */
    public CompletionStage<List<BrokerId>> tell(TopicDefinition definition, List<BrokerId> brokers) {
        return everywhere(definition.name(), brokers, entity -> entity.<ShardEntity.Served>ask(
                        replyTo -> new ShardEntity.Know(definition, replyTo), timeout)
                .thenApply(served -> served.problem() == null));
    }

    /** Answers whether a broker did what it was asked for. */
    private interface Question {
        CompletionStage<Boolean> to(EntityRef<ShardEntity.Command> entity);
    }

    private CompletionStage<List<BrokerId>> everywhere(TopicName name, List<BrokerId> brokers, Question question) {
        Map<BrokerId, CompletableFuture<Boolean>> asked = new TreeMap<>(Comparator.comparing(BrokerId::value));
        for (BrokerId broker : brokers) {
            asked.put(
                    broker,
                    question.to(ClusterSharding.get(system).entityRefFor(ShardEntity.KEY, ShardEntity.id(broker, name)))
                            .exceptionally(silent -> false)
                            .toCompletableFuture());
        }
        return CompletableFuture.allOf(asked.values().toArray(CompletableFuture[]::new))
                .thenApply(all -> asked.entrySet().stream()
                        .filter(answer -> !answer.getValue().join())
                        .map(Map.Entry::getKey)
                        .toList());
    }

    public CompletionStage<Topic.Answer> changeLimit(TopicName name, TopicRequest request) {
        return ask(
                name,
                replyTo -> new Topic.ChangeLimit(
                        request.rateMicros(),
                        request.burstMicros(),
                        request.floorPermille(),
                        request.sharing(),
                        request.comparedBy(),
                        replyTo));
    }

    public CompletionStage<Topic.Answer> changeDelivery(TopicName name, TopicRequest request) {
        DeliveryChange change = request.deliveryChange();
        return ask(name, replyTo -> new Topic.ChangeDelivery(change, replyTo));
    }

    public CompletionStage<Topic.Answer> pause(TopicName name, boolean paused) {
        return ask(name, replyTo -> new Topic.Pause(paused, replyTo));
    }

    public CompletionStage<Topic.Answer> delete(TopicName name) {
        return ask(name, Topic.Delete::new);
    }

    public CompletionStage<Topic.Answer> setChannel(TopicName name, String channel, boolean paused) {
        String checked = lasting(channel);
        return ask(name, replyTo -> new Topic.SetChannel(checked, new ChannelSettings(paused), replyTo));
    }

    /** Makes the channel if need be. */
    public CompletionStage<Topic.Answer> limitChannel(TopicName name, String channel, TopicRequest request) {
        String checked = lasting(channel);
        Limit limit = request.channelLimit();
        return ask(name, replyTo -> new Topic.LimitChannel(checked, limit.rateMicros(), limit.burstMicros(), replyTo));
    }

    public CompletionStage<Topic.Answer> unlimitChannel(TopicName name, String channel) {
        String checked = new ChannelName(channel).value();
        return ask(name, replyTo -> new Topic.LimitChannel(checked, 0, 0, replyTo));
    }

    public CompletionStage<Topic.Answer> deleteChannel(TopicName name, String channel) {
        String checked = lasting(channel);
        return ask(name, replyTo -> new Topic.DeleteChannel(checked, replyTo));
    }

    /** Longer than the topic lets a change wait for its turn, unless requests are to be answered sooner. */
    private CompletionStage<Topic.Answer> ask(TopicName name, Function<ActorRef<Topic.Answer>, Topic.Command> command) {
        return ask(name, command, timeout.multipliedBy(2));
    }

    private CompletionStage<Topic.Answer> ask(
            TopicName name, Function<ActorRef<Topic.Answer>, Topic.Command> command, Duration patience) {
        return ClusterSharding.get(system).entityRefFor(Topic.KEY, name.value()).ask(command, patience);
    }

    /** Every topic with its last limit, by name. */
    public CompletionStage<List<TopicDescription.Summary>> list() {
        return CompletableFuture.supplyAsync(
                () -> {
                    Map<String, LimitRow> last = new TreeMap<>();
                    for (LimitRow row : store.allLimitsAfter(0).rows()) {
                        if (!row.topic().namesChannel()) {
                            last.merge(row.topic().value(), row, (a, b) -> a.version() > b.version() ? a : b);
                        }
                    }
                    return last.values().stream()
                            .filter(row -> !row.limit().isNone())
                            .map(TopicDescription.Summary::of)
                            .toList();
                },
                storeThreads);
    }

    /**
     * Empty if there is no such topic. Asks the store and not the topic's entity: that may be on a broker that died,
     * which is why somebody asks. Of a broker that does not answer at once, its last answer is shown with its age, and
     * is not in the sums.
     */
    public CompletionStage<Optional<TopicDescription>> describe(TopicName name) {
        CompletionStage<Optional<TopicDefinition>> definition =
                CompletableFuture.supplyAsync(() -> rows.get(name), storeThreads);
        return definition.thenCompose(found -> {
            if (found.filter(TopicDefinition::exists).isEmpty()) {
                return CompletableFuture.completedFuture(Optional.empty());
            }
            CompletionStage<Set<TopicName>> done = CompletableFuture.supplyAsync(() -> done(found.get()), storeThreads);
            return done.thenCombine(parts(name), (keys, parts) -> Optional.of(describe(found.get(), keys, parts)));
        });
    }

    /** The limits, by key, of which exactly the version that was decided last exists. */
    private Set<TopicName> done(TopicDefinition definition) {
        Set<TopicName> done = new HashSet<>();
        addIfDone(definition.name(), definition.limitVersion(), done);
        definition.channels().keySet().forEach(channel -> definition
                .channelLimit(channel)
                .ifPresent(limit -> addIfDone(definition.key(channel), limit.version(), done)));
        return done;
    }

    private void addIfDone(TopicName key, long version, Set<TopicName> done) {
        if (store.limits(key).stream().anyMatch(row -> row.version() == version && row.done())) {
            done.add(key);
        }
    }

    /** Who answered, and what is known of those who did not. */
    private record Parts(List<SupplyCoordinator.Part> answered, List<TopicDescription.BrokerShare> silent) {}

    private CompletionStage<Parts> parts(TopicName name) {
        CompletionStage<List<LeaseRow>> leases = CompletableFuture.supplyAsync(store::rows, storeThreads);
        CompletionStage<SupplyCoordinator.Peers> peers =
                AskPattern.ask(supply, SupplyCoordinator.WhoIsThere::new, timeout, system.scheduler());
        return peers.thenCompose(found -> {
            List<CompletableFuture<SupplyCoordinator.Part>> asked = new ArrayList<>();
            found.refs()
                    .values()
                    .forEach(peer -> asked.add(AskPattern.ask(
                                    peer,
                                    (ActorRef<SupplyCoordinator.Part> replyTo) ->
                                            new SupplyCoordinator.Describe(name, replyTo),
                                    ANSWER_WITHIN,
                                    system.scheduler())
                            .exceptionally(silent -> null)
                            .toCompletableFuture()));
            return CompletableFuture.allOf(asked.toArray(CompletableFuture[]::new))
                    .thenApply(all -> asked.stream()
                            .map(CompletableFuture::join)
                            .filter(part -> part != null)
                            .sorted(Comparator.comparing(SupplyCoordinator.Part::broker))
                            .toList())
                    .thenCombine(leases, (answered, rows) -> withSilent(name, answered, rows));
        });
    }

    private Parts withSilent(TopicName name, List<SupplyCoordinator.Part> answered, List<LeaseRow> leases) {
        Set<String> heard = new HashSet<>();
        for (SupplyCoordinator.Part part : answered) {
            heard.add(part.broker());
            lastParts.heard(name, part);
        }
        return new Parts(
                answered,
                leases.stream()
                        .filter(row -> !heard.contains(row.holder().broker().value()))
                        // What is left of it then is stranded, and shown as such.
                        .filter(row -> !row.of(Account.LEASED).done())
                        .map(row -> silent(name, row))
                        .toList());
    }

    private TopicDescription.BrokerShare silent(TopicName name, LeaseRow row) {
        String state = row.state() == LeaseRow.State.LIVE
                ? "silent"
                : row.state().name().toLowerCase(Locale.ROOT);
        Holder holder = row.holder();
        return lastParts
                .of(name, holder.broker(), holder.incarnation())
                .map(heard -> TopicDescription.BrokerShare.silent(heard.part(), state, lastParts.ageMs(heard)))
                .orElseGet(() ->
                        TopicDescription.BrokerShare.unknown(holder.broker().value(), state));
    }

    private static TopicDescription describe(TopicDefinition definition, Set<TopicName> done, Parts known) {
        List<SupplyCoordinator.Part> parts = known.answered;
        double micros = Limit.MICROS;
        long strandedRate = parts.stream()
                .mapToLong(SupplyCoordinator.Part::strandedRateMicros)
                .max()
                .orElse(0);
        long strandedBurst = parts.stream()
                .mapToLong(SupplyCoordinator.Part::strandedBurstMicros)
                .max()
                .orElse(0);
        LimitSettings limit = definition.limit();
        Delivery delivery = definition.delivery();
        return new TopicDescription(
                definition.name().value(),
                limit.rateMicros() / micros,
                limit.burstMicros() / micros,
                definition.limitVersion(),
                done.contains(definition.name()),
                TopicRequest.word(limit.sharing()),
                limit.floorPermille() / 1_000.0,
                TopicRequest.word(limit.indicator()),
                TopicRequest.word(delivery.mode()),
                delivery.maxDelayMs(),
                delivery.maxWaiting(),
                delivery.maxQueued(),
                TopicRequest.word(delivery.overflow()),
                TopicRequest.word(delivery.clock()),
                definition.borrows(),
                definition.paused(),
                definition.channels().keySet().stream()
                        .map(channel -> channel(definition, channel, done))
                        .toList(),
                sum(parts.stream().map(SupplyCoordinator.Part::rate)),
                sum(parts.stream().map(SupplyCoordinator.Part::burst)),
                Stream.concat(parts.stream().map(TopicDescription.BrokerShare::of), known.silent.stream())
                        .sorted(Comparator.comparing(TopicDescription.BrokerShare::broker))
                        .toList(),
                new TopicDescription.Amount(
                        sum(parts.stream().map(SupplyCoordinator.Part::inFlightRate)),
                        sum(parts.stream().map(SupplyCoordinator.Part::inFlightBurst))),
                new TopicDescription.Amount(strandedRate / micros, strandedBurst / micros));
    }

    private static TopicDescription.ChannelView channel(
            TopicDefinition definition, String channel, Set<TopicName> done) {
        double micros = Limit.MICROS;
        Optional<LimitSettings> limit = definition.channelLimit(channel).map(TopicDefinition.LimitVersion::limit);
        return new TopicDescription.ChannelView(
                channel,
                definition.channels().get(channel).paused(),
                limit.map(of -> new TopicDescription.Amount(of.rateMicros() / micros, of.burstMicros() / micros))
                        .orElse(null),
                limit.isEmpty() || done.contains(definition.key(channel)));
    }

    /** In whole micro-tokens, so that parts of a limit add up to it and not to nearly it. */
    private static double sum(Stream<Double> messages) {
        return messages.mapToLong(each -> Math.round(each * Limit.MICROS)).sum() / (double) Limit.MICROS;
    }
}

package io.weir.supervisor.node;

import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.javadsl.AskPattern;
import akka.cluster.sharding.typed.javadsl.ClusterSharding;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.Supply;
import io.weir.limiter.supply.SupplyStore;
import io.weir.limiter.supply.algorithm.LimitRow;
import io.weir.topics.Topic;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** What operators ask of topics, answered by the cluster that this broker is in. */
final class TopicAdmin {
    private final ActorSystem<?> system;
    private final ActorRef<Supply.Command> supply;
    private final SupplyStore store;
    private final Executor storeThreads;
    private final Duration timeout;

    TopicAdmin(
            ActorSystem<?> system,
            ActorRef<Supply.Command> supply,
            SupplyStore store,
            Executor storeThreads,
            Duration timeout) {
        this.system = system;
        this.supply = supply;
        this.store = store;
        this.storeThreads = storeThreads;
        this.timeout = timeout;
    }

    CompletionStage<Topic.Answer> create(TopicName name, Topic.Definition definition) {
        return ask(name, replyTo -> new Topic.Create(definition, replyTo));
    }

    CompletionStage<Topic.Answer> change(TopicName name, TopicRequest request) {
        return ask(
                name,
                replyTo -> new Topic.Change(
                        request.rateMicros(),
                        request.burstMicros(),
                        request.floorPermille(),
                        request.sharing(),
                        replyTo));
    }

    private CompletionStage<Topic.Answer> ask(
            TopicName name, akka.japi.function.Function<ActorRef<Topic.Answer>, Topic.Command> command) {
        return ClusterSharding.get(system).entityRefFor(Topic.KEY, name.value()).ask(command, timeout);
    }

    /** Every topic with its last limit, by name. */
    CompletionStage<List<TopicDescription.Summary>> list() {
        return CompletableFuture.supplyAsync(
                () -> {
                    Map<String, LimitRow> last = new TreeMap<>();
                    for (LimitRow row : store.limitsAfter(0).rows()) {
                        last.merge(row.topic().value(), row, (a, b) -> a.version() > b.version() ? a : b);
                    }
                    return last.values().stream()
                            .filter(row -> !row.limit().isNone())
                            .map(TopicDescription.Summary::of)
                            .toList();
                },
                storeThreads);
    }

    /** Empty if there is no such topic. Brokers that do not answer in time are left out, and what they hold is missing from the sums. */
    CompletionStage<Optional<TopicDescription>> describe(TopicName name) {
        CompletionStage<List<LimitRow>> versions =
                CompletableFuture.supplyAsync(() -> store.limits(name), storeThreads);
        return versions.thenCompose(rows -> {
            if (rows.isEmpty()) {
                return CompletableFuture.completedFuture(Optional.empty());
            }
            return parts(name).thenApply(parts -> Optional.of(describe(rows.get(rows.size() - 1), parts)));
        });
    }

    private CompletionStage<List<Supply.Part>> parts(TopicName name) {
        CompletionStage<Supply.Peers> peers =
                AskPattern.ask(supply, Supply.WhoIsThere::new, timeout, system.scheduler());
        return peers.thenCompose(found -> {
            List<CompletableFuture<Supply.Part>> asked = new ArrayList<>();
            found.refs()
                    .values()
                    .forEach(peer -> asked.add(AskPattern.ask(
                                    peer,
                                    (ActorRef<Supply.Part> replyTo) -> new Supply.Describe(name, replyTo),
                                    Duration.ofSeconds(1),
                                    system.scheduler())
                            .exceptionally(silent -> null)
                            .toCompletableFuture()));
            return CompletableFuture.allOf(asked.toArray(CompletableFuture[]::new))
                    .thenApply(all -> asked.stream()
                            .map(CompletableFuture::join)
                            .filter(part -> part != null)
                            .sorted(Comparator.comparing(Supply.Part::broker))
                            .toList());
        });
    }

    private static TopicDescription describe(LimitRow row, List<Supply.Part> parts) {
        double micros = Limit.MICROS;
        long strandedRate =
                parts.stream().mapToLong(Supply.Part::strandedRateMicros).max().orElse(0);
        long strandedBurst =
                parts.stream().mapToLong(Supply.Part::strandedBurstMicros).max().orElse(0);
        return new TopicDescription(
                row.topic().value(),
                row.limit().rateMicros() / micros,
                row.limit().burstMicros() / micros,
                row.version(),
                row.done(),
                row.sharing().name().toLowerCase(Locale.ROOT),
                row.floorPermille() / 1_000.0,
                sum(parts.stream().map(Supply.Part::rate)),
                sum(parts.stream().map(Supply.Part::burst)),
                parts.stream().map(TopicDescription.BrokerShare::of).toList(),
                new TopicDescription.Amount(
                        sum(parts.stream().map(Supply.Part::inFlightRate)),
                        sum(parts.stream().map(Supply.Part::inFlightBurst))),
                new TopicDescription.Amount(strandedRate / micros, strandedBurst / micros));
    }

    /** In whole micro-tokens, so that parts of a limit add up to it and not to nearly it. */
    private static double sum(java.util.stream.Stream<Double> messages) {
        return messages.mapToLong(each -> Math.round(each * Limit.MICROS)).sum() / (double) Limit.MICROS;
    }
}

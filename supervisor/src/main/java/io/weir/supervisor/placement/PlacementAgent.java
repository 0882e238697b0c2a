package io.weir.supervisor.placement;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.actor.typed.javadsl.TimerScheduler;
import io.weir.config.CrossesNodes;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.topics.algorithm.DelayCounts;
import io.weir.topics.federation.PlacementTable;
import io.weir.topics.federation.PlacementTable.Attendance;
import io.weir.topics.federation.PlacementTable.Seats;
import io.weir.topics.path.MessagePath;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;

/**
 * One broker's end of placement: tells {@link Placement} who publishes here and how messages fare, and lays on the message path what was
 * decided, which it reads from the store as it changes.
 *
 * <p>Only what is new is told: a publisher when it comes, goes, or has become much faster or slower. When a report is lost {@link Placement}
 * notices by its number and has everything told again. Nothing is queued here: what could not be told waits in the counters it was taken
 * from, or is told anew.
 */
public final class PlacementAgent extends AbstractBehavior<PlacementAgent.Command> {
    public static final String NAME = "placement-desk";

    private static final Duration LOOK_EVERY = Duration.ofSeconds(1);
    /** How much a new window weighs: a rate follows in some seconds, and noise does not make it a new one. */
    private static final double WEIGHT = 0.2;
    /** A rate is told again when it is off by this part ... */
    private static final double NEWS = 0.25;
    /** ... and by so many messages a second. */
    private static final double LEAST_NEWS = 2;

    /** What it understands. */
    public sealed interface Command {}

    /** A decision is new in the store. */
    public record LookNow() implements Command, CrossesNodes {}

    /** Something that was told did not arrive: everything is to be told again. */
    public record SendAll() implements Command, CrossesNodes {}

    private record ReportDue() implements Command {}

    private record LookDue() implements Command {}

    private record Taken(List<Attendance> attendances, Map<TopicName, DelayCounts.Window> delays) implements Command {}

    private record NotTaken(String why) implements Command {}

    private record Looked(Decisions.Changes changes) implements Command {}

    private record LookFailed(String why) implements Command {}

    private static final class Known {
        private double rate = -1;
        private double told = -1;
        private String group;
    }

    private final BrokerId here;
    private final MessagePath path;
    private final PlacementTable table;
    private final Decisions decisions;
    private final Executor storeThreads;
    private final ActorRef<Placement.Command> placement;
    private final Duration every;
    private final LongSupplier clock;
    private final TimerScheduler<Command> timers;
    private final Map<TopicName, Map<Long, Known>> known = new HashMap<>();
    private final Map<TopicName, Long> seated = new HashMap<>();
    private final Set<TopicName> reseated = new HashSet<>();
    /** What the message path had no room for. */
    private final Map<TopicName, Decision> unseated = new LinkedHashMap<>();

    private long session;
    private int number;
    private boolean all = true;
    private boolean taking;
    private long takenNs;
    private long upTo;
    private boolean looking;
    private boolean lookAgain;

    /** @param session differs from that of earlier lives of this broker */
    public static Behavior<Command> create(
            BrokerId here,
            MessagePath path,
            PlacementTable table,
            Decisions decisions,
            Executor storeThreads,
            ActorRef<Placement.Command> placement,
            Duration every,
            long session,
            LongSupplier clock) {
        return Behaviors.setup(context -> Behaviors.withTimers(timers -> new PlacementAgent(
                context, timers, here, path, table, decisions, storeThreads, placement, every, session, clock)));
    }

    private PlacementAgent(
            ActorContext<Command> context,
            TimerScheduler<Command> timers,
            BrokerId here,
            MessagePath path,
            PlacementTable table,
            Decisions decisions,
            Executor storeThreads,
            ActorRef<Placement.Command> placement,
            Duration every,
            long session,
            LongSupplier clock) {
        super(context);
        // Found by itself it would be that of the timers around this behaviour.
        context.setLoggerName(PlacementAgent.class);
        this.timers = timers;
        this.here = here;
        this.path = path;
        this.table = table;
        this.decisions = decisions;
        this.storeThreads = storeThreads;
        this.placement = placement;
        this.every = every;
        this.session = session;
        this.clock = clock;
        takenNs = clock.getAsLong();
        timers.startTimerWithFixedDelay(new ReportDue(), every);
        context.getSelf().tell(new LookDue());
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(ReportDue.class, due -> onReportDue())
                .onMessage(Taken.class, this::onTaken)
                .onMessage(NotTaken.class, this::onNotTaken)
                .onMessage(SendAll.class, send -> onSendAll())
                .onMessage(LookNow.class, now -> onLookNow())
                .onMessage(LookDue.class, due -> onLookDue())
                .onMessage(Looked.class, this::onLooked)
                .onMessage(LookFailed.class, this::onLookFailed)
                .build();
    }

    // What it tells

    private Behavior<Command> onReportDue() {
        if (!taking) {
            taking = true;
            getContext()
                    .pipeToSelf(
                            take().thenCombine(path.takeDelays(), Taken::new),
                            (taken, failure) -> failure == null ? taken : new NotTaken(failure.getMessage()));
        }
        return this;
    }

    private CompletionStage<List<Attendance>> take() {
        CompletableFuture<List<Attendance>> taken = new CompletableFuture<>();
        if (!path.offer((port, nowNs) -> taken.complete(table.take()))) {
            taken.completeExceptionally(new IllegalStateException("the message path takes no more now"));
        }
        // A path that ends with this in its queue answers nobody.
        return taken.orTimeout(every.toMillis() * 10, java.util.concurrent.TimeUnit.MILLISECONDS);
    }

    private Behavior<Command> onNotTaken(NotTaken none) {
        taking = false;
        getContext().getLog().debug("{} could not count its publishers: {}", here, none.why);
        return this;
    }

    private Behavior<Command> onTaken(Taken taken) {
        taking = false;
        long nowNs = clock.getAsLong();
        long windowNs = Math.max(1, nowNs - takenNs);
        takenNs = nowNs;
        Map<TopicName, Report.OfTopic> news = new LinkedHashMap<>();
        taken.attendances.forEach(attendance -> learn(attendance, windowNs));
        if (all) {
            all = false;
            session++;
            number = 0;
            known.values().forEach(publishers -> publishers.values().forEach(each -> each.told = -1));
        }
        Map<TopicName, long[]> left = new HashMap<>();
        taken.attendances.forEach(attendance -> left.put(attendance.topic(), attendance.left()));
        Set<TopicName> topics = new HashSet<>(known.keySet());
        topics.addAll(taken.delays.keySet());
        topics.addAll(left.keySet());
        for (TopicName topic : topics) {
            Report.OfTopic of = news(topic, left.getOrDefault(topic, new long[0]), taken.delays.get(topic));
            if (of.ids().length > 0 || of.left().length > 0 || of.delays().length > 0) {
                news.put(topic, of);
            }
        }
        reseated.clear();
        known.values().removeIf(Map::isEmpty);
        send(new ArrayList<>(news.values()), windowNs);
        seatLeftOvers();
        return this;
    }

    private void learn(Attendance attendance, long windowNs) {
        Map<Long, Known> publishers = known.computeIfAbsent(attendance.topic(), fresh -> new HashMap<>());
        double seconds = windowNs / 1e9;
        for (int i = 0; i < attendance.ids().length; i++) {
            Known before = publishers.get(attendance.ids()[i]);
            if (before == null) {
                // It came in the midst of the window, which says nothing about its rate yet.
                Known fresh = new Known();
                fresh.group = attendance.groups()[i];
                fresh.rate = attendance.expectedRates()[i] > 0 ? attendance.expectedRates()[i] : -1;
                publishers.put(attendance.ids()[i], fresh);
            } else if (attendance.expectedRates()[i] > 0) {
                before.rate = attendance.expectedRates()[i];
            } else {
                double measured = attendance.messages()[i] / seconds;
                before.rate = before.rate < 0 ? measured : (1 - WEIGHT) * before.rate + WEIGHT * measured;
            }
            if (before != null && !before.group.equals(attendance.groups()[i])) {
                before.group = attendance.groups()[i];
                before.told = -1;
            }
        }
        for (long id : attendance.left()) {
            publishers.remove(id);
        }
    }

    private Report.OfTopic news(TopicName topic, long[] left, DelayCounts.Window window) {
        Map<Long, Known> publishers = known.getOrDefault(topic, Map.of());
        List<Long> ids = new ArrayList<>();
        publishers.forEach((id, each) -> {
            boolean news = each.told < 0
                    || Math.abs(each.rate - each.told) > Math.max(LEAST_NEWS, NEWS * Math.max(each.rate, each.told));
            if (each.rate >= 0 && news) {
                each.told = each.rate;
                ids.add(id);
            }
        });
        float[] rates = new float[ids.size()];
        String[] groups = new String[ids.size()];
        for (int i = 0; i < rates.length; i++) {
            Known each = publishers.get(ids.get(i));
            rates[i] = (float) each.rate;
            groups[i] = each.group;
        }
        return new Report.OfTopic(
                topic,
                reseated.contains(topic) ? -1 : seated.getOrDefault(topic, 0L),
                ids.stream().mapToLong(Long::longValue).toArray(),
                rates,
                groups,
                left,
                window == null ? 0 : window.batches(),
                window == null ? new int[0] : Report.sparse(window));
    }

    /** In messages of bounded size, at least one: silence would say that this broker is gone. */
    private void send(List<Report.OfTopic> news, long windowNs) {
        List<Report.OfTopic> next = new ArrayList<>();
        int bytes = 0;
        for (Report.OfTopic of : news) {
            for (int from = 0; from == 0 || from < of.ids().length; from += Report.MOST_PUBLISHERS) {
                Report.OfTopic part = part(of, from);
                if (!next.isEmpty() && bytes + Report.bytes(part) > Report.MOST_BYTES) {
                    tell(next, windowNs);
                    next = new ArrayList<>();
                    bytes = 0;
                }
                next.add(part);
                bytes += Report.bytes(part);
            }
        }
        tell(next, windowNs);
    }

    private static Report.OfTopic part(Report.OfTopic of, int from) {
        if (from == 0 && of.ids().length <= Report.MOST_PUBLISHERS) {
            return of;
        }
        int to = Math.min(of.ids().length, from + Report.MOST_PUBLISHERS);
        return new Report.OfTopic(
                of.topic(),
                of.revision(),
                Arrays.copyOfRange(of.ids(), from, to),
                Arrays.copyOfRange(of.rates(), from, to),
                Arrays.copyOfRange(of.groups(), from, to),
                from == 0 ? of.left() : new long[0],
                from == 0 ? of.batches() : 0,
                from == 0 ? of.delays() : new int[0]);
    }

    private void tell(List<Report.OfTopic> part, long windowNs) {
        placement.tell(new Placement.Reported(
                new Report(here, session, number++, windowNs, part),
                getContext().getSelf()));
    }

    private Behavior<Command> onSendAll() {
        all = true;
        return this;
    }

    // What it lays

    private Behavior<Command> onLookNow() {
        if (looking) {
            lookAgain = true;
            return this;
        }
        return onLookDue();
    }

    private Behavior<Command> onLookDue() {
        if (looking) {
            return this;
        }
        looking = true;
        long after = upTo;
        getContext()
                .pipeToSelf(
                        CompletableFuture.supplyAsync(() -> decisions.after(after), storeThreads),
                        (changes, failure) ->
                                failure == null ? new Looked(changes) : new LookFailed(failure.getMessage()));
        return this;
    }

    private Behavior<Command> onLooked(Looked looked) {
        upTo = looked.changes.upTo();
        looked.changes.decisions().forEach(this::seat);
        planLook();
        return this;
    }

    private Behavior<Command> onLookFailed(LookFailed failed) {
        getContext().getLog().debug("{} can't read the placement: {}", here, failed.why);
        planLook();
        return this;
    }

    private void planLook() {
        looking = false;
        timers.startSingleTimer(new LookDue(), lookAgain ? Duration.ofMillis(1) : LOOK_EVERY);
        lookAgain = false;
    }

    private void seat(Decision decision) {
        if (decision.revision() <= seated.getOrDefault(decision.topic(), 0L)) {
            return;
        }
        Map<BrokerId, long[]> homes = new HashMap<>();
        decision.parts().forEach(part -> homes.put(part.broker(), Decision.unpack(part.ids())));
        Seats seats = new Seats(decision.topic(), decision.revision(), homes);
        if (path.offer((port, nowNs) -> table.seat(seats))) {
            seated.put(decision.topic(), decision.revision());
            reseated.add(decision.topic());
        } else {
            unseated.merge(decision.topic(), decision, (a, b) -> a.revision() > b.revision() ? a : b);
        }
    }

    private void seatLeftOvers() {
        if (!unseated.isEmpty()) {
            List<Decision> again = new ArrayList<>(unseated.values());
            unseated.clear();
            again.forEach(this::seat);
        }
    }
}

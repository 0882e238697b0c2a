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
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.follow.RowFollower;
import io.weir.topics.algorithm.DelayCounts;
import io.weir.topics.algorithm.SendingRecording;
import io.weir.topics.federation.PlacementTable;
import io.weir.topics.federation.PlacementTable.Attendance;
import io.weir.topics.federation.PlacementTable.Seats;
import io.weir.topics.path.Delivered;
import io.weir.topics.path.MessagePath;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * One broker's end of placement: it reports to {@link Placement} who publishes here and how long messages wait, follows
 * the stored decisions, and gives the message path's {@link PlacementTable} the seats that they name.
 *
 * <p>A report has only what is new: publishers that came, left, or became much faster or slower. When a report is lost,
 * {@link Placement} notices by its number and asks for everything. Nothing is queued here: what could not be reported
 * stays in the counters it is taken from, or is reported again. When publishers began to send is told as it is; what is
 * lost of that is lost.
 *
 * <pre>
 *   asleep ── somebody registers here, or the store has registrations or placed topics ──► awake
 *   awake  ── nobody is registered, nothing is placed, nobody registers here ──► asleep
 * </pre>
 *
 * Asleep it neither reports nor looks, and has no timer. Where placement is on for all topics it is always awake.
 */
public final class PlacementAgent extends AbstractBehavior<PlacementAgent.Command> {
    public static final String NAME = "placement-agent";

    private static final Duration LOOK_EVERY = Duration.ofSeconds(1);
    /** How much a new window weighs: a rate follows within seconds, and noise does not move it much. */
    private static final double WEIGHT = 0.2;
    /** A rate is reported again when it is off by this part ... */
    private static final double NEWS = 0.25;
    /** ... and by so many messages a second. */
    private static final double LEAST_NEWS = 2;

    /** What it understands. */
    public sealed interface Command {}

    /** A decision is new in the store. */
    public record LookNow() implements Command, CrossesNodes {}

    /** A report was lost: report everything again. */
    public record SendAll() implements Command, CrossesNodes {}

    private record ReportDue() implements Command {}

    private record LookDue() implements Command {}

    private record Taken(TakenFromTable table, Map<TopicName, DelayCounts.Window> delays, List<Delivered> deliveries)
            implements Command {}

    /** @param recording that has ended; null: none */
    private record TakenFromTable(List<Attendance> attendances, SendingRecording recording, boolean tracks) {}

    private record TakenHalf(TakenFromTable table, Map<TopicName, DelayCounts.Window> delays) {}

    private record NotTaken(String why) implements Command {}

    /** Somebody registered here for a topic that was not followed. */
    public record SomebodyRegistered() implements Command {}

    /** What is new in the store. */
    private record Look(Decisions.Changes changes, Optional<Decisions.RegisteredTopics> registered) {}

    private record Looked(Look look) implements Command {}

    /** @param any whether there is anything to do; null if the store did not answer */
    private record LookedAsleep(Boolean any) implements Command {}

    private record LookFailed(String why) implements Command {}

    private static final class Known {
        private double rate = -1;
        /** Negative: not yet. */
        private double reportedRate = -1;

        private double size = 1;
        private double reportedSize;
        private byte registered;
        private String group;
    }

    private final BrokerId here;
    private final MessagePath path;
    private final PlacementTable table;
    private final ActorRef<Placement.Command> placement;
    private final Dependencies with;
    private final LongSupplier clock;
    private final RowFollower<Command, Look> follower;
    private final Map<TopicName, Map<Long, Known>> known = new HashMap<>();
    private final Map<TopicName, Long> seated = new HashMap<>();
    private final Set<TopicName> reseated = new HashSet<>();
    /** What the decisions put here, in micro-tokens/s: all topics that are placed. */
    private final Map<TopicName, Long> placedHere = new HashMap<>();

    /** Topics that somebody registered for, as the store has it. */
    private Set<TopicName> registered = Set.of();
    /** Topics of which the message path counts how long messages take. */
    private Set<TopicName> measured = Set.of();
    /** Read by a store thread, which looks only when the last look is done. */
    private volatile long registrationNumber;

    private boolean looked;
    private boolean somebodyRegistered;
    private boolean tookOnce;
    /** Decisions that the message path's queue had no room for. */
    private final Map<TopicName, Decision> unseated = new LinkedHashMap<>();

    /** The last of who sends when; null before the first. */
    private SendingRecording recording;

    private long session;
    private int number;
    private boolean all = true;
    private boolean taking;
    private long takenNs;

    /**
     * What it works with.
     *
     * @param placed is told what the decisions put here, in micro-tokens/s, by topic; topics that are not placed are
     *     missing
     * @param sessions each differs from all before it, also of earlier lives of this broker
     * @param wallClock nanoseconds since the epoch, or {@link PlacementTable#UNOBSERVED} if nobody looks for groups
     * @param registeredOnly whether topics are placed that somebody registered for, and no others
     */
    public record Dependencies(
            BrokerId here,
            MessagePath path,
            PlacementTable table,
            Decisions decisions,
            Executor storeThreads,
            ActorRef<Placement.Command> placement,
            Consumer<Map<TopicName, Long>> placed,
            Duration every,
            LongSupplier sessions,
            LongSupplier clock,
            LongSupplier wallClock,
            boolean registeredOnly) {}

    public static Behavior<Command> create(Dependencies with) {
        return with.registeredOnly ? asleep(with) : awake(with);
    }

    private static Behavior<Command> awake(Dependencies with) {
        return Behaviors.setup(context -> Behaviors.withTimers(timers -> new PlacementAgent(context, timers, with)));
    }

    /**
     * Nobody has registered anywhere, as far as it knows: it does nothing until somebody registers here, or it is told
     * to look. It looks once by itself, since somebody may have registered before this broker started.
     */
    private static Behavior<Command> asleep(Dependencies with) {
        return Behaviors.setup(context -> Behaviors.withTimers(timers -> {
            // They would outlive the behaviour that started them.
            timers.cancelAll();
            context.getSelf().tell(new LookNow());
            ActorRef<Command> self = context.getSelf();
            // Somebody may have registered before this actor was there.
            with.path.offer((port, nowNs) -> {
                if (with.table.tracks()) {
                    self.tell(new SomebodyRegistered());
                }
            });
            return Behaviors.receive(Command.class)
                    .onMessage(SomebodyRegistered.class, here -> awake(with))
                    .onMessage(LookNow.class, now -> {
                        context.pipeToSelf(
                                CompletableFuture.supplyAsync(
                                        () -> PlacementAtRest.anythingToDo(with.decisions), with.storeThreads),
                                (any, failure) -> new LookedAsleep(failure == null ? any : null));
                        return Behaviors.same();
                    })
                    .onMessage(LookedAsleep.class, looked -> {
                        if (looked.any == null) {
                            timers.startSingleTimer(new LookNow(), LOOK_EVERY);
                        }
                        return Boolean.TRUE.equals(looked.any) ? awake(with) : Behaviors.same();
                    })
                    // What was under way when it fell asleep.
                    .onAnyMessage(late -> Behaviors.same())
                    .build();
        }));
    }

    private PlacementAgent(ActorContext<Command> context, TimerScheduler<Command> timers, Dependencies with) {
        super(context);
        // Akka would otherwise derive the logger's name from the withTimers wrapper.
        context.setLoggerName(PlacementAgent.class);
        this.with = with;
        here = with.here;
        path = with.path;
        table = with.table;
        placement = with.placement;
        clock = with.clock;
        session = with.sessions.getAsLong();
        takenNs = clock.getAsLong();
        path.measure(with.registeredOnly ? measured : null);
        timers.startTimerWithFixedDelay(new ReportDue(), with.every);
        follower = new RowFollower<>(
                context,
                timers,
                with.storeThreads,
                LOOK_EVERY,
                after -> new Look(
                        with.decisions.after(after),
                        with.registeredOnly ? with.decisions.registeredTopics(registrationNumber) : Optional.empty()),
                new LookDue(),
                (look, failure) -> failure == null ? new Looked(look) : new LookFailed(failure.getMessage()));
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(ReportDue.class, due -> onReportDue())
                .onMessage(Taken.class, this::onTaken)
                .onMessage(NotTaken.class, this::onNotTaken)
                .onMessage(SendAll.class, send -> onSendAll())
                .onMessage(SomebodyRegistered.class, here -> onSomebodyRegistered())
                .onMessage(LookNow.class, now -> follow(follower::lookNow))
                .onMessage(LookDue.class, due -> follow(follower::look))
                .onMessage(Looked.class, this::onLooked)
                .onMessage(LookFailed.class, this::onLookFailed)
                .build();
    }

    // Reports

    private Behavior<Command> onReportDue() {
        if (!taking) {
            taking = true;
            getContext()
                    .pipeToSelf(
                            take().thenCombine(path.takeDelays(), TakenHalf::new)
                                    .thenCombine(
                                            path.takeDeliveries(),
                                            (half, deliveries) -> new Taken(half.table, half.delays, deliveries)),
                            (taken, failure) -> failure == null ? taken : new NotTaken(failure.getMessage()));
        }
        return this;
    }

    private CompletionStage<TakenFromTable> take() {
        CompletableFuture<TakenFromTable> taken = new CompletableFuture<>();
        if (!path.offer((port, nowNs) -> taken.complete(new TakenFromTable(
                table.take(clock.getAsLong(), with.wallClock.getAsLong()),
                table.takeRecording(clock.getAsLong()),
                table.tracks())))) {
            taken.completeExceptionally(new IllegalStateException("the message path takes no more now"));
        }
        // A path that ends with this in its queue answers nobody.
        return taken.orTimeout(with.every.toMillis() * 10, java.util.concurrent.TimeUnit.MILLISECONDS);
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
        if (with.registeredOnly) {
            forgetUnfollowed(taken);
        }
        Map<TopicName, Report.OfTopic> news = new LinkedHashMap<>();
        taken.table.attendances.forEach(attendance -> learn(attendance, windowNs));
        recording = taken.table.recording == null ? recording : taken.table.recording;
        if (recording != null && (all || taken.table.recording != null)) {
            RecordedTraces.Part.of(here, recording).forEach(part -> placement.tell(new Placement.Recorded(part)));
        }
        if (all) {
            all = false;
            session++;
            number = 0;
            known.values().forEach(publishers -> publishers.values().forEach(each -> each.reportedRate = -1));
        }
        Map<TopicName, long[]> left = new HashMap<>();
        taken.table.attendances.forEach(attendance -> left.put(attendance.topic(), attendance.left()));
        Set<TopicName> topics = new HashSet<>(known.keySet());
        topics.addAll(taken.delays.keySet());
        topics.addAll(left.keySet());
        for (TopicName topic : topics) {
            Report.OfTopic of = news(topic, left.getOrDefault(topic, new long[0]), taken.delays.get(topic));
            if (of.ids().length > 0 || of.left().length > 0 || of.delays().length > 0) {
                news.put(topic, of);
            }
        }
        List<Report.Delivered> delivered = new ArrayList<>();
        taken.deliveries.forEach(each -> delivered.add(new Report.Delivered(
                each.topic(),
                each.home() == null ? here : each.home(),
                revision(each.topic()),
                Report.sparse(each.delays()),
                Report.sparse(each.late()))));
        reseated.clear();
        known.values().removeIf(Map::isEmpty);
        List<Report.Bursts> bursts = new ArrayList<>();
        taken.table.attendances.forEach(attendance -> addBursts(attendance, bursts));
        ReportPage.cut(news.values(), bursts, delivered, page -> tell(page, windowNs));
        seatLeftOvers();
        return mayRest(taken.table) ? rest() : this;
    }

    /** Of other topics nobody wants to know; and at first, what was counted while it was asleep says nothing. */
    private void forgetUnfollowed(Taken taken) {
        Set<TopicName> followed = new HashSet<>(registered);
        taken.table.attendances.forEach(attendance -> followed.add(attendance.topic()));
        known.keySet().retainAll(followed);
        taken.delays.keySet().retainAll(tookOnce ? followed : Set.of());
        tookOnce = true;
        if (!measured.equals(followed)) {
            measured = Set.copyOf(followed);
            path.measure(measured);
        }
    }

    private boolean mayRest(TakenFromTable taken) {
        boolean may = with.registeredOnly
                && looked
                && !somebodyRegistered
                && registered.isEmpty()
                && placedHere.isEmpty()
                && unseated.isEmpty()
                && !taken.tracks;
        somebodyRegistered = false;
        return may;
    }

    private Behavior<Command> rest() {
        path.measure(Set.of());
        return asleep(with);
    }

    private void learn(Attendance attendance, long windowNs) {
        Map<Long, Known> publishers = known.computeIfAbsent(attendance.topic(), fresh -> new HashMap<>());
        double seconds = windowNs / 1e9;
        for (int i = 0; i < attendance.ids().length; i++) {
            Known before = publishers.get(attendance.ids()[i]);
            boolean unmeasured = before != null && before.rate < 0;
            if (before == null) {
                // It came during the window, which therefore says nothing about its rate yet.
                Known fresh = new Known();
                fresh.group = attendance.groups()[i];
                fresh.rate = attendance.expectedRates()[i] > 0 ? attendance.expectedRates()[i] : -1;
                fresh.registered = attendance.registered()[i];
                fresh.size = size(attendance, i, 1);
                publishers.put(attendance.ids()[i], fresh);
            } else if (attendance.expectedRates()[i] > 0) {
                before.rate = attendance.expectedRates()[i];
            } else {
                double measured = attendance.messages()[i] / seconds;
                before.rate = before.rate < 0 ? measured : (1 - WEIGHT) * before.rate + WEIGHT * measured;
            }
            if (before != null) {
                double size = size(attendance, i, before.size);
                before.size = unmeasured ? size : (1 - WEIGHT) * before.size + WEIGHT * size;
                if (!before.group.equals(attendance.groups()[i])
                        || before.registered != attendance.registered()[i]) {
                    before.group = attendance.groups()[i];
                    before.registered = attendance.registered()[i];
                    before.reportedRate = -1;
                }
            }
        }
        for (long id : attendance.left()) {
            publishers.remove(id);
        }
    }

    private static double size(Attendance attendance, int i, double usual) {
        return attendance.sendings()[i] == 0
                ? usual
                : Math.max(1, attendance.messages()[i] / (double) attendance.sendings()[i]);
    }

    private static void addBursts(Attendance attendance, List<Report.Bursts> bursts) {
        long[] ids = new long[attendance.ids().length];
        long[] slots = new long[ids.length];
        int count = 0;
        for (int i = 0; i < ids.length; i++) {
            if (attendance.bursts()[i] != 0) {
                ids[count] = attendance.ids()[i];
                slots[count++] = attendance.bursts()[i];
            }
        }
        if (count > 0) {
            bursts.add(new Report.Bursts(
                    attendance.topic(), attendance.fromSlot(), Arrays.copyOf(ids, count), Arrays.copyOf(slots, count)));
        }
    }

    private Report.OfTopic news(TopicName topic, long[] left, DelayCounts.Window window) {
        Map<Long, Known> publishers = known.getOrDefault(topic, Map.of());
        List<Long> ids = new ArrayList<>();
        publishers.forEach((id, each) -> {
            boolean news = each.reportedRate < 0
                    || Math.abs(each.rate - each.reportedRate)
                            > Math.max(LEAST_NEWS, NEWS * Math.max(each.rate, each.reportedRate))
                    || Math.abs(each.size - each.reportedSize) > NEWS * Math.max(each.size, each.reportedSize);
            if (each.rate >= 0 && news) {
                each.reportedRate = each.rate;
                each.reportedSize = each.size;
                ids.add(id);
            }
        });
        float[] rates = new float[ids.size()];
        float[] sizes = new float[rates.length];
        byte[] registered = new byte[rates.length];
        String[] groups = new String[ids.size()];
        for (int i = 0; i < rates.length; i++) {
            Known each = publishers.get(ids.get(i));
            rates[i] = (float) each.rate;
            sizes[i] = (float) each.size;
            registered[i] = each.registered;
            groups[i] = each.group;
        }
        return new Report.OfTopic(
                topic,
                revision(topic),
                ids.stream().mapToLong(Long::longValue).toArray(),
                rates,
                sizes,
                registered,
                groups,
                left,
                window == null ? 0 : window.batches(),
                window == null ? new int[0] : Report.sparse(window));
    }

    private long revision(TopicName topic) {
        return reseated.contains(topic) ? -1 : seated.getOrDefault(topic, 0L);
    }

    private void tell(ReportPage page, long windowNs) {
        Report report = new Report(here, session, number++, windowNs, page.topics(), page.bursts(), page.delivered());
        placement.tell(new Placement.Reported(report, getContext().getSelf()));
    }

    /** It may have come after the path was asked who publishes. */
    private Behavior<Command> onSomebodyRegistered() {
        somebodyRegistered = true;
        return this;
    }

    private Behavior<Command> onSendAll() {
        all = true;
        return this;
    }

    // Decisions

    private Behavior<Command> follow(Runnable step) {
        step.run();
        return this;
    }

    private Behavior<Command> onLooked(Looked found) {
        Decisions.Changes changes = found.look.changes;
        changes.decisions().forEach(this::seat);
        changes.decisions().forEach(this::count);
        if (!changes.decisions().isEmpty()) {
            with.placed.accept(Map.copyOf(placedHere));
        }
        found.look.registered.ifPresent(this::follow);
        looked = true;
        follower.looked(changes.upTo());
        return this;
    }

    private void follow(Decisions.RegisteredTopics topics) {
        // If the path has no room for it, the next look brings it again.
        if (path.offer((port, nowNs) -> table.follow(topics.topics()))) {
            registered = topics.topics();
            registrationNumber = topics.number();
        }
    }

    private Behavior<Command> onLookFailed(LookFailed failed) {
        getContext().getLog().debug("{} can't read the placement: {}", here, failed.why);
        follower.failed();
        return this;
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

    private void count(Decision decision) {
        if (decision.parts().isEmpty()) {
            placedHere.remove(decision.topic());
        } else {
            placedHere.put(decision.topic(), Math.round(decision.rateOf(here) * Limit.MICROS));
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

package io.weir.supervisor.node;

import akka.http.javadsl.model.StatusCodes;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.simulation.ArrivalTrace;
import io.weir.topics.algorithm.ArrivalRecording;
import io.weir.topics.path.MessagePath;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.ObjLongConsumer;
import java.util.function.Supplier;

/**
 * Records arrivals at this broker, of one topic at a time. The last recording is kept, in at most 8 MiB, until the next
 * one begins.
 */
public final class TopicRecorder {
    private static final int READINGS = 5;
    private static final double LONGEST_SECONDS = ArrivalRecording.LONGEST_NS / 1e9;

    /** @param wallOffsetNs what wall-clock time is ahead of the message path's clock */
    private record Current(TopicName topic, double seconds, ArrivalRecording arrivals, long wallOffsetNs) {}

    private final BrokerId broker;
    private final Supplier<MessagePath> path;
    private final LongSupplier clock;
    private final LongSupplier wallNs;
    private final ObjLongConsumer<TopicName> begun;
    private Current current;

    /** @param begun is told of every recording that has begun, and how long it takes in nanoseconds */
    TopicRecorder(BrokerId broker, Supplier<MessagePath> path, LongSupplier clock, ObjLongConsumer<TopicName> begun) {
        this(broker, path, clock, TopicRecorder::wallClockNs, begun);
    }

    TopicRecorder(
            BrokerId broker,
            Supplier<MessagePath> path,
            LongSupplier clock,
            LongSupplier wallNs,
            ObjLongConsumer<TopicName> begun) {
        this.begun = begun;
        this.broker = broker;
        this.path = path;
        this.clock = clock;
        this.wallNs = wallNs;
    }

    /**
     * Begins to record.
     *
     * @throws Refusal while another recording is under way, or if the time is too long
     */
    public CompletionStage<TopicRecording> begin(TopicName topic, double seconds) {
        if (!(seconds > 0 && seconds <= LONGEST_SECONDS)) {
            throw Refusal.badRequest(
                    "INVALID_REQUEST",
                    "seconds " + seconds + " is not possible: a recording takes above 0 and at most "
                            + (long) LONGEST_SECONDS);
        }
        Current next = new Current(
                topic,
                seconds,
                new ArrivalRecording(ArrivalRecording.MOST_INSTANTS, Math.max(1, (long) (seconds * 1e9))),
                wallOffsetNs());
        become(next);
        return path.get()
                .record(topic, next.arrivals)
                .whenComplete((done, failure) -> {
                    if (failure != null) {
                        forget(next);
                    }
                })
                .thenCompose(done -> {
                    begun.accept(topic, (long) (seconds * 1e9));
                    return ask(next, false);
                });
    }

    private synchronized void become(Current next) {
        if (current != null && current.arrivals.running(clock.getAsLong())) {
            throw new Refusal(
                    StatusCodes.CONFLICT,
                    "CONFLICT",
                    broker + " records topic " + current.topic
                            + " already, and one topic at a time: wait, or end it with" + " DELETE /v1/topics/"
                            + current.topic.value().replace("#", "%23") + "/recording");
        }
        current = next;
    }

    private synchronized void forget(Current failed) {
        if (current == failed) {
            current = null;
        }
    }

    private synchronized Optional<Current> of(TopicName topic) {
        return Optional.ofNullable(current).filter(kept -> kept.topic.equals(topic));
    }

    /**
     * How far it is.
     *
     * @param end whether it shall end now, if it is not over
     * @throws Refusal if the last recording here was not of this topic
     */
    public CompletionStage<TopicRecording> progress(TopicName topic, boolean end) {
        return ask(found(topic), end);
    }

    private CompletionStage<TopicRecording> ask(Current which, boolean end) {
        return path.get()
                .recorded(which.arrivals, end)
                .thenApply(progress -> new TopicRecording(
                        which.topic.value(),
                        broker.value(),
                        which.seconds,
                        !progress.over(),
                        progress.full(),
                        which.arrivals.beganNs() + which.wallOffsetNs,
                        progress.lengthNs(),
                        progress.messages(),
                        progress.instants(),
                        progress.delayed(),
                        progress.refused()));
    }

    /**
     * What arrived, once {@link #progress} has said that it no longer runs.
     *
     * @throws Refusal before, or if the last recording here was not of this topic
     */
    public ArrivalTrace arrivals(TopicName topic) {
        Current which = found(topic);
        ArrivalRecording.Arrivals arrivals;
        try {
            arrivals = which.arrivals.arrivals();
        } catch (IllegalStateException e) {
            throw new Refusal(
                    StatusCodes.CONFLICT,
                    "CONFLICT",
                    broker + " still records topic " + topic + ": wait, or end it first");
        }
        return new ArrivalTrace(
                List.of(broker.value()), arrivals.timesNs(), arrivals.counts(), new int[arrivals.timesNs().length]);
    }

    private Current found(TopicName topic) {
        return of(topic)
                .orElseThrow(() -> new Refusal(
                        StatusCodes.NOT_FOUND,
                        "NO_RECORDING",
                        broker + " has no recording of topic " + topic + ": POST begins one"));
    }

    /**
     * Of several pairs of readings the one that took the shortest time: a thread may lose its core between two. The
     * error is half of that time, some hundred nanoseconds.
     */
    private long wallOffsetNs() {
        long offsetNs = 0;
        long shortestNs = Long.MAX_VALUE;
        for (int i = 0; i < READINGS; i++) {
            long beforeNs = clock.getAsLong();
            long wall = wallNs.getAsLong();
            long tookNs = clock.getAsLong() - beforeNs;
            if (tookNs < shortestNs) {
                shortestNs = tookNs;
                offsetNs = wall - beforeNs - tookNs / 2;
            }
        }
        return offsetNs;
    }

    static long wallClockNs() {
        Instant now = Instant.now();
        return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
    }
}

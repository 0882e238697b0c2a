package io.weir.supervisor.cli.topic;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.BucketProfiler;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.simulation.ArrivalTrace;
import io.weir.limiter.simulation.Replay;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.EarlyEnd;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.node.TopicDescription;
import io.weir.supervisor.node.TopicRequest;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * {@code weir topic profile --live}: records, finds the limit, says what splitting it costs, and sets it if asked to.
 */
final class LiveProfile implements LiveRecording.Observer {
    private static final long DONE_WITHIN_S = 60;
    private static final Duration PRINTED_WITHIN = Duration.ofMinutes(5);
    /** From this part of the messages on, the limit in force has kept publishers back. */
    private static final double HELD_BACK = 0.01;

    private static final long PLAIN_NS = TimeUnit.SECONDS.toNanos(10);

    /** For scripts. */
    record Answer(
            String topic,
            double rate,
            double burst,
            long messages,
            double spanSeconds,
            double messagesPerSecond,
            double margin,
            double delayedFraction,
            double longestDelaySeconds,
            List<String> reasons,
            Map<String, Integer> messagesAt,
            long delayedWhileRecorded,
            long refusedWhileRecorded,
            List<SplitForecast> splits,
            String recording,
            boolean applied,
            List<String> notes) {}

    private final String topic;
    private final ClusterOption cluster;
    private final Output output;
    private final PrintWriter err;
    private final boolean terminal = System.console() != null;
    private final List<String> notes = new ArrayList<>();
    private long shownNs = System.nanoTime() - PLAIN_NS;
    private boolean dirty;

    LiveProfile(String topic, ClusterOption cluster, Output output, PrintWriter err) {
        this.topic = topic;
        this.cluster = cluster;
        this.output = output;
        this.err = err;
    }

    int run(Duration length, BucketProfiler profiler, RecordingFile files, boolean apply) throws InterruptedException {
        TopicDescription described =
                cluster.ask("GET", TopicChange.path(topic), Optional.empty()).as(TopicDescription.class);
        Path file = files.path(topic, cluster);
        CountDownLatch early = new CountDownLatch(1);
        try (EarlyEnd onInterrupt = new EarlyEnd(early::countDown, PRINTED_WITHIN)) {
            LiveRecording.Recorded recorded = new LiveRecording(cluster, topic, this).run(length, early);
            clear();
            RecordingFile.requireEnough(topic, recorded.trace(), recorded.seconds());
            files.write(recorded.trace(), comment(recorded), file);
            BucketProfiler.Profile profile = profile(profiler, recorded.trace());
            noteIfHeldBack(described, recorded);
            if (described.mode().equals("police")) {
                notes.add(topic + " polices: what would wait is refused instead; 'weir topic what-if' says how much.");
            }
            List<SplitForecast> splits = SplitForecast.of(
                    recorded.trace(),
                    profile,
                    shaping(profile.limit(), 1, false, described),
                    k -> at(String.format(
                            Locale.ROOT,
                            "replaying %s: %d of %d brokers",
                            topic,
                            k,
                            recorded.trace().brokers().size())));
            clear();
            boolean applied = apply && apply(profile.limit());
            print(recorded, profile, splits, file, applied);
            return apply && !applied ? ExitCode.FAILED : ExitCode.OK;
        } finally {
            clear();
        }
    }

    private static BucketProfiler.Profile profile(BucketProfiler profiler, ArrivalTrace trace) {
        try {
            return profiler.profile(trace.messageTimesNs());
        } catch (IllegalArgumentException e) {
            throw CliException.unavailable(e.getMessage());
        }
    }

    /** A limit for a topic like this, as if it shaped: what finds no token waits. */
    static Replay.Terms shaping(Limit limit, int brokers, boolean borrows, TopicDescription topic) {
        return new Replay.Terms(
                limit,
                brokers,
                Sharing.valueOf(topic.adapt().toUpperCase(Locale.ROOT)),
                borrows,
                topic.maxWaiting(),
                TimeUnit.MILLISECONDS.toNanos(topic.maxDelayMs()));
    }

    private String comment(LiveRecording.Recorded recorded) {
        return String.format(
                Locale.ROOT,
                "topic %s, %.1f s until %s; %d messages, of which %d waited for the limit in force and %d were refused",
                topic,
                recorded.seconds(),
                Instant.now().truncatedTo(ChronoUnit.SECONDS),
                recorded.trace().messages(),
                recorded.delayed(),
                recorded.refused());
    }

    private void noteIfHeldBack(TopicDescription described, LiveRecording.Recorded recorded) {
        long kept = recorded.delayed() + recorded.refused();
        if (!described.mode().equals("shadow")
                && kept > HELD_BACK * recorded.trace().messages()) {
            notes.add(String.format(
                    Locale.ROOT,
                    "%,d messages waited for the limit in force and %,d were refused while it was recorded: publishers that wait"
                            + " for their answers would send more. 'weir topic delivery %s --mode shadow' lets all pass while"
                            + " you record.",
                    recorded.delayed(),
                    recorded.refused(),
                    topic));
        }
    }

    private boolean apply(Limit limit) throws InterruptedException {
        String path = TopicChange.path(topic);
        TopicChange.Accepted accepted = TopicChange.accepted(cluster.ask(
                "PUT",
                path + "/limit",
                Optional.of(TopicRequest.limit(limit.ratePerSecond(), limit.burstMessages(), null, null))));
        return TopicChange.awaitDone(cluster, path, accepted.version(), DONE_WITHIN_S);
    }

    private void print(
            LiveRecording.Recorded recorded,
            BucketProfiler.Profile profile,
            List<SplitForecast> splits,
            Path file,
            boolean applied) {
        Map<String, Integer> messagesAt = new LinkedHashMap<>();
        List<String> brokers = recorded.trace().brokers();
        for (int i = 0; i < brokers.size(); i++) {
            messagesAt.put(brokers.get(i), recorded.trace().messagesAt(i));
        }
        double rate = profile.limit().ratePerSecond();
        double burst = profile.limit().burstMessages();
        if (output.json()) {
            output.printJson(new Answer(
                    topic,
                    rate,
                    burst,
                    profile.messages(),
                    profile.spanSeconds(),
                    profile.messagesPerSecond(),
                    profile.margin(),
                    profile.delayedFraction(),
                    profile.longestDelaySeconds(),
                    profile.reasons(),
                    messagesAt,
                    recorded.delayed(),
                    recorded.refused(),
                    splits,
                    file.toAbsolutePath().toString(),
                    applied,
                    notes));
            return;
        }
        output.printf("r = %.6g msg/s, b = %.0f messages%n%n", rate, burst);
        profile.reasons().forEach(output::println);
        output.println("Messages came to " + messagesAt.toString().replaceAll("[{}]", "") + ".");
        notes.forEach(output::println);
        printSplits(splits);
        output.printf(
                "%nRecorded in %s: 'weir topic what-if %s --rate R --burst B' tries other limits.%n", file, topic);
        output.println(
                applied
                        ? topic + " has this limit now."
                        : String.format(
                                Locale.ROOT,
                                "To set it: weir topic limit %s --rate %.6g --burst %.0f",
                                topic,
                                rate,
                                burst));
    }

    private void printSplits(List<SplitForecast> splits) {
        String row = "%-8s %16s %16s %16s%n";
        output.printf("%nThe access delay's p99 with this limit, split over so many brokers:%n");
        output.printf(row, "BROKERS", "POISSON MODEL", "REPLAYED", "BORROWING");
        for (SplitForecast split : splits) {
            output.printf(
                    row,
                    split.brokers(),
                    ms(split.modelSeconds()),
                    ms(split.splitSeconds()),
                    split.brokers() == 1 ? "" : ms(split.borrowingSeconds()));
        }
        SplitForecast all = splits.get(splits.size() - 1);
        if (all.splitSeconds() == null) {
            output.printf("%d brokers would hold less than one message each.%n", all.brokers());
        } else if (all.brokers() > 1) {
            output.printf(
                    "At %d brokers, as the messages came, borrowing saves %s of %s.%n",
                    all.brokers(), ms(all.savedSeconds()), ms(all.splitSeconds()));
        }
    }

    static String ms(Double seconds) {
        return seconds == null ? "-" : TopicDescribeCommand.amount(seconds * 1e3) + " ms";
    }

    /** One line that is rewritten on a terminal; elsewhere a new one now and then. */
    @Override
    public void at(String line) {
        if (terminal) {
            err.print("\r\033[K" + line);
            dirty = true;
        } else if (System.nanoTime() - shownNs >= PLAIN_NS) {
            shownNs = System.nanoTime();
            err.println(line);
        }
        err.flush();
    }

    @Override
    public void note(String line) {
        clear();
        notes.add(line);
        err.println("weir: " + line);
        err.flush();
    }

    private void clear() {
        if (dirty) {
            err.print("\r\033[K");
            err.flush();
            dirty = false;
        }
    }
}

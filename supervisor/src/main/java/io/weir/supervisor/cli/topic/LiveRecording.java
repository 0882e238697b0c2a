package io.weir.supervisor.cli.topic;

import io.weir.limiter.simulation.ArrivalTrace;
import io.weir.limiter.simulation.TraceCsv;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.local.ClusterStatus;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.TopicRecording;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Records a topic's arrivals at every broker of a cluster at once, and merges them by time. Each broker records for
 * itself and ends by itself, also if this process is gone.
 */
final class LiveRecording {
    private static final long LOOK_MS = 500;
    /** A broker that answers slowly is not given up before this time after its recording's end. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** How it goes on, for a person who waits. */
    interface Observer {
        /** What went on so far. */
        void at(String line);

        /** Something that the result lacks. */
        void note(String line);
    }

    /**
     * What came of it.
     *
     * @param seconds for how long all brokers recorded
     * @param delayed messages that had to wait for the topic's limit meanwhile
     * @param refused messages that were turned away meanwhile
     */
    record Recorded(ArrivalTrace trace, double seconds, long delayed, long refused) {}

    private final ClusterOption cluster;
    private final String topic;
    private final String path;
    private final Observer observer;

    LiveRecording(ClusterOption cluster, String topic, Observer observer) {
        this.cluster = cluster;
        this.topic = topic;
        this.path = TopicChange.path(topic) + "/recording";
        this.observer = observer;
    }

    /** @param early ends it before its time when it is counted down */
    Recorded run(Duration length, CountDownLatch early) throws InterruptedException {
        List<ClusterStatus.Expected> all = cluster.expectedBrokers();
        long askedNs = System.nanoTime();
        Map<String, BrokerClient.Answer> begun =
                cluster.askEach(all, "POST", path, Optional.of(new TopicRecording.Request(length.toNanos() / 1e9)));
        long withinNs = System.nanoTime() - askedNs;
        List<ClusterStatus.Expected> recording =
                all.stream().filter(broker -> begun.containsKey(broker.id())).toList();
        if (recording.isEmpty()) {
            throw CliException.unavailable("no broker answers: 'weir status' shows what became of them");
        }
        List<ClusterStatus.Expected> taking =
                recording.stream().filter(broker -> begun.get(broker.id()).ok()).toList();
        try {
            begun.values().forEach(ClusterOption::accepted);
            all.stream()
                    .filter(broker -> !begun.containsKey(broker.id()))
                    .forEach(broker ->
                            observer.note(broker.id() + " does not answer: what comes to it is not recorded"));
            await(taking, length, early);
            return collect(taking, withinNs);
        } finally {
            // Also after a refusal or a failure: nobody would fetch what the others record.
            cluster.askEach(taking, "DELETE", path, Optional.empty());
        }
    }

    private void await(List<ClusterStatus.Expected> brokers, Duration length, CountDownLatch early)
            throws InterruptedException {
        long deadlineNs = System.nanoTime() + length.plus(PATIENCE).toNanos();
        while (System.nanoTime() - deadlineNs < 0) {
            List<TopicRecording> now = progress(cluster.askEach(brokers, "GET", path, Optional.empty()));
            observer.at(line(now, length));
            // When one is full or over, what the others still get has no counterpart.
            if (now.stream().anyMatch(part -> !part.running()) || early.await(LOOK_MS, TimeUnit.MILLISECONDS)) {
                return;
            }
        }
    }

    private String line(List<TopicRecording> parts, Duration length) {
        return String.format(
                Locale.ROOT,
                "recording %s at %d %s: %.0f of %.0f s, %,d messages; Ctrl-C ends it early",
                topic,
                parts.size(),
                parts.size() == 1 ? "broker" : "brokers",
                parts.stream().mapToLong(TopicRecording::lengthNs).max().orElse(0) / 1e9,
                length.toNanos() / 1e9,
                parts.stream().mapToLong(TopicRecording::messages).sum());
    }

    private Recorded collect(List<ClusterStatus.Expected> brokers, long withinNs) {
        Map<String, BrokerClient.Answer> ended = cluster.askEach(brokers, "DELETE", path, Optional.empty());
        Map<String, BrokerClient.Answer> arrivals =
                cluster.askEach(brokers, "GET", path + "/arrivals", Optional.empty());
        List<TopicRecording> parts = progress(ended);
        Map<String, ArrivalTrace.Part> byBroker = new LinkedHashMap<>();
        for (TopicRecording part : parts) {
            Optional.ofNullable(arrivals.get(part.broker()))
                    .map(ClusterOption::accepted)
                    .ifPresent(answer -> byBroker.put(part.broker(), part(part, answer)));
            if (part.full()) {
                observer.note(String.format(
                        Locale.ROOT,
                        "%s had no room for more after %.1f s: the recording ends there",
                        part.broker(),
                        part.lengthNs() / 1e9));
            }
        }
        for (ClusterStatus.Expected broker : brokers) {
            if (!byBroker.containsKey(broker.id())) {
                throw CliException.unavailable(broker.id()
                        + " was lost while it recorded, and its arrivals with it: record again when it is back");
            }
        }
        List<ArrivalTrace.Part> merging = new ArrayList<>(byBroker.values());
        if (ArrivalTrace.clocksDiffer(merging, withinNs)) {
            observer.note(String.format(
                    Locale.ROOT,
                    "the brokers' clocks differ: their recordings are taken to have begun at once, which is true to %.0f ms",
                    withinNs / 1e6));
        }
        return new Recorded(
                ArrivalTrace.merged(merging, withinNs),
                parts.stream().mapToLong(TopicRecording::lengthNs).min().orElse(0) / 1e9,
                parts.stream().mapToLong(TopicRecording::delayed).sum(),
                parts.stream().mapToLong(TopicRecording::refused).sum());
    }

    private static List<TopicRecording> progress(Map<String, BrokerClient.Answer> answers) {
        return answers.values().stream()
                .map(ClusterOption::accepted)
                .map(answer -> answer.as(TopicRecording.class))
                .toList();
    }

    private static ArrivalTrace.Part part(TopicRecording part, BrokerClient.Answer csv) {
        try (BufferedReader lines = new BufferedReader(
                new InputStreamReader(new ByteArrayInputStream(csv.body()), StandardCharsets.UTF_8))) {
            return new ArrivalTrace.Part(
                    part.broker(), part.beganAtNs(), part.lengthNs(), TraceCsv.readPart(part.broker(), lines));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

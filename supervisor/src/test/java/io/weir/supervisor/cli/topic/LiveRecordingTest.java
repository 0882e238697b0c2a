package io.weir.supervisor.cli.topic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.node.TopicRecording;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Several brokers, played by servers that answer what a test says. */
@Timeout(60)
class LiveRecordingTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long SECOND_NS = 1_000_000_000L;
    private static final Duration LONG = Duration.ofMinutes(10);

    /** A broker's end of a recording. */
    private static final class Played implements AutoCloseable {
        final String id;
        final List<String> asked = new CopyOnWriteArrayList<>();
        final HttpServer server;
        volatile TopicRecording recording;
        volatile String csv;
        volatile int begins = 200;
        volatile boolean lost;
        volatile String known = "";

        Played(String id, long beganAtNs, long lengthNs, String csv) throws IOException {
            this.id = id;
            this.csv = csv;
            recording = new TopicRecording("orders", id, 1, false, false, beganAtNs, lengthNs, 0, 0, 3, 1);
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.createContext("/", this::answer);
            server.start();
        }

        String http() {
            return "127.0.0.1:" + server.getAddress().getPort();
        }

        private void answer(HttpExchange call) throws IOException {
            String path = call.getRequestURI().getPath();
            asked.add(call.getRequestMethod() + " " + path);
            call.getRequestBody().readAllBytes();
            if (path.equals("/status")) {
                answer(call, 200, known);
            } else if (lost && !call.getRequestMethod().equals("POST")) {
                answer(call, 503, "{\"error\":\"away\"}");
            } else if (call.getRequestMethod().equals("POST") && begins != 200) {
                answer(call, begins, "{\"error\":\"" + id + " records topic other already\"}");
            } else if (path.endsWith("/arrivals")) {
                answer(call, 200, csv);
            } else {
                answer(call, 200, JSON.writeValueAsString(recording));
            }
        }

        private static void answer(HttpExchange call, int status, String body) throws IOException {
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            call.sendResponseHeaders(status, bytes.length);
            call.getResponseBody().write(bytes);
            call.close();
        }

        @Override
        public void close() {
            server.stop(0);
        }
    }

    @Command
    private static final class Holder {
        @Mixin
        private ClusterOption cluster;
    }

    private final List<Played> brokers = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();
    private final List<String> progress = new ArrayList<>();

    @AfterEach
    void end() {
        brokers.forEach(Played::close);
    }

    @Test
    void shouldMergeWhatAllBrokersRecordedByTheirWallClocks() throws Exception {
        broker("b1", 5, 100, "time_ns,count\n0,1\n10,2\n90,1\n");
        broker("b2", 10, 100, "time_ns,count\n0,3\n99,9\n");
        broker("b3", 7, 100, "time_ns,count\n");

        LiveRecording.Recorded recorded = record(new CountDownLatch(1));

        assertThat(recorded.trace().brokers()).containsExactly("b1", "b2", "b3");
        assertThat(recorded.trace().timesNs()).containsExactly(0, 5, 85);
        assertThat(recorded.trace().counts()).containsExactly(3, 2, 1);
        assertThat(recorded.trace().brokerOf()).containsExactly(1, 0, 0);
        assertThat(recorded.delayed()).isEqualTo(9);
        assertThat(recorded.refused()).isEqualTo(3);
        assertThat(notes).isEmpty();
        assertThat(progress).isNotEmpty().allMatch(line -> line.startsWith("recording orders at 3 brokers"));
    }

    @Test
    void shouldEndEarlyWhenAskedTo() throws Exception {
        Played running = broker("b1", 0, SECOND_NS, "time_ns,count\n4,1\n");
        running.recording = new TopicRecording("orders", "b1", 600, true, false, 0, SECOND_NS, 1, 1, 0, 0);
        CountDownLatch early = new CountDownLatch(1);
        early.countDown();

        assertThat(record(early).trace().messages()).isEqualTo(1);
        assertThat(running.asked.indexOf("DELETE /v1/topics/orders/recording"))
                .as("it is ended before it is fetched")
                .isBetween(0, running.asked.indexOf("GET /v1/topics/orders/recording/arrivals") - 1);
    }

    @Test
    void shouldGoByTheBeginningsAndSaySoWhenTheClocksDiffer() throws Exception {
        broker("b1", 0, 100, "time_ns,count\n7,1\n");
        broker("b2", 3_600 * SECOND_NS, 100, "time_ns,count\n5,1\n");

        assertThat(record(new CountDownLatch(1)).trace().timesNs()).containsExactly(5, 7);
        assertThat(notes).singleElement().asString().startsWith("the brokers' clocks differ");
    }

    @Test
    void shouldSayWhoseArrivalsAreMissingOrEndedBeforeTheirTime() throws Exception {
        broker("b1", 0, 50, "time_ns,count\n7,1\n60,1\n").recording =
                new TopicRecording("orders", "b1", 1, false, true, 0, 50, 1, 1, 0, 0);
        broker("b2", 0, 100, "time_ns,count\n8,1\n99,1\n");
        broker("b3", 0, 100, "").begins = 503;

        assertThat(record(new CountDownLatch(1)).trace().timesNs()).containsExactly(7, 8);
        assertThat(notes)
                .hasSize(2)
                .anyMatch(note -> note.startsWith("b3 does not answer"))
                .anyMatch(note -> note.startsWith("b1 had no room for more"));
    }

    @Test
    void shouldEndWhatHasBegunWhenAnotherBrokerRefuses() throws Exception {
        Played begun = broker("b1", 0, 100, "time_ns,count\n");
        broker("b2", 0, 100, "").begins = 409;

        assertThatThrownBy(() -> record(new CountDownLatch(1)))
                .isInstanceOf(CliException.class)
                .hasMessage("b2 records topic other already");
        assertThat(begun.asked).endsWith("DELETE /v1/topics/orders/recording");
    }

    @Test
    void shouldNotTakeAPartForTheWholeWhenABrokerIsLostMeanwhile() throws Exception {
        broker("b1", 0, 100, "time_ns,count\n1,1\n");
        broker("b2", 0, 100, "time_ns,count\n1,1\n").lost = true;

        assertThatThrownBy(() -> record(new CountDownLatch(1)))
                .isInstanceOf(CliException.class)
                .hasMessageContaining("b2 was lost while it recorded");
    }

    @Test
    void shouldSaySoWhenNoBrokerRecords() throws Exception {
        broker("b1", 0, 100, "").begins = 503;

        assertThatThrownBy(() -> record(new CountDownLatch(1))).hasMessageContaining("no broker answers");
    }

    private Played broker(String id, long beganAtNs, long lengthNs, String csv) throws IOException {
        Played broker = new Played(id, beganAtNs, lengthNs, csv);
        brokers.add(broker);
        return broker;
    }

    private LiveRecording.Recorded record(CountDownLatch early) throws Exception {
        brokers.get(0).known = JSON.writeValueAsString(Map.of(
                "known",
                brokers.stream()
                        .map(broker -> Map.of("id", broker.id, "incarnation", 1, "http", broker.http()))
                        .collect(Collectors.toList())));
        Holder holder = new Holder();
        new CommandLine(holder).parseArgs("--http", brokers.get(0).http());
        LiveRecording.Observer observer = new LiveRecording.Observer() {
            @Override
            public void at(String line) {
                progress.add(line);
            }

            @Override
            public void note(String line) {
                notes.add(line);
            }
        };
        return new LiveRecording(holder.cluster, "orders", observer).run(LONG, early);
    }
}

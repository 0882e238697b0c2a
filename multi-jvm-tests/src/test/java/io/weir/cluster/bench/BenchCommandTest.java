package io.weir.cluster.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Weir;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class BenchCommandTest {
    private static final List<String> FIELDS = List.of(
            "sent",
            "received",
            "p50Micros",
            "p95Micros",
            "p99Micros",
            "p999Micros",
            "maxMicros",
            "messagesPerSecond",
            "brokerCpuPercent",
            "brokerCpuNanosPerMessage",
            "allocatedBytesPerMessage");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int weir(String line) {
        return Weir.commandLine()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(line.split(" "));
    }

    private JsonNode json() throws IOException {
        return new ObjectMapper().readTree(out.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"latency --rate 500 --publishers 20", "throughput"})
    void shouldPrintTheFieldsThatScriptsRelyOn(String which) throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            long pid = ProcessHandle.current().pid();
            int exit = weir("bench " + which + " --seconds 1.2 --warmup 0.2 -o json --tcp " + peer.endpoint()
                    + " --pid weir=" + pid);

            assertThat(exit).as(err.toString()).isEqualTo(ExitCode.OK);
            assertThat(json().fieldNames()).toIterable().containsAll(FIELDS);
            assertThat(json().at("/received").asLong()).isPositive();
            assertThat(json().at("/p50Micros").asDouble()).isPositive();
            assertThat(json().at("/maxMicros").asDouble())
                    .isGreaterThanOrEqualTo(json().at("/p99Micros").asDouble());
            assertThat(json().at("/brokerCpuPercent").isNumber()).isTrue();
            assertThat(json().at("/brokerCpuNanosPerMessage").isNumber()).isTrue();
            assertThat(json().at("/brokerMemoryMiB/max").asDouble())
                    .isGreaterThanOrEqualTo(json().at("/brokerMemoryMiB/start").asDouble())
                    .isGreaterThanOrEqualTo(json().at("/brokerMemoryMiB/end").asDouble())
                    .isPositive();
            assertThat(json().at("/brokerHeapMiB").isNull()).isTrue();
            assertThat(json().at("/allocatedBytesPerMessage").isNull()).isTrue();
            assertThat(err.toString()).contains("weir: 1 s").contains("msg/s received");
        }
    }

    @Test
    void shouldSendSingleMessagesAfterSilences() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            int exit = weir("bench first --idle 100ms --count 5 -o json --tcp " + peer.endpoint());

            assertThat(exit).as(err.toString()).isEqualTo(ExitCode.OK);
            assertThat(json().at("/sent").asInt()).isEqualTo(5);
            assertThat(json().at("/received").asInt()).isEqualTo(5);
            List<Long> times = peer.intendedNs();
            assertThat(times).as("one before the measured ones").hasSize(6);
            for (int i = 1; i < times.size(); i++) {
                assertThat(times.get(i) - times.get(i - 1)).isEqualTo(100_000_000);
            }
        }
    }

    @Test
    void shouldSayWhatQueuedMessagesCost() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            long pid = ProcessHandle.current().pid();
            int exit = weir("bench queued --messages 2000 -o json --tcp " + peer.endpoint() + " --pid weir=" + pid);

            assertThat(exit).as(err.toString()).isEqualTo(ExitCode.OK);
            assertThat(json().at("/queued").asInt()).isEqualTo(2_000);
            assertThat(json().at("/received").asInt()).isEqualTo(2_000);
            assertThat(json().at("/brokerMemoryMiB/end").asDouble()).isPositive();
            assertThat(json().at("/bytesPerMessage").isNumber()).isTrue();
        }
    }

    @Test
    void shouldCompareTheGatewaysStampsWithTheTimesOfSending() throws IOException {
        int exit = weir("bench stamps --connections 50 --rate 2000 --seconds 0.5 --warmup 0.2 -o json");

        assertThat(exit).as(err.toString()).isEqualTo(ExitCode.OK);
        assertThat(json().at("/messages").asInt()).isBetween(700, 1_300);
        assertThat(json().at("/connections").asInt()).isEqualTo(50);
        assertThat(json().at("/p50Micros").asDouble()).isPositive();
        assertThat(json().at("/maxMicros").asDouble())
                .isGreaterThanOrEqualTo(json().at("/p99Micros").asDouble());
        assertThat(json().at("/writeP50Micros").asDouble()).isPositive();
    }

    @Test
    void shouldSayHowManyFileDescriptorsAreMissing() {
        assertThatThrownBy(() -> BenchRun.requireDescriptors(1_500_000_000))
                .isInstanceOf(CliException.class)
                .hasMessageContaining("1500000000 connections need")
                .hasMessageContaining("ulimit -n");
    }

    @Test
    void shouldCompareTwoTargetsRoundByRound() throws IOException {
        try (NsqPeer one = new NsqPeer();
                NsqPeer two = new NsqPeer()) {
            int exit =
                    weir("bench latency --rate 500 --publishers 20 --seconds 0.2 --warmup 0.2 --rounds 3 -o json --tcp "
                            + one.endpoint() + " --against nsqd@" + two.endpoint());

            assertThat(exit).as(err.toString()).isEqualTo(ExitCode.OK);
            assertThat(json().fieldNames()).toIterable().containsAll(FIELDS);
            assertThat(json().at("/rounds").asInt()).isEqualTo(3);
            assertThat(json().at("/targets").findValuesAsText("name")).containsExactly("weir", "nsqd");
            assertThat(json().at("/targets/1/results")).hasSize(3);
            JsonNode p50 = json().at("/targets/1/p50Micros");
            assertThat(p50.at("/median").asDouble())
                    .isBetween(p50.at("/min").asDouble(), p50.at("/max").asDouble());
            assertThat(json().at("/targets/1/subjectToThis/p50Micros").asDouble())
                    .isPositive();
            List<String> turns = err.toString()
                    .lines()
                    .filter(line -> line.contains("p50"))
                    .map(line -> line.replaceAll("round (\\d) of 3: (\\w+):.*", "$1 $2"))
                    .toList();
            assertThat(turns).containsExactly("1 weir", "1 nsqd", "2 weir", "2 nsqd", "3 weir", "3 nsqd");
        }
    }

    @Test
    void shouldPrintMediansSpreadAndRatiosForPeople() throws IOException {
        try (NsqPeer one = new NsqPeer();
                NsqPeer two = new NsqPeer()) {
            weir("bench throughput --seconds 0.2 --warmup 0.1 --rounds 1 --tcp " + one.endpoint() + " --against nsqd@"
                    + two.endpoint());

            assertThat(out.toString())
                    .contains("p50 us")
                    .contains(" to ")
                    .contains("/ nsqd")
                    .contains("x ");
        }
    }

    @Test
    void shouldEndWithOneWhenMessagesWereRefused() throws IOException {
        try (NsqPeer peer = new NsqPeer().refusing("E_PUB_FAILED too fast")) {
            int exit =
                    weir("bench latency --rate 100 --publishers 5 --seconds 0.3 --warmup 0 --tcp " + peer.endpoint());

            assertThat(exit).isEqualTo(ExitCode.FAILED);
            assertThat(err.toString()).contains("messages were refused");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "latency --rate 0",
                "latency --rate -5",
                "latency --rate NaN",
                "latency --publishers 0",
                "latency --distribution normal",
                "latency --batch 0",
                "latency --batch-as frames",
                "latency --groups 0",
                "latency --publishers 20 --groups 21",
                "latency --consumers 0",
                "latency --tcp 127.0.0.1:1 --consumers 2 --against mosquitto",
                "latency --connections 5000 --batch 1000 --size 1000",
                "first --idle 5x",
                "first --idle 1ms",
                "first --count 0",
                "queued --messages 5",
                "queued --tcp 127.0.0.1:1 --against nats",
                "stamps --rate 0",
                "stamps --connections 0",
                "latency --seconds 0",
                "latency --size 15",
                "latency --topic a/b",
                "latency --tcp nowhere",
                "latency --tcp 127.0.0.1:1 --against rabbit",
                "latency --tcp 127.0.0.1:1 --against nats@here",
                "throughput --window 8",
                "throughput --connections 0",
                "throughput --rounds 0",
                "placement --only nothing",
                "placement --rounds 0",
                "placement --seconds 0",
                "placement --heap 1"
            })
    void shouldSayWhatIsWrongWithTheCommandLine(String which) {
        assertThat(weir("bench " + which)).as(err.toString()).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).isNotBlank().doesNotContain("\tat ");
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void shouldSayInOneLineThatNothingListens() throws IOException {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        assertThat(weir("bench latency --tcp 127.0.0.1:" + port)).isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(err.toString().lines())
                .singleElement()
                .asString()
                .startsWith("weir: nothing listens for weir at 127.0.0.1:" + port);
    }

    @Test
    void shouldSayInOneLineThatAPeerSpeaksSomethingElse() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            assertThat(weir("bench latency --subject mosquitto@" + peer.endpoint()))
                    .isEqualTo(ExitCode.UNAVAILABLE);
            assertThat(err.toString().lines()).singleElement().asString().startsWith("weir: mosquitto at ");
        }
    }
}

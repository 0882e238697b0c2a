package io.weir.cluster.bench.limited;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.cluster.bench.BenchIT;
import io.weir.cluster.bench.Load;
import io.weir.cluster.bench.Result;
import io.weir.cluster.bench.SendLog;
import io.weir.cluster.bench.SendSchedule;
import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.BucketModel;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Weir;
import io.weir.topics.algorithm.DelayCounts;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What {@code weir bench penalty} computes; {@link BenchIT} runs it. */
class PenaltyTest {
    private static final long MS = 1_000_000;

    @Test
    void shouldReplayTheSendTimesThroughAsManyBucketsAsThereAreBrokers() {
        SendLog log = new SendLog(2);
        log.sent(0, 1, false, 5_000 * MS);
        log.sent(0, 1, true, 5_000 * MS);
        log.sent(2, 1, true, 5_000 * MS);
        log.sent(1, 1, true, 5_000 * MS);
        log.sent(3, 1, true, 5_001 * MS);
        // Ten a second and two at once for all: the third has to wait 100 ms, the fourth 200, the fifth 299.
        AccessDelays one = AccessDelays.ideal(log, Limit.of(10, 2), 1);
        assertThat(one.messages()).isEqualTo(4);
        assertThat(one.maxMicros()).isEqualTo(299_000);
        assertThat(one.p50Micros()).isEqualTo(100_000);
        assertThat(one.delayedFraction()).isEqualTo(0.75);
        assertThat(one.meanMicros()).isEqualTo(599_000 / 4.0);
        // Five and one each: even connections go to the first broker, odd ones to the second.
        AccessDelays two = AccessDelays.ideal(log, Limit.of(10, 2), 2);
        assertThat(two.maxMicros()).isEqualTo(400_000);
        assertThat(two.p50Micros()).isEqualTo(199_000);
        assertThat(two.delayedFraction()).isEqualTo(0.75);
    }

    @Test
    void shouldFindForPoissonSendingsWhatTheModelSays() {
        Load.Shape.OpenLoop shape =
                new Load.Shape.OpenLoop(3_000, 300, 300, Load.Batch.NONE, SendSchedule.Distribution.poisson, 7);
        SendSchedule schedule = shape.schedule(0);
        SendLog log = new SendLog(10);
        for (int i = 0; i < 400_000; i++) {
            log.sent(schedule.nextPublisher(), 1, i >= 20_000, schedule.nextNs());
            schedule.advance();
        }
        for (int brokers : List.of(1, 3)) {
            BucketModel model = new BucketModel(3_000.0 / brokers, 3_300.0 / brokers, 27.0 / brokers);
            AccessDelays ideal = AccessDelays.ideal(log, Limit.of(3_300, 27), brokers);
            assertThat(ideal.messages()).isEqualTo(380_000);
            assertThat(ideal.delayedFraction())
                    .as("%d brokers", brokers)
                    .isCloseTo(model.delayedFraction(), within(0.15 * model.delayedFraction() + 0.005));
        }
    }

    @Test
    void shouldGiveTheBrokersCountsAsTheyAre() {
        DelayCounts counts = new DelayCounts();
        counts.add(10_000, 90);
        counts.add(3 * MS, 10, true);
        AccessDelays counted = AccessDelays.counted(counts.totals());
        assertThat(counted.messages()).isEqualTo(100);
        assertThat(counted.delayedFraction()).isEqualTo(0.1);
        assertThat(counted.p50Micros()).isCloseTo(10, within(0.35));
        assertThat(counted.p99Micros()).isCloseTo(3_000, within(100.0));
        assertThat(counted.meanMicros()).isEqualTo(309);
    }

    @Test
    void shouldBoundAMedianByTheSignTest() {
        List<Double> nine = DoubleStream.of(5, 1, 9, 3, 7, 2, 8, 4, 6).boxed().toList();
        MedianInterval interval = MedianInterval.of(nine);
        assertThat(interval.median()).isEqualTo(5);
        assertThat(interval.low()).isEqualTo(2);
        assertThat(interval.high()).isEqualTo(8);
        assertThat(interval.certainty()).isCloseTo(1 - 2 * 10 / 512.0, within(1e-12));
        MedianInterval three = MedianInterval.of(List.of(3.0, 1.0, 2.0));
        assertThat(three).isEqualTo(new MedianInterval(2, 1, 3, 0.75));
        assertThat(MedianInterval.of(List.of(4.0))).isEqualTo(new MedianInterval(4, 4, 4, 0));
        assertThat(MedianInterval.of(Collections.nCopies(6, 1.0)).certainty()).isCloseTo(1 - 2 / 64.0, within(1e-12));
    }

    @Test
    void shouldMissAGoalOnlyIfTheIntervalLiesAboveIt() {
        PenaltyReport report = new PenaltyReport(List.of("single", "gossip"));
        for (int round = 1; round <= 3; round++) {
            report.add("single", outcome(round, round * 100_000));
            report.add("gossip", outcome(round, round * 200_000));
        }
        assertThat(report.missed("gossip", goals(OptionalDouble.empty()))).isEmpty();
        assertThat(report.missed("gossip", goals(OptionalDouble.of(2.2)))).isEmpty();
        assertThat(report.missed("gossip", goals(OptionalDouble.of(1.8))))
                .singleElement()
                .asString()
                .contains("p99 of gossip is x 2.0", "goal of x 1.80");
        PenaltyReport.Goals total =
                new PenaltyReport.Goals(PenaltyReport.Delay.total, OptionalDouble.of(1.9), OptionalDouble.of(2));
        assertThat(report.missed("gossip", total))
                .containsExactly("p95 of gossip is x 2.00 (2.00 to 2.00) of single's: above the goal of x 1.90");
        assertThat(report.toJson().get(1))
                .containsKeys("p99Micros", "p99ToSingle", "totalP99ToSingle", "transfers", "rounds");
        assertThat(report.toJson().get(1).get("p99ToStatic")).isNull();
    }

    private static PenaltyReport.Goals goals(OptionalDouble p99) {
        return new PenaltyReport.Goals(PenaltyReport.Delay.access, OptionalDouble.empty(), p99);
    }

    private static PenaltyRound.Outcome outcome(int round, long delayNs) {
        DelayCounts counts = new DelayCounts();
        counts.add(delayNs, 10);
        AccessDelays access = AccessDelays.counted(counts.totals());
        double micros = delayNs / 1e3;
        Result result = new Result(
                10, 10, micros, micros, micros, micros, micros, 1, null, null, null, null, null, null, 10, 0, 0, 0, 0,
                1);
        return new PenaltyRound.Outcome(round, 10, 10, access, 1, access, access, null, null, null, List.of(), result);
    }

    @Test
    void shouldSpeakOfBorrowingToBrokersThatKnowItOnly() throws IOException {
        String request = "    TopicRequest:\n      type: object\n      properties:\n        rate: { type: number }\n";
        String borrow = "        borrow: { enum: [\"on\", \"off\"] }\n";
        assertThat(PenaltyCommand.knowsBorrowing(request + borrow + "    Changed:\n"))
                .isTrue();
        assertThat(PenaltyCommand.knowsBorrowing(request + "    Changed:\n" + borrow))
                .isFalse();
        try (InputStream api = Weir.class.getResourceAsStream("/io/weir/supervisor/node/http/openapi.yaml")) {
            String ours = new String(api.readAllBytes(), StandardCharsets.UTF_8);
            assertThat(ours).contains("    TopicRequest:\n");
            String field = "        overflow: { enum: [hold-back, drop-oldest] }\n";
            assertThat(PenaltyCommand.knowsBorrowing(ours.replace(field, field + borrow)))
                    .as("where the field stands in ours")
                    .isTrue();
        }
        assertThat(PenaltyConfiguration.offered(false))
                .extracting(PenaltyConfiguration::name)
                .containsExactly("single", "static", "gossip", "adaptor", "gossip-arrival");
        Limit limit = Limit.of(3_300, 27);
        for (PenaltyConfiguration each : PenaltyConfiguration.offered(true)) {
            assertThat(each.topic(limit, true)).containsEntry("borrow", each.borrow() ? "on" : "off");
            assertThat(each.topic(limit, false)).doesNotContainKey("borrow").containsEntry("rate", 3_300.0);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--brokers 1 | --brokers must be within 2 and 16",
                "--brokers 7 | multiple of the 7 brokers",
                "--only gossip,nothing | there is no 'nothing', but single, static",
                "--duration 5x | is no time",
                "--duration 1ms | --duration must be at least 100 ms",
                "--goal-p99 0 | --goal-p99 must be above 0",
                "--heap 1 | --heap must be within 64 and 4096"
            })
    void shouldRefuseWhatMakesNoSense(String options, String reason) {
        StringWriter err = new StringWriter();
        int exit =
                Weir.commandLine().setErr(new PrintWriter(err, true)).execute(("bench penalty " + options).split(" "));
        assertThat(exit).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains(reason);
    }
}

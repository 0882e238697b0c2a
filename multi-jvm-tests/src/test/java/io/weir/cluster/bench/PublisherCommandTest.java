package io.weir.cluster.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Weir;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class PublisherCommandTest {
    private static final String SHORT = " --rates 200,500 --fixed 1,5 --rounds 2 --seconds 0.2 --warmup 0.1";

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int weir(String line) {
        return Weir.commandLine()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(line.split(" "));
    }

    @Test
    void shouldCompareThePublisherThatTunesItselfWithFixedSizes() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            int exit = weir("bench publisher --tcp " + peer.endpoint() + SHORT + " -o json");

            assertThat(exit).as(err.toString()).isEqualTo(ExitCode.OK);
            JsonNode json = new ObjectMapper().readTree(out.toString());
            assertThat(json.at("/publishers").findValuesAsText("name"))
                    .containsExactly("auto", "1", "5", "1 no wait", "5 no wait");
            assertThat(json.at("/publishers/0/loads")).hasSize(2);
            assertThat(json.at("/publishers/0/loads/1/results")).hasSize(2);
            for (int load = 0; load < 2; load++) {
                double best = Math.min(ratio(json, 1, load), ratio(json, 2, load));
                assertThat(best).as("the best fixed size over itself").isEqualTo(1);
            }
            assertThat(json.at("/publishers/0/geometricMeanP99").asDouble())
                    .isCloseTo(Math.sqrt(ratio(json, 0, 0) * ratio(json, 0, 1)), within(1e-9));
            double auto = json.at("/publishers/0/geometricMeanP99").asDouble();
            double one = json.at("/publishers/1/geometricMeanP99").asDouble();
            double five = json.at("/publishers/2/geometricMeanP99").asDouble();
            assertThat(json.at("/autoBelowEveryFixed").asBoolean()).isEqualTo(auto < one && auto < five);
            double gathering = json.at("/gathering").asDouble();
            double tuning = json.at("/tuning").asDouble();
            assertThat(gathering * tuning)
                    .as("gathering and tuning together make the difference to the best fixed size")
                    .isCloseTo(auto / Math.min(one, five), within(1e-9));
            assertThat(err.toString()).contains("round 2 of 2, 500 msg/s, 5:", "round 2 of 2, 500 msg/s, 5 no wait:");
        }
    }

    private static double ratio(JsonNode json, int publisher, int load) {
        return json.at("/publishers/" + publisher + "/loads/" + load + "/p99OverBestFixed")
                .asDouble();
    }

    @Test
    void shouldPrintATableForPeople() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            weir("bench publisher --tcp " + peer.endpoint() + SHORT);

            assertThat(out.toString())
                    .contains(
                            "p99 us at 200/s",
                            "geo. mean p99",
                            "auto is at x ",
                            "Gathering instead of waiting brings x ")
                    .containsPattern("(?m)^auto +\\d");
        }
    }

    @Test
    void shouldSayInOneLineThatTheBrokerTakesNothing() throws IOException {
        try (NsqPeer peer = new NsqPeer().refusing("E_PUB_FAILED PUB failed: on purpose")) {
            assertThat(weir("bench publisher --tcp " + peer.endpoint() + SHORT)).isEqualTo(ExitCode.UNAVAILABLE);
            assertThat(err.toString().lines()).singleElement().asString().contains("on purpose");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--rates 0",
                "--rates many",
                "--fixed 0",
                "--rounds 0",
                "--seconds 0",
                "--workers 0",
                "--size 0",
                "--tcp nowhere"
            })
    void shouldSayWhatIsWrongWithTheCommandLine(String what) {
        assertThat(weir("bench publisher " + what)).as(err.toString()).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).isNotBlank().doesNotContain("\tat ");
        assertThat(out.toString()).isEmpty();
    }
}

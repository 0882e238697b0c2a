package io.weir.supervisor.cli.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Weir;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

class ModelAndProfileCommandTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @TempDir
    Path folder;

    @Test
    void shouldPrintOneObjectWhenThereIsNoSplit() throws IOException {
        assertThat(weir("model", "--arrival", "8", "--rate", "10", "--burst", "10", "-o", "json"))
                .isZero();

        JsonNode model = new ObjectMapper().readTree(out.toString());
        assertThat(model.get("load").asDouble()).isEqualTo(0.8);
        assertThat(model.get("delayedFraction").asDouble()).isCloseTo(0.0179350762, within(5e-11));
        assertThat(model.get("meanDelaySeconds").asDouble()).isPositive();
        assertThat(model.get("p99DelaySeconds").asDouble()).isPositive();
        assertThat(model.has("split")).isFalse();
    }

    @Test
    void shouldPrintAListWhenSplit() throws IOException {
        assertThat(weir("model", "--arrival=10000", "--rate=11000", "--burst=27", "--split=6", "-o", "json"))
                .isZero();

        JsonNode rows = new ObjectMapper().readTree(out.toString());
        assertThat(rows.size()).isEqualTo(6);
        assertThat(rows.get(0).get("split").asInt()).isEqualTo(1);
        assertThat(rows.get(0).get("p99DelaySeconds").asDouble()).isZero();
        assertThat(rows.get(1).get("p99DelaySeconds").asDouble()).isCloseTo(2.128e-3, within(5e-7));
        assertThat(rows.get(5).get("p99DelaySeconds").asDouble()).isCloseTo(11.293e-3, within(5e-7));
    }

    @Test
    void shouldPrintATableForPeopleWhenNotAskedForJson() {
        assertThat(weir("model", "--arrival=10000", "--rate=11000", "--burst=27", "--split=2"))
                .isZero();

        assertThat(out.toString()).contains("91%", "p99 delay", "2.1279 ms");
    }

    @Test
    void shouldSayWhyInOneLineWhenTheModelHasNoAnswer() {
        assertThat(weir("model", "--arrival=12000", "--rate=11000", "--burst=27"))
                .isEqualTo(ExitCode.USAGE);
        assertThat(weir("model", "--arrival=1", "--rate=2", "--burst=0.5")).isEqualTo(ExitCode.USAGE);
        assertThat(weir("model", "--arrival=1", "--rate=2", "--burst=3", "--split=4"))
                .isEqualTo(ExitCode.USAGE);
        assertThat(weir("model", "--arrival=1", "--rate=2", "--burst=3", "--split=0"))
                .isEqualTo(ExitCode.USAGE);

        assertThat(err.toString().lines())
                .hasSize(4)
                .allMatch(line -> line.startsWith("weir: "))
                .anyMatch(line -> line.contains("grows without end"))
                .anyMatch(line -> line.contains("split into at most 3"));
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void shouldProfileATraceAsJson() throws IOException {
        assertThat(weir("topic", "profile", batches().toString(), "--margin", "0.5", "-o", "json"))
                .isZero();

        JsonNode profile = new ObjectMapper().readTree(out.toString());
        assertThat(profile.get("rate").asDouble()).isEqualTo(15);
        assertThat(profile.get("burst").asDouble()).isEqualTo(10);
        assertThat(profile.get("messages").asLong()).isEqualTo(500);
        assertThat(profile.get("reasons").size()).isPositive();
    }

    @Test
    void shouldProfileATraceWithItsReasonsForPeople() throws IOException {
        assertThat(weir("topic", "profile", batches().toString())).isZero();

        assertThat(out.toString())
                .contains("r = 11.0000 msg/s, b = 10 messages", "plus a margin of 10.00%", "b = 9, 10");
    }

    @Test
    void shouldNameFileAndLineWhenTheTraceIsWrong() throws IOException {
        Path wrong = Files.writeString(folder.resolve("wrong.csv"), "1\n2\nthree\n");
        Path one = Files.writeString(folder.resolve("one.csv"), "1\n");

        assertThat(weir("topic", "profile", wrong.toString())).isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(weir("topic", "profile", one.toString())).isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(weir("topic", "profile", folder.resolve("none.csv").toString()))
                .isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(weir("topic", "profile", wrong.toString(), "--margin", "-1")).isEqualTo(ExitCode.USAGE);
        assertThat(weir("topic")).isEqualTo(ExitCode.USAGE);

        assertThat(err.toString())
                .contains("weir: wrong.csv, line 3: 'three' is not a time in seconds")
                .contains("one.csv: a trace of 1 messages at one instant has no rate")
                .contains("there is no file")
                .contains("margin -1.0")
                .contains("Which command?")
                .doesNotContain("Exception");
    }

    @Test
    void shouldShowExamplesWhenAskedForHelp() {
        assertThat(weir("model", "--help")).isZero();
        assertThat(weir("topic", "profile", "--help")).isZero();

        assertThat(out.toString()).contains("Examples:", "--split 6 -o json", "weir topic profile orders.csv", "10%");
    }

    private Path batches() throws IOException {
        StringBuilder lines = new StringBuilder("time_s,count\n");
        for (int i = 0; i < 50; i++) {
            lines.append(i).append(",10\n");
        }
        return Files.writeString(folder.resolve("batches.csv"), lines);
    }

    private int weir(String... args) {
        CommandLine line = Weir.commandLine();
        line.setOut(new PrintWriter(out, true));
        line.setErr(new PrintWriter(err, true));
        return line.execute(args);
    }
}

package io.weir.cluster.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Weir;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** {@code weir chaos check} as a script sees it. */
class CheckCommandTest {
    private static final String LIMIT = "{\"t\":0,\"type\":\"limit\",\"topic\":\"orders\",\"rate\":10,\"burst\":1}";
    private static final String ADMIT = "{\"t\":5,\"type\":\"admit\",\"topic\":\"orders\",\"broker\":\"b1\"}";

    @TempDir
    private Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int check(Path file, String... more) {
        CommandLine weir = Weir.commandLine();
        weir.setOut(new PrintWriter(out));
        weir.setErr(new PrintWriter(err));
        List<String> line = new ArrayList<>(List.of("chaos", "check", file.toString()));
        line.addAll(List.of(more));
        return weir.execute(line.toArray(String[]::new));
    }

    private Path file(String... lines) throws IOException {
        return Files.write(directory.resolve("history.jsonl"), List.of(lines));
    }

    @Test
    void shouldSayYesOnlyIfAllThatWasCheckedHeld() throws IOException {
        assertThat(check(file(LIMIT, ADMIT))).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("C1", "held", "C2", "not checked", "all 1 checked invariants held");

        assertThat(check(file(LIMIT, ADMIT, ADMIT))).isEqualTo(ExitCode.FAILED);
        assertThat(out.toString()).contains("violated", "2 messages within 0 ns");
    }

    @Test
    void shouldSayItToAScript() throws IOException {
        assertThat(check(file(LIMIT, ADMIT, ADMIT), "-o", "json")).isEqualTo(ExitCode.FAILED);

        JsonNode answer = new ObjectMapper().readTree(out.toString());
        assertThat(answer.get("held").asBoolean()).isFalse();
        assertThat(answer.get("records").get("admit").asInt()).isEqualTo(2);
        assertThat(answer.get("verdicts")).hasSize(9);
        JsonNode hardBound = answer.get("verdicts").get(0);
        assertThat(hardBound.get("outcome").asText()).isEqualTo("violated");
        assertThat(hardBound.get("violations").get(0).get("fromNs").asLong()).isEqualTo(5);
        assertThat(hardBound.get("violations").get(0).get("messages").asLong()).isEqualTo(2);
    }

    @Test
    void shouldNotCallItGoodWhenNothingCouldBeChecked() throws IOException {
        assertThat(check(file(ADMIT))).isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(err.toString()).contains("nothing in", "can be checked");
        assertThat(check(file())).isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(err.toString()).contains("has no records");
    }

    @Test
    void shouldSayWhatIsWrongWithAFile() throws IOException {
        assertThat(check(file(LIMIT, "what?"))).isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(err.toString()).contains("history.jsonl line 2: no JSON object");
        assertThat(check(directory.resolve("none"))).isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(err.toString()).contains("there is no file");
        assertThat(check(directory)).isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(err.toString()).contains("is a directory");
    }

    @Test
    void shouldTellOfLinesThatNobodyLookedAt() throws IOException {
        assertThat(check(file(LIMIT, ADMIT, "{\"t\":1,\"type\":\"admitted\"}"))).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("1 of the unknown type 'admitted' were not looked at");
    }

    @Test
    void shouldWriteTheReport() throws IOException {
        Path page = directory.resolve("report.html");
        assertThat(check(file(LIMIT, ADMIT), "--html", page.toString())).isEqualTo(ExitCode.OK);
        assertThat(page).content().contains("Every checked promise was kept");
        assertThat(check(file(LIMIT, ADMIT), "--html", directory.toString())).isEqualTo(ExitCode.UNAVAILABLE);
    }
}

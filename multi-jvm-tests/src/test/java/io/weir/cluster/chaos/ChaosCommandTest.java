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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class ChaosCommandTest {
    @TempDir
    private Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int weir(String... args) {
        CommandLine weir = Weir.commandLine();
        weir.setOut(new PrintWriter(out, true));
        weir.setErr(new PrintWriter(err, true));
        return weir.execute(args);
    }

    @Test
    void shouldExplainEveryFaultWhenAskedForTheList() {
        assertThat(weir("chaos", "list")).isEqualTo(ExitCode.OK);

        for (Fault fault : Fault.values()) {
            assertThat(out.toString()).contains(fault + " ").contains(fault.sentence());
        }
    }

    @Test
    void shouldListForScriptsWhenAskedForJson() throws IOException {
        assertThat(weir("chaos", "list", "-o", "json")).isEqualTo(ExitCode.OK);

        JsonNode list = new ObjectMapper().readTree(out.toString());
        assertThat(list).hasSize(Fault.values().length);
        assertThat(list.get(0).get("fault").asText()).isEqualTo("kill");
        assertThat(list.findValuesAsText("explanation")).doesNotContain("");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--brokers|2|a majority is left",
                "--duration|1s|5 s to 24 h",
                "--duration|soon|'soon' is no time",
                "--floor|1.5|0 to 1",
                "--nemesis|kil|there is no fault 'kil'",
            })
    void shouldSayWhatIsWrongWhenAnOptionIs(String option, String value, String message) {
        assertThat(weir("chaos", "--report", directory.resolve("new").toString(), option, value))
                .isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains(message);
    }

    @Test
    void shouldNotWriteWhereSomethingIsAlready() throws IOException {
        Files.writeString(directory.resolve("mine.txt"), "mine");

        assertThat(weir("chaos", "--report", directory.toString())).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("is not empty");
    }
}

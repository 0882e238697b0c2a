package io.weir.supervisor.cli.lab;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Weir;
import io.weir.supervisor.lab.CsvReader;
import io.weir.supervisor.lab.SampleExperiments;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.AutoComplete;
import picocli.CommandLine;

class LabCommandTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final ClassLoader usual = Thread.currentThread().getContextClassLoader();

    @TempDir
    private Path dir;

    @BeforeEach
    void onlyTheSampleExperiments() {
        Thread.currentThread().setContextClassLoader(SampleExperiments.loader());
        SampleExperiments.RUNS.set(0);
    }

    @AfterEach
    void theUsualOnes() {
        Thread.currentThread().setContextClassLoader(usual);
    }

    @Test
    void shouldListNameSourceAndSummaryWhenAsked() {
        assertThat(weir("lab", "list")).isEqualTo(ExitCode.OK);
        assertThat(out.toString().lines())
                .containsExactly(
                        "broken-dam   a test  what broken-dam shows",
                        "odd-values   a test  what odd-values shows",
                        "steady-flow  a test  what steady-flow shows");
    }

    @ParameterizedTest
    @ValueSource(strings = {"lab list -o json", "lab -o json list"})
    void shouldListAsJsonWhenTheOptionStandsBeforeOrAfter(String line) throws IOException {
        assertThat(weir(line.split(" "))).isEqualTo(ExitCode.OK);
        JsonNode list = json();
        assertThat(list).hasSize(3);
        assertThat(list.get(2).get("experiment").asText()).isEqualTo("steady-flow");
        assertThat(list.get(2).get("defaultSeeds").asInt()).isEqualTo(3);
    }

    @Test
    void shouldRefuseAListOfANamedExperiment() {
        assertThat(weir("lab", "steady-flow", "list")).isEqualTo(ExitCode.USAGE);
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void shouldPrintAlignedTablesAndFindingsWhenAllHolds() {
        assertThat(weir("lab", "steady-flow")).isEqualTo(ExitCode.OK);
        assertThat(out.toString().replaceAll("\\d+\\.\\d s", "T s").lines())
                .containsExactly(
                        "steady-flow: what steady-flow shows",
                        "a test; seeds 1 to 3",
                        "",
                        "p99 access delay",
                        "  k     static (ms)  note",
                        "  1   0     ± 0      none",
                        "  2   2.128 ± 0.043  as expected",
                        "  6  11.29  ± 0.30   worst",
                        "",
                        "seeds",
                        "  mean of all",
                        "    the seeds  n",
                        "            2  3",
                        "",
                        "  holds    it flows",
                        "           expected yes",
                        "           measured yes",
                        "1 of 1 findings hold; T s",
                        "");
    }

    @Test
    void shouldFailAndShowBothSidesWhenAFindingDiffers() {
        assertThat(weir("lab", "broken-dam")).isEqualTo(ExitCode.FAILED);
        assertThat(out.toString())
                .contains("  holds    water is wet")
                .contains("  DIFFERS  the dam holds back\n           expected below 5 m\n           measured 7.3 m\n")
                .contains("1 of 2 findings hold");
    }

    @Test
    void shouldPrintOneObjectAndNothingElseWhenJsonOfOneIsAsked() throws IOException {
        assertThat(weir("lab", "steady-flow", "--seeds", "5", "--first-seed", "10", "-o", "json"))
                .isEqualTo(ExitCode.OK);
        JsonNode json = json();
        assertThat(json.get("experiment").asText()).isEqualTo("steady-flow");
        assertThat(json.get("source").asText()).isEqualTo("a test");
        assertThat(json.get("seeds").asInt()).isEqualTo(5);
        assertThat(json.get("firstSeed").asInt()).isEqualTo(10);
        assertThat(json.get("holds").asBoolean()).isTrue();
        assertThat(json.at("/tables/0/columns/1").asText()).isEqualTo("static (ms)");
        assertThat(json.at("/tables/0/rows/2/0").asInt()).isEqualTo(6);
        assertThat(json.at("/tables/0/rows/2/1/mean").asDouble()).isEqualTo(11.2934);
        assertThat(json.at("/tables/0/rows/2/1/halfWidth95").asDouble()).isEqualTo(0.3);
        assertThat(json.at("/tables/1/rows/0/0").asDouble()).isEqualTo(12);
        assertThat(json.at("/findings/0/claim").asText()).isEqualTo("it flows");
        assertThat(json.at("/findings/0/holds").asBoolean()).isTrue();
        assertThat(err.toString()).contains("steady-flow 0%");
    }

    @Test
    void shouldPrintNullWhenJsonHasNoSuchNumber() throws IOException {
        assertThat(weir("lab", "odd-values", "-o", "json")).isEqualTo(ExitCode.OK);
        JsonNode rows = json().at("/tables/0/rows");
        assertThat(rows.at("/0/0").asText()).isEqualTo("line\nbreak");
        assertThat(rows.at("/0/1/mean").isNull()).isTrue();
        assertThat(rows.at("/1/1").isNull()).isTrue();
        assertThat(rows.at("/2/1/halfWidth95").isNull()).isTrue();
        assertThat(rows.at("/3/1").asLong()).isEqualTo(12_345_678_901L);
    }

    @ParameterizedTest
    @ValueSource(strings = {"lab -o json", "lab all -o json", "lab broken-dam all -o json"})
    void shouldRunEachOnceAndFailWhenAllAreAskedAndOneDiffers(String line) throws IOException {
        assertThat(weir(line.split(" "))).isEqualTo(ExitCode.FAILED);
        assertThat(json().findValuesAsText("experiment")).containsExactly("broken-dam", "odd-values", "steady-flow");
        assertThat(SampleExperiments.RUNS).hasValue(3);
    }

    @Test
    void shouldEndWithASummaryWhenSeveralRan() {
        assertThat(weir("lab")).isEqualTo(ExitCode.FAILED);
        assertThat(out.toString())
                .contains("3 experiments; 2 of 3 findings hold; ")
                .endsWith("  DIFFERS  broken-dam: the dam holds back\n");
    }

    @Test
    void shouldShowOddValuesAsWordsWhenPrintedAsText() {
        assertThat(weir("lab", "odd-values")).isEqualTo(ExitCode.OK);
        assertThat(out.toString())
                .contains(
                        "  line break            –\n",
                        "  \"quotes\"              ∞\n",
                        "  <tag> & co            1.5\n",
                        "              12345678901\n",
                        "no findings;");
    }

    @Test
    void shouldSuggestTheNearNameInOneLineWhenUnknown() {
        assertThat(weir("lab", "steady-flow", "brokn-dam")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).isEqualTo("weir: there is no experiment 'brokn-dam'; did you mean broken-dam?\n");
        assertThat(weir("lab", "qqqqqqqqqqqqq")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).endsWith("'qqqqqqqqqqqqq'; 'weir lab list' shows what there is\n");
        assertThat(SampleExperiments.RUNS).hasValue(0);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--seeds 0",
                "--seeds -3",
                "--seeds many",
                "--first-seed 9223372036854775807",
                "--set novalue",
                "--progress loud"
            })
    void shouldStartNothingWhenAnOptionIsWrong(String option) {
        assertThat(weir(("lab steady-flow " + option).split(" "))).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains(option.split(" ")[0]);
        assertThat(SampleExperiments.RUNS).hasValue(0);
    }

    @Test
    void shouldStartNothingWhenAFileCannotBeWritten() throws IOException {
        Path file = Files.writeString(dir.resolve("file"), "mine");
        String[][] wrong = {
            {"--csv", dir.resolve("missing/x.csv").toString()},
            {"--csv", file + "/"},
            {"--csv", file.resolve("x.csv").toString()},
            {"--plot", file.toString()},
            {"--plot", file.resolve("x").toString()}
        };
        for (String[] option : wrong) {
            assertThat(weir("lab", "steady-flow", option[0], option[1]))
                    .as(option[1])
                    .isEqualTo(ExitCode.UNAVAILABLE);
            assertThat(err.toString().lines().reduce((a, b) -> b))
                    .get()
                    .asString()
                    .startsWith("weir: " + option[0]);
        }
        assertThat(err.toString().lines()).hasSize(wrong.length);
        assertThat(SampleExperiments.RUNS).hasValue(0);
        assertThat(file).hasContent("mine");
    }

    @Test
    void shouldPassTheOptionOnWhenItIsSet() throws IOException {
        assertThat(weir("lab", "steady-flow", "--set", "scale=2", "-o", "json")).isEqualTo(ExitCode.OK);
        assertThat(json().at("/tables/0/rows/2/1/mean").asDouble()).isEqualTo(22.5868);
    }

    @Test
    void shouldSaySoWhenNoExperimentReadAnOption() {
        assertThat(weir("lab", "steady-flow", "--set", "scael=2", "--set", "scale=3"))
                .isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("weir: no experiment of this run has an option scael;");
    }

    @Test
    void shouldEndInOneLineWhenAnExperimentRefusesAnOption() {
        assertThat(weir("lab", "steady-flow", "--set", "scale=wide")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString())
                .contains("weir: steady-flow: ")
                .contains("wide")
                .doesNotContain("\tat ");
    }

    @Test
    void shouldEndInOneLineWhenAnExperimentCannotReadItsFile() {
        String trace = dir.resolve("none.csv").toString();
        assertThat(weir("lab", "steady-flow", "--set", "trace=" + trace)).isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(err.toString())
                .contains("weir: steady-flow: ")
                .contains(trace)
                .doesNotContain("\tat ");
    }

    @Test
    void shouldWriteOneBlockATableWhenCsvIsAFile() throws IOException {
        Path file =
                Files.writeString(dir.resolve("all.csv"), "something older and longer than what follows\n".repeat(99));
        assertThat(weir("lab", "all", "--csv", file.toString())).isEqualTo(ExitCode.FAILED);

        List<List<List<String>>> blocks = blocks(CsvReader.read(Files.readString(file)));
        assertThat(blocks).hasSize(4);
        assertThat(blocks.get(0).get(0))
                .containsExactly("experiment", "table", "name, with comma", "value", "value ±95%");
        assertThat(blocks.get(0).get(1))
                .containsExactly("odd-values", "a \"quoted\", title", "line\nbreak", "NaN", "NaN");
        assertThat(blocks.get(1)).isEqualTo(blocks.get(0));
        assertThat(blocks.get(2).get(3))
                .containsExactly("steady-flow", "p99 access delay", "6", "11.2934", "0.3", "worst");
        assertThat(blocks.get(3)).hasSize(2);
    }

    @Test
    void shouldWriteOneFileATableWhenCsvIsADirectory() throws IOException {
        assertThat(weir("lab", "all", "--csv", dir + "/made/here/")).isEqualTo(ExitCode.FAILED);
        assertThat(files(dir.resolve("made/here")))
                .containsExactly(
                        "odd-values-a-quoted-title-2.csv",
                        "odd-values-a-quoted-title.csv",
                        "steady-flow-p99-access-delay.csv",
                        "steady-flow-seeds.csv");
        assertThat(dir.resolve("made/here/steady-flow-seeds.csv"))
                .hasContent("experiment,table,mean of all the seeds,n\nsteady-flow,seeds,2.0,3\n");
    }

    @Test
    void shouldWriteChartsAndNameThemWhenPlotting() throws IOException {
        Path plots = dir.resolve("a/b");
        assertThat(weir("lab", "steady-flow", "odd-values", "--plot", plots.toString(), "-o", "json"))
                .isEqualTo(ExitCode.OK);
        assertThat(files(plots)).containsExactly("odd-values-2.svg", "odd-values.svg", "steady-flow-delay.svg");
        assertThat(json().at("/0/charts/0").asText())
                .isEqualTo(plots.resolve("steady-flow-delay.svg").toString());
    }

    @Test
    void shouldShowNamesAndExamplesWhenHelpIsAsked() {
        assertThat(weir("lab", "--help")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("broken-dam, odd-values,", "weir lab list", "Examples:", "--first-seed");
        assertThat(SampleExperiments.RUNS).hasValue(0);
    }

    @Test
    void shouldOfferTheNamesWhenAShellCompletes() {
        assertThat(AutoComplete.bash("weir", Weir.commandLine()))
                .contains("\"broken-dam\" \"odd-values\" \"steady-flow\" \"all\"");
    }

    private int weir(String... args) {
        CommandLine line = Weir.commandLine();
        line.setOut(new PrintWriter(out));
        line.setErr(new PrintWriter(err));
        return line.execute(args);
    }

    /** Standard output as JSON; fails if anything stands before or after it. */
    private JsonNode json() throws IOException {
        return new ObjectMapper()
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .readTree(out.toString());
    }

    private static List<List<List<String>>> blocks(List<List<String>> records) {
        List<List<List<String>>> blocks = new ArrayList<>(List.of(new ArrayList<>()));
        for (List<String> record : records) {
            if (record.isEmpty()) {
                blocks.add(new ArrayList<>());
            } else {
                blocks.get(blocks.size() - 1).add(record);
            }
        }
        return blocks;
    }

    private static List<String> files(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }
}

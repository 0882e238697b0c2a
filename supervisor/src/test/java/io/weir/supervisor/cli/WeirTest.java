package io.weir.supervisor.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

class WeirTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    static Stream<String> commands() {
        List<String> lines = new ArrayList<>();
        collect(Weir.commandLine().getCommandSpec(), "", lines);
        return lines.stream();
    }

    private static void collect(CommandSpec spec, String line, List<String> into) {
        if (spec.usageMessage().hidden()) {
            return;
        }
        into.add(line.strip());
        spec.subcommands().forEach((name, sub) -> collect(sub.getCommandSpec(), line + " " + name, into));
    }

    @ParameterizedTest(name = "weir {0}")
    @MethodSource("commands")
    void shouldExplainItselfWithAnExampleWhenAskedForHelp(String line) {
        List<String> args = new ArrayList<>(line.isEmpty() ? List.of() : List.of(line.split(" ")));
        args.add("--help");

        assertThat(weir(args.toArray(String[]::new))).isEqualTo(ExitCode.OK);

        CommandSpec spec = spec(line);
        assertThat(spec.usageMessage().description()).as("description").isNotEmpty();
        assertThat(out.toString()).contains(spec.usageMessage().description()[0].split(" ")[0]);
        assertThat(String.join("\n", spec.usageMessage().footer()))
                .as("footer")
                .containsPattern("Examples?:")
                .contains(("weir " + line).stripTrailing());
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void shouldGiveEveryOptionADescription() {
        commands().map(WeirTest::spec).forEach(spec -> assertThat(spec.options())
                .as(spec.qualifiedName())
                .allSatisfy(option -> assertThat(option.description()).isNotEmpty()));
    }

    @Test
    void shouldEndWithTheUsageCodeWhenTheCommandIsUnknown() {
        assertThat(weir("uppp")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("uppp");
    }

    @Test
    void shouldEndWithTheUsageCodeWhenNoCommandIsGiven() {
        assertThat(weir()).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("weir --help");
    }

    @Test
    void shouldEndWithTheUsageCodeWhenAnOptionIsUnknown() {
        assertThat(weir("status", "--no-such-option")).isEqualTo(ExitCode.USAGE);
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void shouldSayInOneLineWhatToDoWhenASettingsFileIsMissing() {
        assertThat(weir("broker", "--config", "/no/such/file.conf")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString().lines())
                .singleElement()
                .asString()
                .startsWith("weir: settings file /no/such/file.conf");
    }

    @Test
    void shouldSayInOneLineWhatToDoWhenNoBrokerAnswers() {
        assertThat(weir("status", "--http", "127.0.0.1:1")).isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(err.toString().lines())
                .singleElement()
                .asString()
                .startsWith("weir: no broker answers at 127.0.0.1:1");
    }

    @Test
    void shouldMentionEveryCommandInTheCompletionScript() {
        assertThat(weir("completion")).isEqualTo(ExitCode.OK);
        commands().filter(line -> !line.isEmpty()).forEach(line -> assertThat(out.toString())
                .contains("_picocli_weir_" + line.replace("-", "").replace(' ', '_') + "()"));
    }

    @Test
    void shouldHaveOneCommandForEachName() {
        List<String> names = ServiceLoader.load(CliCommand.class).stream()
                .map(provider -> new CommandLine(provider.get()).getCommandName())
                .toList();

        assertThat(names).isNotEmpty().doesNotHaveDuplicates();
        assertThat(Weir.commandLine().getSubcommands().keySet()).containsExactlyInAnyOrderElementsOf(names);
    }

    private static CommandSpec spec(String line) {
        CommandLine found = Weir.commandLine();
        for (String name : line.isEmpty() ? new String[0] : line.split(" ")) {
            found = found.getSubcommands().get(name);
        }
        return found.getCommandSpec();
    }

    private int weir(String... args) {
        return Weir.commandLine()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(args);
    }

    @Test
    void shouldDescribeOnlyTheCommandThatIsMeantUnlessAllAreAskedFor() {
        Set<String> all = Weir.commandLine().getSubcommands().keySet();

        assertThat(Weir.commandLine(new String[] {"status", "-o", "json"}).getSubcommands())
                .containsOnlyKeys("status");
        for (String first : new String[] {"--help", "completion", "no-such-command"}) {
            assertThat(Weir.commandLine(new String[] {first}).getSubcommands().keySet())
                    .as(first)
                    .isEqualTo(all);
        }
        assertThat(Weir.commandLine(new String[0]).getSubcommands().keySet()).isEqualTo(all);
    }
}

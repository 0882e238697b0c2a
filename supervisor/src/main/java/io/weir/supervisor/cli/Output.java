package io.weir.supervisor.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.PrintWriter;
import java.util.Locale;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The {@code -o} option of every command that prints data, as a picocli mixin: text for people, JSON for scripts. */
public final class Output {
    /** How data is printed. */
    public enum Format {
        text,
        json
    }

    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FORMAT",
            defaultValue = "text",
            description = "How to print: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private Format format = Format.text;

    public boolean json() {
        return format == Format.json;
    }

    /** Prints {@code value} as JSON: a record, a map or a list. */
    public void printJson(Object value) {
        try {
            out().println(JSON.writeValueAsString(value));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("cannot write " + value.getClass().getSimpleName() + " as JSON", e);
        }
        out().flush();
    }

    public void printf(String format, Object... args) {
        out().printf(Locale.ROOT, format, args);
        out().flush();
    }

    public void println(String line) {
        out().println(line);
        out().flush();
    }

    private PrintWriter out() {
        return command.commandLine().getOut();
    }
}

package io.weir.supervisor.cli;

import io.weir.supervisor.local.LocalClusterException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.ServiceLoader;
import java.util.function.Predicate;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Where every process of Weir starts: the command line, and the brokers and helpers that it launches. */
@Command(
        name = "weir",
        mixinStandardHelpOptions = true,
        version = "weir 0.1.0",
        synopsisSubcommandLabel = "COMMAND",
        description = "A publish/subscribe broker cluster whose topics carry a rate limit for the whole cluster.",
        footer = {
            "",
            "Examples:",
            "  weir up --detach        start three brokers on this machine",
            "  weir status -o json     what each of them does",
            "  weir down               stop them all",
            "",
            "Exit codes: 0 done; 1 the answer is no; 2 wrong usage; 3 something needed is not there."
        })
public final class Weir implements Runnable {
    @Spec
    private CommandSpec spec;

    public static void main(String[] args) {
        CommandLine weir = commandLine(args);
        // Not the locale's charset: a container without one would print 11.3 ? 0.2 for 11.3 ± 0.2.
        weir.setOut(new PrintWriter(System.out, true, StandardCharsets.UTF_8));
        weir.setErr(new PrintWriter(System.err, true, StandardCharsets.UTF_8));
        System.exit(weir.execute(args));
    }

    /** The whole command line, with every command on the class path. */
    public static CommandLine commandLine() {
        return commandLine(type -> true);
    }

    /**
     * As much of the command line as {@code args} need. To describe every command to picocli takes longer than most
     * commands run, and a cluster's processes all start through here.
     */
    static CommandLine commandLine(String[] args) {
        CommandLine one = commandLine(type ->
                args.length > 0 && type.getAnnotation(Command.class).name().equals(args[0]));
        // Nothing of that name, help, or completion, which speaks of all of them.
        boolean enough =
                !one.getSubcommands().isEmpty() && !one.getSubcommands().containsKey("completion");
        return enough ? one : commandLine();
    }

    private static CommandLine commandLine(Predicate<Class<?>> wanted) {
        CommandLine weir = new CommandLine(new Weir());
        ServiceLoader.load(CliCommand.class).stream()
                .filter(provider -> wanted.test(provider.type()))
                .forEach(provider -> weir.addSubcommand(provider.get()));
        weir.setExecutionExceptionHandler((e, line, parsed) -> {
            if (!(e instanceof CliException) && !(e instanceof LocalClusterException)) {
                throw e;
            }
            line.getErr().println("weir: " + e.getMessage());
            line.getErr().flush();
            return e instanceof CliException known ? known.exitCode() : ExitCode.UNAVAILABLE;
        });
        weir.setUsageHelpAutoWidth(true);
        return weir;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Which command? 'weir --help' lists them.");
    }
}

package io.weir.supervisor.cli;

import io.weir.config.Endpoint;
import io.weir.supervisor.store.StoreException;
import io.weir.supervisor.store.StoreServer;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * The embedded store's process; {@code weir up} starts it. This makes everything ready and prints the command that the
 * shell which ran this then becomes: no JVM stays beside the database.
 */
@Command(
        name = "store",
        hidden = true,
        mixinStandardHelpOptions = true,
        description = "Run the embedded store in the foreground; its password comes from WEIR_STORE_PASSWORD.")
public final class StoreCommand implements CliCommand {
    @Option(names = "--dir", paramLabel = "DIR", required = true, description = "Where the database is.")
    private Path directory;

    @Option(
            names = "--host",
            paramLabel = "ADDRESS",
            defaultValue = "127.0.0.1",
            description = "Address to listen on (default: loopback).")
    private String host;

    @Option(names = "--port", paramLabel = "N", required = true, description = "Port to listen on.")
    private int port;

    @Mixin
    private Output output;

    @Override
    public Integer call() {
        String password = System.getenv("WEIR_STORE_PASSWORD");
        if (password == null || password.isEmpty()) {
            throw CliException.usage("WEIR_STORE_PASSWORD is not set: the store needs a password");
        }
        try {
            List<String> command = StoreServer.prepare(directory, new Endpoint(host, port), password);
            output.println(command.stream().map(StoreCommand::quoted).collect(Collectors.joining(" ")));
            return ExitCode.OK;
        } catch (StoreException e) {
            throw CliException.unavailable(e.getMessage());
        }
    }

    /** As one word of a shell. */
    private static String quoted(String word) {
        return "'" + word.replace("'", "'\\''") + "'";
    }
}

package io.weir.supervisor.cli;

import io.weir.config.Endpoint;
import io.weir.supervisor.store.StoreException;
import io.weir.supervisor.store.StoreServer;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The embedded store's process; {@code weir up} starts it. */
@Command(
        name = "store",
        hidden = true,
        mixinStandardHelpOptions = true,
        description = "Run the embedded store in the foreground; its password comes from WEIR_STORE_PASSWORD.")
public final class StoreCommand implements CliCommand {
    private static final long LOOK_MS = 1_000;

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

    @Override
    public Integer call() throws InterruptedException {
        String password = System.getenv("WEIR_STORE_PASSWORD");
        if (password == null || password.isEmpty()) {
            throw CliException.usage("WEIR_STORE_PASSWORD is not set: the store needs a password");
        }
        try {
            StoreServer server = StoreServer.start(directory, new Endpoint(host, port), password);
            Runtime.getRuntime().addShutdownHook(new Thread(server::close));
            return untilItFails(server);
        } catch (StoreException e) {
            throw CliException.unavailable(e.getMessage());
        }
    }

    /** Who looks after the process starts it again; one that stayed would turn everybody away for ever. */
    private static int untilItFails(StoreServer server) throws InterruptedException {
        Optional<String> failure = server.failure();
        while (failure.isEmpty()) {
            TimeUnit.MILLISECONDS.sleep(LOOK_MS);
            failure = server.failure();
        }
        System.err.println(
                "weir: the store has failed and ends, start it again when there is room on its disk: " + failure.get());
        // There is nothing left that could be closed in good order.
        Runtime.getRuntime().halt(ExitCode.UNAVAILABLE);
        return ExitCode.UNAVAILABLE;
    }

    /** Keeps a process until it is told to end. */
    static final class Foreground {
        private Foreground() {}

        static int until(Runnable close) throws InterruptedException {
            CountDownLatch never = new CountDownLatch(1);
            Runtime.getRuntime().addShutdownHook(new Thread(close));
            never.await();
            return ExitCode.OK;
        }
    }
}

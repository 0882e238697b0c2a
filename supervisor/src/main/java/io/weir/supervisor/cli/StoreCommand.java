package io.weir.supervisor.cli;

import io.weir.config.Endpoint;
import io.weir.supervisor.store.StoreException;
import io.weir.supervisor.store.StoreServer;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The embedded store's process; {@code weir up} starts it. */
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

    @Override
    public Integer call() throws InterruptedException {
        String password = System.getenv("WEIR_STORE_PASSWORD");
        if (password == null || password.isEmpty()) {
            throw CliException.usage("WEIR_STORE_PASSWORD is not set: the store needs a password");
        }
        try {
            StoreServer server = StoreServer.start(directory, new Endpoint(host, port), password);
            return Foreground.until(server::close);
        } catch (StoreException e) {
            throw CliException.unavailable(e.getMessage());
        }
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

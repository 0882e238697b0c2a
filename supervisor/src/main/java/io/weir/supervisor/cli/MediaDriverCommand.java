package io.weir.supervisor.cli;

import io.weir.transport.MediaDriverProcess;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** A host's shared media driver; {@code weir up} starts one. */
@Command(
        name = "media-driver",
        mixinStandardHelpOptions = true,
        description = {
            "Run the Aeron media driver that all brokers of this host share, in the foreground.",
            "'weir up' starts one by itself; a service manager runs this beside 'weir broker'."
        },
        footer = {"", "Example:", "  weir media-driver --dir /dev/shm/weir"})
public final class MediaDriverCommand implements CliCommand {
    @Option(names = "--dir", paramLabel = "DIR", required = true, description = "weir.aeron.directory of the brokers.")
    private Path directory;

    @Override
    public Integer call() throws InterruptedException {
        if (MediaDriverProcess.isActive(directory)) {
            throw CliException.unavailable("a media driver already works on " + directory);
        }
        MediaDriverProcess driver = MediaDriverProcess.start(directory);
        Runtime.getRuntime().addShutdownHook(new Thread(driver::close));
        new CountDownLatch(1).await();
        return ExitCode.OK;
    }
}

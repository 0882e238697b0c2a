package io.weir.supervisor.cli;

import io.weir.config.Endpoint;
import io.weir.config.SettingsLoader;
import io.weir.supervisor.local.ClusterStatus;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.BrokerProcess;
import io.weir.supervisor.node.Readiness;
import io.weir.supervisor.store.StoreServer;
import io.weir.transport.MediaDriverProcess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import picocli.CommandLine.Command;

/**
 * Loads the classes that a cluster needs, by being a cluster of one for a moment: the launcher runs this once to lay
 * them out in an archive for class data sharing. Everything it uses is in a temporary directory that is gone
 * afterwards.
 */
@Command(
        name = "warm-up",
        hidden = true,
        mixinStandardHelpOptions = true,
        description = "Load what a cluster loads, then end.")
public final class WarmUpCommand implements CliCommand {
    private static final long READY_WITHIN_MS = 60_000;

    @Override
    public Integer call() throws IOException, InterruptedException {
        Path directory = Files.createTempDirectory("weir-warm-up");
        int[] ports = freePorts(5);
        try (StoreServer store = StoreServer.start(directory, ports[0], "warm-up");
                MediaDriverProcess driver = MediaDriverProcess.start(directory.resolve("aeron"))) {
            SettingsLoader settings = SettingsLoader.load(Optional.empty(), environment(directory, ports));
            Thread broker = new Thread(() -> BrokerProcess.run(settings), "warm-up-broker");
            broker.start();
            Endpoint http = new Endpoint("127.0.0.1", ports[1]);
            BrokerClient client = new BrokerClient(http);
            long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(READY_WITHIN_MS);
            while (broker.isAlive()
                    && System.nanoTime() - deadlineNs < 0
                    && !client.readiness().join().map(Readiness::ready).orElse(false)) {
                TimeUnit.MILLISECONDS.sleep(50);
            }
            ClusterStatus.of(List.of(new ClusterStatus.Expected("warm-up", 0, 0, http.toString(), http.toString())));
            int stopped = client.stop(Optional.empty()).join().orElse(0);
            broker.join(READY_WITHIN_MS);
            return stopped == 202 ? ExitCode.OK : ExitCode.FAILED;
        } finally {
            delete(directory);
        }
    }

    private static Map<String, String> environment(Path directory, int[] ports) {
        return Map.of(
                "WEIR_BROKER_ID", "warm-up",
                "WEIR_BROKER_DATA_DIR", directory.resolve("broker").toString(),
                "WEIR_STORE_URL", StoreServer.url(ports[0]),
                "WEIR_STORE_PASSWORD", "warm-up",
                "WEIR_HTTP_PORT", Integer.toString(ports[1]),
                "WEIR_TCP_PORT", Integer.toString(ports[2]),
                "WEIR_CLUSTER_PORT", Integer.toString(ports[3]),
                "WEIR_CLUSTER_MANAGEMENT_PORT", Integer.toString(ports[4]),
                "WEIR_CLUSTER_DISCOVERY_CONTACT_POINTS", "127.0.0.1:" + ports[4],
                "WEIR_AERON_DIRECTORY", directory.resolve("aeron").toString());
    }

    /**
     * Held all at once, so that they differ; another process could take one before it is used, and this run would then
     * fail.
     */
    private static int[] freePorts(int count) throws IOException {
        List<ServerSocket> held = new ArrayList<>();
        try {
            int[] ports = new int[count];
            for (int i = 0; i < count; i++) {
                held.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
                ports[i] = held.get(i).getLocalPort();
            }
            return ports;
        } finally {
            for (ServerSocket socket : held) {
                socket.close();
            }
        }
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> entries = Files.walk(directory)) {
            for (Path entry : entries.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(entry);
            }
        }
    }
}

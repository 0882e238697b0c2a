package io.weir.supervisor.node;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.weir.config.Endpoint;
import io.weir.config.SettingsLoader;
import io.weir.supervisor.Await;
import io.weir.supervisor.store.RunningStore;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A broker is told of a cluster that ends before it is taken in. */
@Timeout(120)
class JoinInVainTest {
    @TempDir
    private Path dir;

    @Test
    void shouldFoundAClusterWhenTheOneThatItFoundHasEnded() throws Exception {
        try (RunningStore store = RunningStore.start()) {
            foundAfter(store);
        }
    }

    private void foundAfter(RunningStore store) throws Exception {
        Map<String, String> environment = store.environment("b1", dir.resolve("b1"));
        SettingsLoader settings = SettingsLoader.load(Optional.empty(), environment);
        HttpServer other = above(settings.settings().cluster().management());
        try {
            String name = settings.settings().cluster().name();
            AtomicInteger asked = new AtomicInteger();
            // The first answer names a member of a cluster where nobody is any more; later ones know of no cluster.
            other.createContext("/bootstrap/seed-nodes", exchange -> {
                String self =
                        "akka://" + name + "@127.0.0.1:" + other.getAddress().getPort();
                String gone = "akka://" + name + "@127.0.0.1:1";
                String seeds = asked.incrementAndGet() > 1
                        ? ""
                        : "{\"node\":\"" + gone + "\",\"nodeUid\":1,\"roles\":[],\"status\":\"Up\"}";
                byte[] answer = ("{\"selfNode\":\"" + self + "\",\"seedNodes\":[" + seeds + "]}").getBytes(UTF_8);
                exchange.getResponseHeaders().add("Content-Type", "application/json");
                exchange.sendResponseHeaders(200, answer.length);
                exchange.getResponseBody().write(answer);
                exchange.close();
            });
            other.start();
            Path file = Files.writeString(
                    dir.resolve("b1.conf"),
                    "weir.cluster.join-timeout = 3s\nweir.cluster.discovery.contact-points = [\""
                            + settings.settings().cluster().management() + "\", \"127.0.0.1:"
                            + other.getAddress().getPort() + "\"]\n"
                            + "weir.cluster.discovery.required-contact-points = 2\n");
            environment.remove("WEIR_CLUSTER_DISCOVERY_CONTACT_POINTS");
            BrokerUnderTest broker = BrokerUnderTest.start(Optional.of(file), environment);

            Await.until("b1 is ready", () -> broker.get("/ready").statusCode() == 200);

            assertThat(asked.get()).isGreaterThan(1);
            broker.post("/stop");
            broker.awaitEnd();
        } finally {
            other.stop(0);
        }
    }

    /** Of several that find no cluster the one with the lowest address founds it, so that has to be b1. */
    private static HttpServer above(Endpoint management) throws IOException {
        int port = management.port();
        while (true) {
            try {
                return HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), ++port), 0);
            } catch (BindException e) {
                // Somebody else's.
            }
        }
    }
}

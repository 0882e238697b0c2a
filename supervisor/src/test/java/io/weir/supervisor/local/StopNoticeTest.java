package io.weir.supervisor.local;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.weir.supervisor.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whom it tells, and until when: brokers here are HTTP servers that answer what they are told to. */
@Timeout(60)
class StopNoticeTest {
    private final List<HttpServer> servers = new CopyOnWriteArrayList<>();
    private final List<String> asked = new CopyOnWriteArrayList<>();
    private final List<String> said = new CopyOnWriteArrayList<>();

    @AfterEach
    void stop() {
        servers.forEach(server -> server.stop(0));
    }

    @Test
    void shouldTellTheLivingUntilOneHasWrittenItDownWhenTheStoreIsAway() throws Exception {
        ClusterState state = clusterOf(3, "b1", "b2", "b3");
        serve(state, "b1", 503, 503, 200);
        serve(state, "b3", 503, 503, 503);

        new StopNotice(() -> state, Optional.of("the token"), said::add).give("b2", 7);

        Await.until("it is written down", () -> said.size() == 2);
        assertThat(said.get(0)).contains("nobody could write down yet that b2#7 has stopped");
        assertThat(said.get(1)).startsWith("b2#7 is written down as stopped after");
        assertThat(asked)
                .filteredOn(call -> call.startsWith("b1 "))
                .hasSize(3)
                .containsOnly("b1 POST /v1/brokers/b2/7/stopped Bearer the token");
        assertThat(asked).noneMatch(call -> call.startsWith("b2 "));
    }

    @Test
    void shouldNotWaitForABrokerThatStandsStill() throws Exception {
        ClusterState state = clusterOf(3, "b1", "b2", "b3");
        // Takes the connection, and never says a word.
        try (ServerSocket still = new ServerSocket(state.httpPort("b1"), 8, InetAddress.getLoopbackAddress())) {
            assertThat(still.isBound()).isTrue();
            serve(state, "b3", 200);

            new StopNotice(() -> state, Optional.empty(), said::add).give("b2", 1);

            Await.until("it is written down", () -> !said.isEmpty());
            assertThat(said).singleElement().asString().startsWith("b2#1 is written down as stopped after");
            assertThat(asked).containsExactly("b3 POST /v1/brokers/b2/1/stopped null");
        }
    }

    @Test
    void shouldSayThatItGivesUpWhenTheBrokersDoNotTakeItsWord() throws Exception {
        ClusterState state = clusterOf(2, "b1", "b2");
        serve(state, "b1", 401);

        new StopNotice(() -> state, Optional.empty(), said::add).give("b2", 1);

        Await.until("it has given up", () -> !said.isEmpty());
        assertThat(said).singleElement().asString().contains("HTTP status 401");
    }

    private void serve(ClusterState state, String broker, Integer... answers) throws IOException {
        ConcurrentLinkedQueue<Integer> left = new ConcurrentLinkedQueue<>(List.of(answers));
        HttpServer server =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), state.httpPort(broker)), 8);
        server.createContext("/", call -> {
            asked.add(broker + " " + call.getRequestMethod() + " " + call.getRequestURI() + " "
                    + call.getRequestHeaders().getFirst("Authorization"));
            call.sendResponseHeaders(left.poll(), -1);
            call.close();
        });
        server.start();
        servers.add(server);
    }

    /** All of them alive as far as processes go: they are this one. */
    private static ClusterState clusterOf(int brokers, String... ids) throws IOException {
        List<LocalProcess> processes = List.of(ids).stream()
                .map(id -> LocalProcess.of(id, ProcessHandle.current()))
                .toList();
        for (int base = 30_000; base < 32_000; base += 10 * brokers) {
            ClusterState state = new ClusterState(base, brokers, null, false, processes);
            if (IntStream.range(0, brokers)
                    .map(index -> state.httpPort(ClusterState.brokerId(index)))
                    .allMatch(StopNoticeTest::isFree)) {
                return state;
            }
        }
        throw new IOException("no free ports");
    }

    private static boolean isFree(int port) {
        try (ServerSocket probe = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return probe.isBound();
        } catch (IOException e) {
            return false;
        }
    }
}

package io.weir.supervisor.cli.topic;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Weir;
import io.weir.supervisor.node.BrokerStatus;
import io.weir.supervisor.placement.PlacementView;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** {@code weir placement} against a broker that gives the same answer every time. */
class PlacementCommandTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PlacementView.OfTopic ORDERS = new PlacementView.OfTopic(
            "orders",
            "FITTED",
            "srtm",
            3,
            "b1#1",
            "GROUPS_FOUND",
            1,
            10,
            50,
            500,
            0,
            0,
            0,
            List.of(new PlacementView.OfPart("b1", 50, 500, 500, 2, null, 1.5, 499, 1.25, 20, 30.5)),
            List.of(),
            1,
            List.of(
                    new PlacementView.OfGroup("north", false, 30, 300, 28, 30),
                    new PlacementView.OfGroup("found-1", true, 20, 200, 20, 20)),
            List.of("round 1: b1 fits"));

    private final StringWriter out = new StringWriter();
    private HttpServer broker;

    @BeforeEach
    void start() throws IOException {
        broker = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        String http = "127.0.0.1:" + broker.getAddress().getPort();
        answer(
                "/status",
                new BrokerStatus(
                        "b1",
                        "up",
                        1,
                        1,
                        "127.0.0.1:1",
                        http,
                        "",
                        0,
                        0,
                        0,
                        0,
                        "none",
                        null,
                        null,
                        List.of(),
                        List.of(new BrokerStatus.Known("b1", 1, 1, "127.0.0.1:1", http, true))));
        answer("/v1/placement/topics/orders", ORDERS);
        answer("/v1/placement", new PlacementView("srtm", "b1#1", 50, List.of(), List.of(ORDERS), null));
        broker.start();
    }

    @AfterEach
    void stop() {
        broker.stop(0);
    }

    private void answer(String path, Object with) throws IOException {
        byte[] body = JSON.writeValueAsBytes(with);
        broker.createContext(path, call -> {
            call.sendResponseHeaders(200, body.length);
            call.getResponseBody().write(body);
            call.close();
        });
    }

    private String weir(String... args) {
        CommandLine weir = Weir.commandLine();
        weir.setOut(new PrintWriter(out, true));
        String[] all = java.util.Arrays.copyOf(args, args.length + 2);
        all[args.length] = "--http";
        all[args.length + 1] = "127.0.0.1:" + broker.getAddress().getPort();
        assertThat(weir.execute(all)).isEqualTo(ExitCode.OK);
        return out.toString();
    }

    @Test
    void shouldShowFoundGroupsBesideToldOnes() {
        assertThat(weir("placement", "explain", "orders").lines())
                .anyMatch(line -> line.matches("GROUP +PUBLISHERS +RATE/S +TOGETHER +PLACED BY"))
                .anyMatch(line -> line.matches("north +told +30 +300 +28 +30"))
                .anyMatch(line -> line.matches("found-1 +found +20 +200 +20 +20"))
                .anyMatch(line -> line.contains("because: GROUPS_FOUND"));
    }

    @Test
    void shouldSayInTheListHowManyGroupsWereFound() {
        assertThat(weir("placement", "list").lines())
                .anyMatch(line -> line.startsWith("orders") && line.endsWith("1 groups found"));
    }

    @Test
    void shouldShowWhatMessagesTakeToConsumersAndSlowConsumersApart() {
        assertThat(weir("placement", "list").lines())
                .anyMatch(line -> line.endsWith("p99 1.5 ms, limit 1.25 ms, late 20/s, p99 30.5 ms"));
    }

    @Test
    void shouldGiveGroupsAsJson() throws IOException {
        JsonNode groups = JSON.readTree(weir("placement", "explain", "orders", "-o", "json"))
                .get("groups");
        assertThat(groups).hasSize(2);
        assertThat(groups.get(0).get("group").asText()).isEqualTo("north");
        assertThat(groups.get(0).get("found").asBoolean()).isFalse();
        assertThat(groups.get(1).get("found").asBoolean()).isTrue();
        assertThat(groups.get(1).get("placedBy").asInt()).isEqualTo(20);
    }
}

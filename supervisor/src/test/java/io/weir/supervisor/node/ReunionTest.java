package io.weir.supervisor.node;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import io.weir.config.value.BrokerId;
import io.weir.supervisor.node.NodeView.MemberView;
import io.weir.supervisor.store.BrokerRegistry.RegisteredBroker;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** {@code b3} is in its second life, and asks somebody in another cluster. */
class ReunionTest {
    private final Reunion reunion = new Reunion("b3");

    @Test
    void shouldMoveToTheLargerClusterAndNotToTheSmaller() {
        assertThat(reunion.isLargerWithoutUs(view("b3 2 up"), other("up", "b1 1 up", "b2 1 up")))
                .isTrue();
        assertThat(reunion.isLargerWithoutUs(view("b3 2 up", "b4 1 up"), other("up", "b1 1 up")))
                .isFalse();
    }

    @Test
    void shouldLetOnlyOneSideMoveWhenBothAreEquallyLarge() {
        NodeView ours = view("b3 2 up", "b4 1 up");
        BrokerStatus theirs = other("up", "b1 1 up", "b2 1 up");

        assertThat(reunion.isLargerWithoutUs(ours, theirs)).isTrue();
        assertThat(new Reunion("b1").isLargerWithoutUs(view("b1 2 up", "b2 1 up"), other("up", "b3 2 up", "b4 1 up")))
                .isFalse();
    }

    @Test
    void shouldCountOnlyMembersThatAreUp() {
        assertThat(reunion.isLargerWithoutUs(
                        view("b3 2 up", "b4 1 up"), other("up", "b1 1 up", "b2 1 unreachable", "b5 1 down")))
                .isFalse();
    }

    @Test
    void shouldStayWhenTheOtherClusterHasThisLifeButNotWhenItHasAnEarlierOne() {
        assertThat(reunion.isLargerWithoutUs(view("b3 2 up"), other("up", "b1 1 up", "b2 1 up", "b3 2 unreachable")))
                .isFalse();
        assertThat(reunion.isLargerWithoutUs(view("b3 2 up"), other("up", "b1 1 up", "b2 1 up", "b3 1 unreachable")))
                .isTrue();
    }

    @Test
    void shouldNotFollowABrokerThatIsNotUpItself() {
        assertThat(reunion.isLargerWithoutUs(view("b3 2 up"), other("joining", "b1 1 up", "b2 1 up")))
                .isFalse();
    }

    @Test
    void shouldMoveOnlyWhenItHasSeenTheLargerClusterThreeTimesInARow() throws IOException {
        AtomicReference<BrokerStatus> answer = new AtomicReference<>(other("up", "b1 1 up", "b2 1 up"));
        HttpServer b1 = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        b1.createContext("/status", exchange -> {
            byte[] body = new ObjectMapper().writeValueAsBytes(answer.get());
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        b1.start();
        try {
            List<RegisteredBroker> known = List.of(
                    registered("b1", b1.getAddress().getPort(), true),
                    registered("b2", 1, true),
                    registered("b3", 1, true));
            NodeView alone = view("b3 2 up");

            assertThat(reunion.shouldJoinAnother(alone, known)).isFalse();
            assertThat(reunion.shouldJoinAnother(alone, known)).isFalse();
            answer.set(other("up", "b1 1 up", "b2 1 up", "b3 2 up"));
            assertThat(reunion.shouldJoinAnother(alone, known))
                    .as("it has us: start counting anew")
                    .isFalse();
            answer.set(other("up", "b1 1 up", "b2 1 up"));
            assertThat(reunion.shouldJoinAnother(alone, known)).isFalse();
            assertThat(reunion.shouldJoinAnother(alone, known)).isFalse();
            assertThat(reunion.shouldJoinAnother(alone, known)).isTrue();
            assertThat(reunion.shouldJoinAnother(
                            alone, List.of(registered("b1", b1.getAddress().getPort(), false))))
                    .as("one that has stopped is not asked")
                    .isFalse();
        } finally {
            b1.stop(0);
        }
    }

    private static RegisteredBroker registered(String id, int httpPort, boolean running) {
        return new RegisteredBroker(
                new BrokerId(id), 1, "127.0.0.1:1", "127.0.0.1:" + httpPort, "127.0.0.1:1", "", 1, running);
    }

    private static NodeView view(String... members) {
        return new NodeView(2, "up", Optional.empty(), Optional.empty(), members(members), 1);
    }

    private static BrokerStatus other(String state, String... members) {
        return new BrokerStatus(
                "b1", state, 1, 1, "h:1", "h:2", "h:3", 0, 0, 0, 0, "none", null, null, members(members), List.of());
    }

    /** A member is written as {@code id incarnation state}. */
    private static List<MemberView> members(String... members) {
        return Arrays.stream(members)
                .map(member -> member.split(" "))
                .map(parts -> new MemberView(parts[0], Long.parseLong(parts[1]), "h:0", parts[2]))
                .toList();
    }
}

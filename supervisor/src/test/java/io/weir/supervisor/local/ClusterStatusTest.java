package io.weir.supervisor.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.local.ClusterStatus.BrokerLine;
import io.weir.supervisor.local.ClusterStatus.Expected;
import io.weir.supervisor.node.BrokerStatus;
import io.weir.supervisor.node.NodeView.MemberView;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class ClusterStatusTest {
    private static final List<Expected> THREE = List.of(
            new Expected("b1", 101, 0, "h:1", "h:11"),
            new Expected("b2", 102, 0, "h:2", "h:12"),
            new Expected("b3", 103, 0, "h:3", "h:13"));

    @Test
    void shouldBeAllUpWhenEveryBrokerSaysSo() {
        ClusterStatus status = merge(
                answer("b1", "up", "b1 up", "b2 up", "b3 up"),
                answer("b2", "up", "b1 up", "b2 up", "b3 up"),
                answer("b3", "up", "b1 up", "b2 up", "b3 up"));

        assertThat(states(status)).containsExactly("up", "up", "up");
        assertThat(status.allUp()).isTrue();
        assertThat(status.leader()).isEqualTo("leader-of-b1");
        assertThat(status.singletonHost()).isEqualTo("oldest-of-b1");
        assertThat(status.brokers().get(1))
                .isEqualTo(new BrokerLine("b2", "up", 1_002, 1, "h:2", "h:12", 5L, 6L, 7L, 0L));
    }

    @Test
    void shouldBeUnreachableWhenADeadBrokerIsNotNoticedYet() {
        ClusterStatus status =
                merge(answer("b1", "up", "b1 up", "b2 up", "b3 up"), answer("b2", "up", "b1 up", "b2 up", "b3 up"));

        assertThat(states(status)).containsExactly("up", "up", "unreachable");
        assertThat(status.allUp()).isFalse();
        // What is still known of it: where it was, and the life it was in.
        assertThat(status.brokers().get(2))
                .isEqualTo(new BrokerLine("b3", "unreachable", 103, 1, "h:3", "h:13", null, null, null, null));
    }

    @Test
    void shouldBeGoneOnlyWhenADeadBrokerIsNoMemberAnyMore() {
        assertThat(states(merge(
                        answer("b1", "up", "b1 up", "b2 up", "b3 down"),
                        answer("b2", "up", "b1 up", "b2 up", "b3 down"))))
                .containsExactly("up", "up", "unreachable");
        assertThat(states(merge(answer("b1", "up", "b1 up", "b2 up"), answer("b2", "up", "b1 up", "b2 up"))))
                .containsExactly("up", "up", "gone");
    }

    @Test
    void shouldBelieveTheMajorityWhenAMinoritySeesItOtherwise() {
        ClusterStatus status = merge(
                answer("b1", "up", "b1 up", "b2 unreachable", "b3 unreachable"),
                answer("b2", "up", "b1 unreachable", "b2 up", "b3 up"),
                answer("b3", "up", "b1 unreachable", "b2 up", "b3 up"));

        assertThat(states(status)).containsExactly("unreachable", "up", "up");
        assertThat(status.leader()).isEqualTo("leader-of-b2");
    }

    @Test
    void shouldNotBelieveABrokerThatIsNoMemberItself() {
        ClusterStatus status = merge(answer("b1", "down", "b1 up", "b2 up", "b3 up"), answer("b2", "up", "b2 up"));

        assertThat(states(status)).containsExactly("joining", "up", "gone");
        assertThat(status.leader()).isEqualTo("leader-of-b2");
    }

    @Test
    void shouldBeGoneWhenNobodyAnswers() {
        ClusterStatus status = merge();

        assertThat(states(status)).containsExactly("gone", "gone", "gone");
        assertThat(status.allUp()).isFalse();
        assertThat(status.leader()).isNull();
        assertThat(status.singletonHost()).isNull();
    }

    @Test
    void shouldBeJoiningWhenABrokerAnswersThatTheClusterHasNotTakenIn() {
        assertThat(states(merge(
                        answer("b1", "up", "b1 up", "b2 up"),
                        answer("b2", "up", "b1 up", "b2 up"),
                        answer("b3", "joining"))))
                .containsExactly("up", "up", "joining");
        assertThat(states(merge(
                        answer("b1", "up", "b1 up", "b2 up", "b3 joining"),
                        answer("b2", "up", "b1 up", "b2 up"),
                        answer("b3", "joining"))))
                .containsExactly("up", "up", "joining");
    }

    @Test
    void shouldBeJoiningWhenOnlyAnEarlierLifeOfTheBrokerIsAMember() {
        BrokerStatus restarted = status("b3", "down", 2, List.of());

        ClusterStatus status = merge(
                answer("b1", "up", "b1 up", "b2 up", "b3 up"),
                answer("b2", "up", "b1 up", "b2 up", "b3 up"),
                restarted);

        assertThat(states(status)).containsExactly("up", "up", "joining");
        assertThat(status.brokers().get(2).incarnation()).isEqualTo(2);
    }

    @Test
    void shouldBeLeavingAsSoonAsTheBrokerSaysSo() {
        assertThat(states(merge(
                        answer("b1", "up", "b1 up", "b2 up", "b3 up"),
                        answer("b2", "up", "b1 up", "b2 up", "b3 up"),
                        answer("b3", "leaving", "b1 up", "b2 up", "b3 up"))))
                .containsExactly("up", "up", "leaving");
    }

    @Test
    void shouldNotBeAllUpWhenThereIsNoBroker() {
        assertThat(ClusterStatus.merge(List.of(), Map.of()).allUp()).isFalse();
    }

    private static ClusterStatus merge(BrokerStatus... answers) {
        Map<String, BrokerStatus> byId = new TreeMap<>();
        Arrays.stream(answers).forEach(answer -> byId.put(answer.id(), answer));
        return ClusterStatus.merge(THREE, byId);
    }

    private static List<String> states(ClusterStatus status) {
        return status.brokers().stream().map(BrokerLine::state).toList();
    }

    /** A broker's answer in its first life; a member is written as {@code id state}. */
    private static BrokerStatus answer(String id, String state, String... members) {
        return status(
                id,
                state,
                1,
                Arrays.stream(members)
                        .map(member -> member.split(" "))
                        .map(parts -> new MemberView(parts[0], 1, "h:0", parts[1]))
                        .toList());
    }

    private static BrokerStatus status(String id, String state, long incarnation, List<MemberView> members) {
        return new BrokerStatus(
                id,
                state,
                incarnation,
                1_000 + Integer.parseInt(id.substring(1)),
                "h:0",
                "h:0",
                "h:0",
                5,
                6,
                7,
                0,
                "none",
                "leader-of-" + id,
                "oldest-of-" + id,
                members,
                List.of());
    }
}

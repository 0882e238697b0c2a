package io.weir.supervisor.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.node.NodeView.MemberView;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
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

    private static NodeView view(String... members) {
        return new NodeView(2, "up", Optional.empty(), Optional.empty(), members(members));
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

package io.weir.supervisor.node.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class HttpConnectionsTest {
    private final HttpConnections connections = new HttpConnections(4, 3);
    private final List<String> closed = new ArrayList<>();

    private Optional<HttpConnections.Connection> came(int address, String name, long nowNs) {
        try {
            return connections.came(
                    InetAddress.getByAddress(new byte[] {10, 0, 0, (byte) address}), () -> closed.add(name), nowNs);
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void shouldCloseTheLongestIdleOneOfAnAddressThatHasTooMany() {
        came(1, "a", 0);
        HttpConnections.Connection b = came(1, "b", 1).orElseThrow();
        came(1, "c", 2);
        assertThat(closed).isEmpty();
        came(1, "d", 3);
        assertThat(closed).containsExactly("a");
        b.begin();
        b.end(4);
        came(1, "e", 5);
        assertThat(closed).as("b was used since").containsExactly("a", "c");
        assertThat(connections.connections()).isEqualTo(3);
    }

    @Test
    void shouldCloseOneOfTheAddressWithTheMostIdleOnesWhenAllPlacesAreTaken() {
        came(1, "one", 0);
        came(2, "a", 1);
        came(2, "b", 2);
        came(2, "c", 3);
        assertThat(came(3, "newcomer", 4)).isPresent();
        assertThat(closed).containsExactly("a");
    }

    @Test
    void shouldRefuseOnlyWhenEveryOneIsBusy() {
        for (int i = 0; i < 3; i++) {
            came(1, "busy", 0).orElseThrow().begin();
        }
        assertThat(came(1, "newcomer", 1)).isEmpty();
        assertThat(came(2, "other", 1)).isPresent();
        assertThat(closed).isEmpty();
    }

    @Test
    void shouldCloseWhatIsIdleForLong() {
        came(1, "a", 0);
        HttpConnections.Connection b = came(2, "b", 0).orElseThrow();
        b.begin();
        came(1, "c", 10);
        assertThat(connections.closeIdleSince(9)).isEqualTo(1);
        assertThat(closed).containsExactly("a");
        b.end(20);
        connections.closeIdleSince(15);
        assertThat(closed).containsExactly("a", "c");
        connections.closeIdleSince(20);
        assertThat(closed).containsExactly("a", "c", "b");
        b.gone();
        assertThat(connections.connections()).isZero();
    }
}

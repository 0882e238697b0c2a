package io.weir.transport.gateway;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import org.junit.jupiter.api.Test;

class ConnectionTest {
    @Test
    void shouldThrowWithBothStatesWhenATransitionIsIllegal() throws Exception {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (GatewayLoop loop = new GatewayLoop(any, GatewaySettings.defaults(), System::nanoTime);
                SocketChannel channel = SocketChannel.open()) {
            Connection connection = new Connection(loop, channel, null, 0, 0);

            assertThatIllegalStateException()
                    .isThrownBy(() -> connection.upgrade(0))
                    .withMessage("a client's connection can't go from NEW to UPGRADING");
        }
    }
}

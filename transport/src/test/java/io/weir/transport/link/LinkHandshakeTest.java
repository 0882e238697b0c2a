package io.weir.transport.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.aeron.Image;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class LinkHandshakeTest {
    private static final Image ANY = null;
    private static final long OWN_SESSION = 10;
    private static final long PEERS_SESSION = 70;

    private final PeerAddress self = End.address("a", 1, Path.of("driver"), 1);
    private final PeerAddress peer = End.address("b", 3, Path.of("driver"), 2);
    private final LinkHandshake handshake = new LinkHandshake(self, peer, End.SMALL);

    private LinkHandshake.Verdict hear(long incarnation, long session, long heard) {
        return handshake.onHello(new LinkFrames.Hello(peer.id(), incarnation, self.id(), session, heard, 0), ANY, 0);
    }

    private void bringUp() {
        handshake.beginSession(OWN_SESSION, 0);
        hear(3, PEERS_SESSION, OWN_SESSION);
        handshake.connected();
        handshake.saidHello(handshake.hello(0), 0);
    }

    @Test
    void shouldConnectOnlyWhenThePeerNamesThisEndsSession() {
        handshake.beginSession(OWN_SESSION, 0);

        assertThat(hear(3, PEERS_SESSION, 0)).isEqualTo(LinkHandshake.Verdict.HEARD);
        assertThat(handshake.canConnect()).isFalse();
        assertThat(handshake.hello(0).heard()).isEqualTo(PEERS_SESSION);
        assertThat(hear(3, PEERS_SESSION, OWN_SESSION)).isEqualTo(LinkHandshake.Verdict.HEARD);
        assertThat(handshake.canConnect()).isTrue();
        assertThat(handshake.isAgreed()).isFalse();
        handshake.connected();
        handshake.saidHello(handshake.hello(0), 0);
        assertThat(handshake.isAgreed()).isTrue();
    }

    @Test
    void shouldFallWhenThePeerHasALaterSessionOrNoLongerHearsThisEnd() {
        bringUp();
        assertThat(hear(3, PEERS_SESSION + 1, OWN_SESSION)).isEqualTo(LinkHandshake.Verdict.FALLEN);
        handshake.lossReported();
        assertThat(handshake.isDown()).isTrue();

        bringUp();
        assertThat(hear(3, PEERS_SESSION, 0)).isEqualTo(LinkHandshake.Verdict.FALLEN);
        assertThat(handshake.isAgreed()).isFalse();
    }

    @Test
    void shouldDropHellosOfThePast() {
        bringUp();

        assertThat(hear(2, PEERS_SESSION + 1, OWN_SESSION)).isEqualTo(LinkHandshake.Verdict.DROPPED);
        assertThat(hear(3, PEERS_SESSION - 1, OWN_SESSION)).isEqualTo(LinkHandshake.Verdict.DROPPED);
        assertThat(handshake.isAgreed()).isTrue();
    }

    @Test
    void shouldFallWhenTheLifeThatItHearsIsOver() {
        bringUp();
        handshake.expectAtLeast(4);

        assertThat(handshake.hasFallen()).isTrue();
    }

    @Test
    void shouldThrowWithBothStatesWhenATransitionIsIllegal() {
        assertThatIllegalStateException()
                .isThrownBy(handshake::lossReported)
                .withMessage("the link to b can't go from DOWN to DOWN");
        bringUp();
        assertThatIllegalStateException()
                .isThrownBy(handshake::connected)
                .withMessage("the link to b can't go from UP to UP");
    }
}

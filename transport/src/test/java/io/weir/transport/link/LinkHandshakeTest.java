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
        return hear(incarnation, session, heard, 1);
    }

    private LinkHandshake.Verdict hear(long incarnation, long session, long heard, long imageNumber) {
        LinkFrames.Hello hello = new LinkFrames.Hello(peer.id(), incarnation, self.id(), session, heard, 0);
        return handshake.onHello(hello, ANY, imageNumber, 0);
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
    void shouldFallWhenThePeerHasAnotherSessionOrNoLongerHearsThisEnd() {
        bringUp();
        assertThat(hear(3, PEERS_SESSION + 1, OWN_SESSION)).isEqualTo(LinkHandshake.Verdict.FALLEN);
        handshake.lossReported();
        assertThat(handshake.isDown()).isTrue();

        bringUp();
        assertThat(hear(3, PEERS_SESSION, 0)).isEqualTo(LinkHandshake.Verdict.FALLEN);
        assertThat(handshake.isAgreed()).isFalse();
    }

    @Test
    void shouldDropHellosOfEarlierStreams() {
        bringUp();

        assertThat(hear(3, PEERS_SESSION + 1, OWN_SESSION, 0)).isEqualTo(LinkHandshake.Verdict.DROPPED);
        assertThat(handshake.isAgreed()).isTrue();
    }

    @Test
    void shouldHearNoLifeButTheOneThatTheStoreNames() {
        bringUp();

        for (long incarnation : new long[] {0, 2, 4, Long.MAX_VALUE}) {
            assertThat(hear(incarnation, PEERS_SESSION + 1, OWN_SESSION, 2))
                    .as("incarnation %d", incarnation)
                    .isEqualTo(LinkHandshake.Verdict.DROPPED);
        }
        assertThat(handshake.isAgreed()).isTrue();
        assertThat(hear(3, PEERS_SESSION, OWN_SESSION)).isEqualTo(LinkHandshake.Verdict.HEARD);
    }

    @Test
    void shouldRefuseAPeerThatNeedsWhatThisEndLacksAndIgnoreWhatItOnlyHas() {
        handshake.beginSession(OWN_SESSION, 0);
        int unknown = 0x8000;

        assertThat(handshake.onHello(withFeatures(unknown, unknown), ANY, 1, 0))
                .isEqualTo(LinkHandshake.Verdict.REFUSED);
        assertThat(handshake.onHello(withFeatures(unknown, 0), ANY, 1, 0)).isEqualTo(LinkHandshake.Verdict.HEARD);
    }

    private LinkFrames.Hello withFeatures(int features, int needs) {
        return new LinkFrames.Hello(peer.id(), 3, self.id(), PEERS_SESSION, OWN_SESSION, 0, features, needs);
    }

    @Test
    void shouldFallWhenTheLifeThatItHearsIsOver() {
        bringUp();
        handshake.expect(4);

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

package io.weir.transport.gateway;

import io.weir.transport.wire.DeflateWire;
import io.weir.transport.wire.SnappyWire;
import io.weir.transport.wire.TlsWire;
import io.weir.transport.wire.Wire;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;

/**
 * What a client and this broker agree on: IDENTIFY, the layers that it asks for, and AUTH.
 *
 * <p>Layers are put between the stream and its socket one by one, as {@link Wire}s, each when the answer before it has
 * gone: the answer to IDENTIFY in plain, OK over TLS, OK over the compression. Commands wait until all layers are
 * there.
 *
 * <table>
 *   <caption>Stages</caption>
 *   <tr><th>stage</th><th>what leads on</th></tr>
 *   <tr><td>unidentified</td><td>IDENTIFY is answered: no layer → agreed, else → identified</td></tr>
 *   <tr><td>identified</td><td>the answer has gone: TLS → handshaking, else a compression → compressed</td></tr>
 *   <tr><td>handshaking</td><td>TLS is established, OK is answered → secured</td></tr>
 *   <tr><td>secured</td><td>the OK has gone: a compression, OK is answered → compressed, else → agreed</td></tr>
 *   <tr><td>compressed</td><td>the OK has gone → agreed</td></tr>
 *   <tr><td>agreed</td><td>the next IDENTIFY, as nsqd takes it before SUB: as unidentified; layers are there to stay</td></tr>
 * </table>
 */
final class Negotiation {
    private enum Stage {
        UNIDENTIFIED,
        IDENTIFIED,
        HANDSHAKING,
        SECURED,
        COMPRESSED,
        AGREED;

        private Set<Stage> next() {
            return switch (this) {
                case UNIDENTIFIED -> EnumSet.of(IDENTIFIED, AGREED);
                case IDENTIFIED -> EnumSet.of(HANDSHAKING, COMPRESSED);
                case HANDSHAKING -> EnumSet.of(SECURED);
                case SECURED -> EnumSet.of(COMPRESSED, AGREED);
                case COMPRESSED -> EnumSet.of(AGREED);
                case AGREED -> EnumSet.of(IDENTIFIED, AGREED);
            };
        }
    }

    private final Connection connection;
    private final GatewayLoop loop;
    private final GatewaySettings settings;
    private final ClientTerms terms;
    private final CommandDecoder decoder;
    private final ClientStream stream;
    private Stage stage = Stage.UNIDENTIFIED;
    private Identity identity;
    /** Null without AUTH. */
    private AccessRights.Grant grant;
    /** The layer that encrypts; null if none does. */
    private TlsWire tls;
    /** Whether the stream has layers, or is about to; it gets them once. */
    private boolean layered;

    Negotiation(Connection connection, GatewayLoop loop, CommandDecoder decoder, ClientStream stream) {
        this.connection = connection;
        this.loop = loop;
        this.decoder = decoder;
        this.stream = stream;
        settings = loop.settings();
        terms = loop.terms();
        identity = Identity.unknown(settings);
    }

    Identity identity() {
        return identity;
    }

    /** What the client showed a secret for; null without AUTH. */
    AccessRights.Grant grant() {
        return grant;
    }

    private void moveTo(Stage next) {
        if (!stage.next().contains(next)) {
            throw new IllegalStateException("a negotiation can't go from " + stage + " to " + next);
        }
        stage = next;
    }

    void onIdentify(long nowNs) {
        if (connection.consumes()) {
            connection.failInThisState(Verb.IDENTIFY);
            return;
        }
        Identity said;
        try {
            said = Identity.parse(body(), settings, terms);
        } catch (Identity.Refused e) {
            connection.fail(e.answer());
            return;
        }
        if (layered && said.upgrades()) {
            connection.fail("E_IDENTIFY_FAILED IDENTIFY failed: this connection has its TLS and compression already");
            return;
        }
        identity = layered ? said.withLayersOf(identity) : said;
        layered |= said.upgrades();
        moveTo(said.upgrades() ? Stage.IDENTIFIED : Stage.AGREED);
        connection.identified(identity);
        connection.answer(
                said.negotiates()
                        ? said.answer(
                                        settings,
                                        terms,
                                        GatewayLoop.VERSION,
                                        loop.brokers().self())
                                .getBytes(StandardCharsets.UTF_8)
                        : Frames.OK);
        if (stage == Stage.IDENTIFIED) {
            connection.upgrade(nowNs);
        }
    }

    private byte[] body() {
        byte[] body = new byte[decoder.bodyLength()];
        stream.in().get(decoder.bodyAt(), body);
        return body;
    }

    /** Goes one stage on; false if it has to wait for the client, or has failed. */
    boolean advance(long nowNs) {
        if (stage == Stage.HANDSHAKING) {
            if (!tls.established()) {
                return false;
            }
            moveTo(Stage.SECURED);
            connection.answer(Frames.OK);
        }
        stream.flush(nowNs);
        if (stream.hasUnsent()) {
            return false;
        }
        try {
            if (stage == Stage.IDENTIFIED && identity.tls()) {
                secure();
            } else if (stage != Stage.COMPRESSED && (identity.snappy() || identity.deflateLevel() > 0)) {
                compress();
            } else {
                moveTo(Stage.AGREED);
                connection.upgraded();
            }
        } catch (IOException e) {
            connection.fail("E_INVALID " + e.getMessage() + ": this broker's clients take all that they may");
            return false;
        }
        return true;
    }

    private void secure() throws IOException {
        tls = TlsWire.accept(
                stream.wire(),
                terms.tls().orElseThrow().engine(),
                stream.purse(),
                stream.takeIn(),
                task -> loop.workElsewhere(connection, task));
        stream.layer(tls);
        moveTo(Stage.HANDSHAKING);
        connection.readOn();
    }

    private void compress() throws IOException {
        Wire below = stream.wire();
        if (identity.snappy()) {
            stream.layer(new SnappyWire(below, loop.snappy(), stream.purse(), stream.takeIn()));
        } else {
            if (!stream.purse().reserve(DeflateWire.NATIVE_BYTES)) {
                throw new IOException("no memory left for deflate");
            }
            stream.layer(new DeflateWire(below, identity.deflateLevel(), stream.purse(), stream.takeIn()));
        }
        moveTo(Stage.COMPRESSED);
        connection.answer(Frames.OK);
        connection.readOn();
    }

    /** Whether the next stage depends on bytes of the client. */
    boolean wantsBytes() {
        return tls != null && !tls.established() && !tls.busy();
    }

    /** Whether another thread has TLS's engine: nothing moves either way. */
    boolean isBusy() {
        return tls != null && tls.busy();
    }

    /** Whether nothing can be read before what waits to be sent is gone. */
    boolean speaksFirst() {
        return tls != null && tls.speaksFirst();
    }

    /** Another thread has done what the handshake needed. */
    void workDone() {
        tls.workDone();
    }

    boolean isHandshaking() {
        return tls != null && !tls.established();
    }

    /** Whether the client does without the TLS that this broker asks for. */
    boolean lacksTls() {
        return terms.tlsRequired() && tls == null;
    }

    /** Whether the client has not shown yet what the broker asks of it. */
    boolean isWithStranger() {
        boolean inTheOpen = terms.tlsRequired() && (tls == null || !tls.established());
        return inTheOpen || terms.rights().required() && grant == null;
    }

    /** The error for a client that took too long to show it. */
    String whatIsMissing() {
        return lacksTls()
                ? "E_INVALID TLS is required, and was not asked for in time"
                : "E_AUTH_FIRST AUTH required, and did not come in time";
    }

    boolean usesTls() {
        return tls != null;
    }

    String tlsVersion() {
        return tls != null && tls.established() ? tls.version() : "";
    }

    String cipherSuite() {
        return tls != null && tls.established() ? tls.cipherSuite() : "";
    }

    void onAuth() {
        if (connection.consumes()) {
            connection.failInThisState(Verb.AUTH);
        } else if (grant != null) {
            connection.fail("E_INVALID AUTH already set");
        } else if (!terms.rights().enabled()) {
            connection.fail("E_AUTH_DISABLED AUTH disabled");
        } else {
            byte[] secret = body();
            Optional<AccessRights.Grant> found = terms.rights().grant(secret);
            Arrays.fill(secret, (byte) 0);
            if (found.isEmpty()) {
                loop.authFailed(connection);
                connection.fail("E_AUTH_FAILED AUTH failed");
            } else if (found.get().permissions() == 0) {
                connection.fail("E_UNAUTHORIZED AUTH no authorizations found");
            } else {
                grant = found.get();
                // The name was checked when the settings were read: nothing in it needs escaping.
                connection.answer(("{\"identity\":\"" + grant.name() + "\",\"identity_url\":\"\",\"permission_count\":"
                                + grant.permissions() + "}")
                        .getBytes(StandardCharsets.UTF_8));
                connection.vouchIfKnown();
            }
        }
    }

    boolean mayPublish(ByteBuffer in, int topicAt, int topicLength) {
        return grant == null ? !terms.rights().required() : grant.mayPublish(in, topicAt, topicLength);
    }

    boolean maySubscribe(String topic, String channel) {
        return grant == null ? !terms.rights().required() : grant.maySubscribe(topic, channel);
    }

    /**
     * The error for a client that may not do this, in nsqd's words.
     *
     * @param channel empty for a publisher
     */
    String refusal(Verb verb, String topic, String channel) {
        return grant == null
                ? "E_AUTH_FIRST AUTH required before " + verb
                : "E_UNAUTHORIZED AUTH failed for " + verb + " on \"" + topic + "\" \"" + channel + "\"";
    }

    /** The token by which the client authenticated itself. */
    Optional<String> token() {
        return Optional.ofNullable(grant).map(AccessRights.Grant::name);
    }
}

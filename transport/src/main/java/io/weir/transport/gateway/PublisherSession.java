package io.weir.transport.gateway;

import io.weir.config.value.BrokerId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A client as a publisher: PUB, MPUB and DPUB, and their answers in the order of the commands.
 *
 * <p>A publication that waits for its token leaves its answer open. Only publications that are on their way to a home
 * at another broker may be followed by further ones before that, up to {@link OpenPublications#MOST}.
 *
 * <p>What a limit refuses was not published, be it refused at once (police) or after the longest wait (shape):
 * {@code E_PUB_FAILED PUB refused: …} (MPUB, DPUB), with "retry after N ms" where that is known. The connection stays
 * open, so that a client which reads errors can come again. After any other error it ends.
 */
final class PublisherSession implements Publisher {
    private final Connection connection;
    private final GatewayLoop loop;
    private final MessagePort port;
    private final long maxDelayNs;
    private final CommandDecoder decoder;
    private final ClientStream stream;
    private final Negotiation negotiation;
    private final OpenPublications open = new OpenPublications();
    private long id;
    /** Null for a client that does not want to know. */
    private HomeNotices homes;

    /** The broker that the open publications are on their way to; null if they are not. */
    private BrokerId forwardedTo;

    /** What ends the connection once the open publications are answered; null if nothing does. */
    private String failure;

    private long published;

    PublisherSession(
            Connection connection,
            GatewayLoop loop,
            CommandDecoder decoder,
            ClientStream stream,
            Negotiation negotiation) {
        this.connection = connection;
        this.loop = loop;
        this.decoder = decoder;
        this.stream = stream;
        this.negotiation = negotiation;
        port = loop.port();
        maxDelayNs = loop.settings().maxDelayNs();
        id = loop.nextPublisherId();
    }

    /** The client has said who it is. */
    void identified(Identity identity) {
        id = identity.publisherId(id);
        homes = identity.wantsHomes() ? new HomeNotices() : null;
    }

    /** False, as of the other verbs, if it has to wait for an answer that is open. */
    boolean onPublish(long nowNs) {
        return publish(begin(Verb.PUB).body(decoder.bodyAt(), decoder.bodyLength()), nowNs);
    }

    boolean onPublishBatch(long nowNs) {
        return publish(begin(Verb.MPUB).batch(decoder.bodyAt(), decoder.bodyLength(), decoder.messages()), nowNs);
    }

    boolean onPublishDeferred(long nowNs) {
        long mostMs = TimeUnit.NANOSECONDS.toMillis(maxDelayNs);
        if (decoder.number() > mostMs) {
            connection.fail("E_INVALID DPUB timeout " + decoder.number() + " out of range 0-" + mostMs);
            return true;
        }
        return publish(
                begin(Verb.DPUB)
                        .deferNs(TimeUnit.MILLISECONDS.toNanos(decoder.number()))
                        .body(decoder.bodyAt(), decoder.bodyLength()),
                nowNs);
    }

    private PublishRequest begin(Verb verb) {
        return loop.request()
                .begin(this, open.add(verb, decoder.messages()), stream.in(), stream.arrivedNs())
                .topic(decoder.parameterAt(0), decoder.parameterLength(0))
                .follows(forwardedTo);
    }

    private boolean publish(PublishRequest request, long nowNs) {
        if (port.publish(request, nowNs)) {
            return true;
        }
        open.removeLast();
        return false;
    }

    /** Fails if it may not; before its body is there, and again when it is. */
    boolean mayPublish(Verb verb) {
        if (negotiation.mayPublish(stream.in(), decoder.parameterAt(0), decoder.parameterLength(0))) {
            return true;
        }
        connection.fail(negotiation.refusal(verb, decoder.parameter(stream.in(), 0), ""));
        return false;
    }

    /** Whether a command may be carried out though publications before it are not answered. */
    boolean mayFollow(Verb verb) {
        return !verb.answered || open.isEmpty() || verb.publishes && forwardedTo != null && !open.isFull();
    }

    boolean isIdle() {
        return open.isEmpty();
    }

    boolean hasAnswer() {
        return open.hasAnswer();
    }

    boolean isFailing() {
        return failure != null;
    }

    /** Ends the connection with this error, once the open publications are answered. */
    void failInTurn(String error) {
        failure = failure == null ? error : failure;
    }

    /** Answers publications in their order, as far as they have outcomes and there is room. */
    void answer() {
        while (connection.isOpen() && open.hasAnswer() && stream.makeRoomForAnswers(loop.nowNs())) {
            String error = open.error();
            boolean fatal = open.isFatal();
            open.removeFirst();
            if (error == null) {
                stream.putOk();
            } else {
                connection.complain(error);
                if (fatal) {
                    connection.end();
                }
            }
        }
        if (open.isEmpty()) {
            forwardedTo = null;
            if (failure != null && connection.isOpen()) {
                connection.complain(failure);
                connection.end();
            }
        }
    }

    /** Messages that were accepted. */
    long published() {
        return published;
    }

    @Override
    public long id() {
        return id;
    }

    @Override
    public boolean named() {
        return !negotiation.identity().publisher().isEmpty();
    }

    @Override
    public String group() {
        return negotiation.identity().group();
    }

    @Override
    public AccessRights.Grant grant() {
        return negotiation.grant();
    }

    @Override
    public double expectedRate() {
        return negotiation.identity().expectedRate();
    }

    @Override
    public void forwarded(long ticket, BrokerId home) {
        forwardedTo = home;
    }

    @Override
    public void accepted(long ticket) {
        published += open.messages(ticket);
        open.accepted(ticket);
        outcomeCame();
    }

    @Override
    public void throttled(long ticket, long retryAfterNs) {
        heldUpTooLong(
                ticket,
                "topic is over its limit, "
                        + (retryAfterNs == Duty.NO_DEADLINE
                                ? "more at once than its burst, or it has no supply here now"
                                : "retry after " + (TimeUnit.NANOSECONDS.toMillis(retryAfterNs) + 1) + " ms"));
    }

    @Override
    public void heldUpTooLong(long ticket, String reason) {
        open.refused(ticket, error(ticket, "refused", reason));
        outcomeCame();
    }

    @Override
    public void failed(long ticket, String reason) {
        open.failed(ticket, error(ticket, "failed", reason));
        outcomeCame();
    }

    @Override
    public void mayHavePassed(long ticket, String reason) {
        open.failed(ticket, error(ticket, "unknown", reason));
        outcomeCame();
    }

    private String error(long ticket, String what, String reason) {
        Verb verb = open.verb(ticket);
        return "E_" + verb + "_FAILED " + verb + " " + what + ": " + reason;
    }

    private void outcomeCame() {
        if (connection.isOpen()) {
            answer();
            connection.executeSoon();
        }
    }

    @Override
    public void belongsTo(BrokerId home, ByteBuffer name, int topicAt, int topicLength) {
        if (homes == null || home == null && homes.isEmpty() || !stream.hasRoomForAnswers()) {
            return;
        }
        BrokerId broker = home == null ? loop.self() : home;
        if (broker == null || !homes.isNews(name, topicAt, topicLength, broker, home == null)) {
            return;
        }
        Optional<String> tcp = loop.brokers().tcpOf(broker);
        if (tcp.isPresent()) {
            homes.remember(name, topicAt, topicLength, broker);
            // Names of topics and brokers, and addresses, hold nothing that needs escaping.
            stream.put(
                    Frames.HOME,
                    ("{\"topic\":\"" + CommandDecoder.text(name, topicAt, topicLength) + "\",\"broker\":\"" + broker
                                    + "\",\"tcp\":\"" + tcp.get() + "\"}")
                            .getBytes(StandardCharsets.US_ASCII));
        }
    }
}

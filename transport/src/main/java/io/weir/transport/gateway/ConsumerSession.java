package io.weir.transport.gateway;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * A client as a consumer of one channel: SUB, RDY, FIN, REQ, TOUCH and CLS, and the messages that it is sent.
 *
 * <p>A consumer that asked for a sample gets each message with that chance; the others are finished in its name, as if
 * it had had them.
 */
final class ConsumerSession implements Subscriber {
    /** {@link #nsqd} is nsqd's number for it, which statistics show. */
    private enum State {
        NOT_SUBSCRIBED(0),
        SUBSCRIBED(3),
        /** After CLS: it gets nothing more, and acknowledges what it holds. */
        CLOSING(4);

        private final int nsqd;

        State(int nsqd) {
            this.nsqd = nsqd;
        }
    }

    private static final long[] NONE = {};

    private final Connection connection;
    private final GatewayLoop loop;
    private final GatewaySettings settings;
    private final MessagePort port;
    private final CommandDecoder decoder;
    private final ClientStream stream;
    private final Negotiation negotiation;
    private State state = State.NOT_SUBSCRIBED;
    private String topic;
    private String channel;
    /** Null if the broker had no room for the channel, or when the channel is gone. The connection ends then. */
    private Subscription subscription;

    private int readyCount;
    /** A message found no room: the channel waits to be told that there is some. */
    private boolean wantsRoom;

    /**
     * What has been delivered here only to be finished: it was not in the sample. Its bound is the consumer's credit.
     */
    private long[] skipped = NONE;

    private int skippedCount;

    private long delivered;
    private long finished;
    private long requeued;

    ConsumerSession(
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
        settings = loop.settings();
        port = loop.port();
    }

    boolean isSubscribed() {
        return state != State.NOT_SUBSCRIBED;
    }

    void onSubscribe(long nowNs) {
        if (isSubscribed()) {
            connection.failInThisState(Verb.SUB);
            return;
        }
        if (negotiation.identity().heartbeatNs() == 0) {
            connection.fail("E_INVALID cannot SUB with heartbeats disabled");
            return;
        }
        topic = decoder.parameter(stream.in(), 0);
        channel = decoder.parameter(stream.in(), 1);
        if (!negotiation.maySubscribe(topic, channel)) {
            connection.fail(negotiation.refusal(Verb.SUB, topic, channel));
            return;
        }
        state = State.SUBSCRIBED;
        subscription =
                port.subscribe(this, topic, channel, negotiation.identity().messageTimeoutNs(), nowNs);
        if (subscription == null) {
            connection.fail("E_SUB_FAILED SUB failed: this broker has no room for another topic or channel");
            return;
        }
        connection.answer(Frames.OK);
    }

    void onReady(long nowNs) {
        if (!isSubscribed()) {
            connection.failInThisState(Verb.RDY);
        } else if (decoder.number() > settings.maxReady()) {
            connection.fail("E_INVALID RDY count " + decoder.number() + " out of range 0-" + settings.maxReady());
        } else if (state == State.SUBSCRIBED && subscription != null) {
            readyCount = (int) decoder.number();
            subscription.ready(readyCount, nowNs);
        }
    }

    /** False, as of REQ and TOUCH, if its error has to wait for an answer that is open. */
    boolean onFinish(long nowNs) {
        if (!isSubscribed()) {
            connection.failInThisState(Verb.FIN);
            return true;
        }
        if (mayHold() && subscription.finish(decoder.id(), nowNs)) {
            finished++;
            return true;
        }
        return connection.notInFlight(Verb.FIN);
    }

    boolean onRequeue(long nowNs) {
        if (!isSubscribed()) {
            connection.failInThisState(Verb.REQ);
            return true;
        }
        long delayNs = decoder.number() > TimeUnit.NANOSECONDS.toMillis(settings.maxDelayNs())
                ? settings.maxDelayNs()
                : TimeUnit.MILLISECONDS.toNanos(decoder.number());
        if (mayHold() && subscription.requeue(decoder.id(), delayNs, nowNs)) {
            requeued++;
            return true;
        }
        return connection.notInFlight(Verb.REQ);
    }

    boolean onTouch(long nowNs) {
        if (!isSubscribed()) {
            connection.failInThisState(Verb.TOUCH);
            return true;
        }
        return mayHold() && subscription.touch(decoder.id(), nowNs) || connection.notInFlight(Verb.TOUCH);
    }

    /** Whether the command names a message that could be with this consumer. */
    private boolean mayHold() {
        return subscription != null && decoder.namesMessage();
    }

    void onClose(long nowNs) {
        if (!isSubscribed()) {
            connection.failInThisState(Verb.CLS);
            return;
        }
        state = State.CLOSING;
        readyCount = 0;
        if (subscription != null) {
            subscription.ready(0, nowNs);
        }
        connection.answer(Frames.CLOSE_WAIT);
    }

    @Override
    public boolean deliver(long timestampNs, int attempts, long id, ByteBuffer body, int bodyAt, int bodyLength) {
        if (!connection.isOpen()) {
            wantsRoom = true;
            return false;
        }
        int sampleRate = negotiation.identity().sampleRate();
        if (sampleRate > 0 && ThreadLocalRandom.current().nextInt(100) >= sampleRate) {
            skip(id);
            return true;
        }
        if (!stream.putMessage(timestampNs, attempts, id, body, bodyAt, bodyLength)) {
            wantsRoom = true;
            return false;
        }
        delivered++;
        return true;
    }

    @Override
    public AccessRights.Grant grant() {
        return negotiation.grant();
    }

    @Override
    public void gone(String reason) {
        subscription = null;
        connection.end();
    }

    /** The out buffer has room again. */
    void onRoom(long nowNs) {
        if (wantsRoom && subscription != null) {
            wantsRoom = false;
            subscription.writable(nowNs);
        }
    }

    /** Finishes it later, because the channel that delivers is in the midst of its work. */
    private void skip(long id) {
        if (skippedCount == skipped.length) {
            skipped = Arrays.copyOf(skipped, Math.max(16, 2 * skippedCount));
        }
        skipped[skippedCount++] = id;
        loop.resume(connection);
    }

    /** Finishes what was skipped before this call. That brings others, which have their turn later. */
    void finishSkipped(long nowNs) {
        int count = skippedCount;
        if (count == 0) {
            return;
        }
        for (int i = 0; i < count && subscription != null; i++) {
            subscription.finish(skipped[i], nowNs);
        }
        skippedCount -= count;
        System.arraycopy(skipped, count, skipped, 0, skippedCount);
    }

    /** The client has been quiet for long. */
    void shrink() {
        skipped = skippedCount == 0 ? NONE : skipped;
    }

    void close(long nowNs) {
        if (subscription != null) {
            subscription.close(nowNs);
            subscription = null;
        }
    }

    int nsqdState() {
        return state.nsqd;
    }

    /** Empty for a client that does not consume. */
    Optional<ClientStats.Subscribed> subscribed() {
        return isSubscribed() ? Optional.of(new ClientStats.Subscribed(topic, channel)) : Optional.empty();
    }

    int readyCount() {
        return readyCount;
    }

    int inFlight() {
        return subscription == null ? 0 : subscription.inFlight();
    }

    long delivered() {
        return delivered;
    }

    long finished() {
        return finished;
    }

    long requeued() {
        return requeued;
    }
}

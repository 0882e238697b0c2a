package io.weir.transport.gateway;

import io.weir.config.value.BrokerId;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What is to be published, as places in its caller's buffer, which are valid during the call: whoever wants to keep
 * something copies it. Its owner fills it again and again, so that a publication allocates nothing.
 *
 * <p>The body is one message's, or a batch: each message after its length (four bytes, big endian), all of them
 * checked. A context is that of every message.
 */
public final class PublishRequest {
    private static final VarHandle BIG_ENDIAN_INT =
            MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);

    private Publisher publisher;
    private long ticket;
    private ByteBuffer in;
    private long arrivalNs;
    private int topicAt;
    private int topicLength;
    private int contextAt;
    private int contextLength;
    private int bodyAt;
    private int bodyLength;
    private int messages;
    private long deferNs;
    private BrokerId follows;

    /**
     * Begins anew, with neither context nor delay.
     *
     * @param newTicket names this publication to its publisher
     * @param newArrivalNs when it came to the cluster, by this broker's clock: now, or before if it came to another
     *     broker
     */
    public PublishRequest begin(Publisher newPublisher, long newTicket, ByteBuffer newIn, long newArrivalNs) {
        publisher = newPublisher;
        ticket = newTicket;
        in = newIn;
        arrivalNs = newArrivalNs;
        contextAt = 0;
        contextLength = 0;
        deferNs = 0;
        follows = null;
        return this;
    }

    public PublishRequest topic(int at, int length) {
        topicAt = at;
        topicLength = length;
        return this;
    }

    public PublishRequest context(int at, int length) {
        contextAt = at;
        contextLength = length;
        return this;
    }

    /** One message. */
    public PublishRequest body(int at, int length) {
        return batch(at, length, 0);
    }

    /** So many messages with one outcome. */
    public PublishRequest batch(int at, int length, int newMessages) {
        bodyAt = at;
        bodyLength = length;
        messages = newMessages;
        return this;
    }

    /** How long from now consumers do not get the message. */
    public PublishRequest deferNs(long newDeferNs) {
        deferNs = newDeferNs;
        return this;
    }

    /** Earlier ones of its publisher are on their way to that home, and must not be overtaken; null if none is. */
    public PublishRequest follows(BrokerId home) {
        follows = home;
        return this;
    }

    public Publisher publisher() {
        return publisher;
    }

    public long ticket() {
        return ticket;
    }

    public ByteBuffer in() {
        return in;
    }

    public long arrivalNs() {
        return arrivalNs;
    }

    public int topicAt() {
        return topicAt;
    }

    public int topicLength() {
        return topicLength;
    }

    public int contextAt() {
        return contextAt;
    }

    public int contextLength() {
        return contextLength;
    }

    public int bodyAt() {
        return bodyAt;
    }

    public int bodyLength() {
        return bodyLength;
    }

    /** Of a batch; 0 for one message. */
    public int messages() {
        return messages;
    }

    public long deferNs() {
        return deferNs;
    }

    public BrokerId follows() {
        return follows;
    }

    /** The length of the message of a batch whose length stands at {@code at}, whichever byte order the buffer has. */
    public int lengthAt(int at) {
        return (int) BIG_ENDIAN_INT.get(in, at);
    }
}

package io.weir.transport.client;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import io.weir.config.Endpoint;
import io.weir.transport.wire.Buffers;
import io.weir.transport.wire.SocketWire;
import io.weir.transport.wire.TlsWire;
import io.weir.transport.wire.Wire;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;

/**
 * One connection to a broker, from the dial to the end. Everything happens on the client's loop.
 *
 * <pre>
 * CONNECTING → IDENTIFYING → [SECURING →] [AUTHENTICATING →] OPEN → CLOSED
 * </pre>
 *
 * Frames from the broker: {@code int32 size | int32 type | content}; types 0 response, 1 error, 2 message, 3 where a
 * topic is at home.
 */
final class BrokerConnection {
    private static final int FIRST_BYTES = 64 * 1024;
    /** A message's frame has a head of 30 bytes; answers are short. */
    private static final int FRAME_ROOM = 64 * 1024;

    /** Far more than TLS needs: a few records of 16 KiB and their pool. */
    private static final int MAX_TLS_BYTES = 4 << 20;

    private static final int MESSAGE_HEAD_BYTES = 26;
    private static final int ID_AT = 10;
    private static final int ID_LENGTH = 16;
    private static final byte[] NOP = ascii("NOP\n");
    private static final byte[] OK = ascii("OK");
    private static final byte[] HEARTBEAT = ascii("_heartbeat_");
    private static final byte[] MPUB = ascii("MPUB ");
    private static final byte[] PUB = ascii("PUB ");
    private static final JsonFactory JSON = new JsonFactory();

    private static final int RESPONSE = 0;
    private static final int ERROR = 1;
    private static final int MESSAGE = 2;
    private static final int HOME = 3;

    /** Is told what happens. All calls come from the loop, none after {@link #closed}. */
    interface Owner {
        void opened(BrokerConnection connection, long nowNs);

        /** The answer to the oldest command that has none yet. */
        void answered(BrokerConnection connection, boolean ok, long nowNs);

        void failed(BrokerConnection connection, String error, long nowNs);

        void delivered(BrokerConnection connection, long timestampNs, int attempts, String id, byte[] body, long nowNs);

        void homeTold(BrokerConnection connection, String topic, Endpoint home, long nowNs);

        void closed(BrokerConnection connection, String reason, long nowNs);
    }

    private enum State {
        CONNECTING,
        IDENTIFYING,
        SECURING,
        AUTHENTICATING,
        OPEN,
        CLOSED
    }

    private final ClientSettings settings;
    private final Endpoint endpoint;
    private final String publisher;
    private final Duration messageTimeout;
    private final Owner owner;
    private final SocketChannel channel;
    private final long heartbeatNs;
    private final int maxFrameBytes;
    private SelectionKey key;
    /** Changed by the loop alone; consumers' handlers look at it. */
    private volatile State state = State.CONNECTING;

    private Wire wire;
    private ByteBuffer in = ByteBuffer.allocate(FIRST_BYTES);
    private ByteBuffer out = ByteBuffer.allocate(FIRST_BYTES);
    private boolean authRequired;
    private int maxReady = Integer.MAX_VALUE;
    private long messageTimeoutNs;
    private final long dialledNs;
    private long heardNs;

    BrokerConnection(
            ClientSettings settings,
            Endpoint endpoint,
            InetSocketAddress address,
            String publisher,
            Duration messageTimeout,
            Owner owner,
            Selector selector,
            long nowNs)
            throws IOException {
        this.settings = settings;
        this.endpoint = endpoint;
        this.publisher = publisher;
        this.messageTimeout = messageTimeout;
        messageTimeoutNs = messageTimeout.toNanos();
        this.owner = owner;
        heartbeatNs = settings.heartbeat().toNanos();
        maxFrameBytes = settings.maxMessageBytes() + FRAME_ROOM;
        dialledNs = nowNs;
        heardNs = nowNs;
        channel = SocketChannel.open();
        wire = new SocketWire(channel);
        try {
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            channel.connect(address);
            key = channel.register(selector, SelectionKey.OP_CONNECT, this);
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    Endpoint endpoint() {
        return endpoint;
    }

    boolean open() {
        return state == State.OPEN;
    }

    boolean closed() {
        return state == State.CLOSED;
    }

    /** The most that RDY may say, once it is open. */
    int maxReady() {
        return maxReady;
    }

    /** After which the broker takes an unfinished message back, once it is open; zero if nobody said. */
    long messageTimeoutNs() {
        return messageTimeoutNs;
    }

    void ready(long nowNs) {
        try {
            if (key.isConnectable()) {
                channel.finishConnect();
                key.interestOps(SelectionKey.OP_READ);
                identify();
            } else if (key.isReadable()) {
                read(nowNs);
            }
            sendIfDue();
            // TLS may have had to send something before it could read on.
            while (state != State.CLOSED && wire.hasInput()) {
                read(nowNs);
                sendIfDue();
            }
        } catch (IOException e) {
            close(reason(e), nowNs);
        }
    }

    private void sendIfDue() throws IOException {
        if (state != State.CLOSED
                && (out.position() > 0 || key.interestOps() != SelectionKey.OP_READ || wire.hasOutput())) {
            send();
        }
    }

    private static String reason(IOException e) {
        return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    }

    /** Now and then: whether the broker is still there. */
    void keepHouse(long nowNs) {
        if (state == State.CLOSED) {
            return;
        }
        if (state != State.OPEN && nowNs - dialledNs > settings.connectWithin().toNanos()) {
            close("no connection within " + settings.connectWithin().toMillis() + " ms", nowNs);
        } else if (state == State.OPEN && nowNs - heardNs > 2 * heartbeatNs) {
            close("silent for " + 2 * settings.heartbeat().toMillis() + " ms", nowNs);
        }
    }

    private void identify() throws IOException {
        state = State.IDENTIFYING;
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        try (JsonGenerator json = JSON.createGenerator(body)) {
            json.writeStartObject();
            json.writeStringField("client_id", settings.clientId());
            json.writeStringField("user_agent", "weir-java");
            json.writeBooleanField("feature_negotiation", true);
            json.writeNumberField("heartbeat_interval", settings.heartbeat().toMillis());
            json.writeBooleanField("tls_v1", settings.tls().isPresent());
            if (!messageTimeout.isZero()) {
                json.writeNumberField("msg_timeout", messageTimeout.toMillis());
            }
            if (publisher != null) {
                json.writeBooleanField("weir_homes", true);
                json.writeStringField("weir_publisher", publisher);
            }
            if (settings.group().isPresent()) {
                json.writeStringField("weir_group", settings.group().get());
            }
            if (settings.workflow().isPresent()) {
                json.writeStringField("weir_workflow", settings.workflow().get());
            }
            if (settings.rate().isPresent()) {
                json.writeNumberField("weir_rate", settings.rate().getAsDouble());
            }
            json.writeEndObject();
        }
        put(ascii("  V2IDENTIFY\n"));
        putBody(body.toByteArray());
    }

    private void read(long nowNs) throws IOException {
        boolean again;
        do {
            makeRoom(1);
            int count = wire.read(in);
            if (count < 0) {
                close("closed by the broker", nowNs);
                return;
            }
            heardNs = nowNs;
            boolean full = !in.hasRemaining();
            decode(nowNs);
            again = state != State.CLOSED && (full || wire.hasInput());
        } while (again);
    }

    private void decode(long nowNs) throws IOException {
        in.flip();
        while (state != State.CLOSED && in.remaining() >= 4) {
            int size = in.getInt(in.position());
            if (size < 4 || size > maxFrameBytes) {
                close("not NSQ V2, or a message that is too large: a frame of " + size + " bytes", nowNs);
                return;
            }
            if (in.remaining() < 4 + size) {
                break;
            }
            int at = in.position();
            in.position(at + 4 + size);
            frame(in.getInt(at + 4), at + 8, size - 4, nowNs);
        }
        in.compact();
    }

    /** Buffers grow to one frame and a read beside it; the size was checked before. */
    private void makeRoom(int bytes) {
        if (in.remaining() < bytes) {
            in = ByteBuffer.allocate(2 * in.capacity() + bytes).put(in.flip());
        }
    }

    private void frame(int type, int at, int length, long nowNs) throws IOException {
        switch (type) {
            case RESPONSE -> {
                if (is(HEARTBEAT, at, length)) {
                    put(NOP);
                } else {
                    response(at, length, nowNs);
                }
            }
            case ERROR -> {
                String error = text(at, length);
                if (state == State.OPEN) {
                    owner.failed(this, error, nowNs);
                } else {
                    close("refused: " + error, nowNs);
                }
            }
            case MESSAGE -> message(at, length, nowNs);
            case HOME -> home(at, length, nowNs);
            default -> close("not NSQ V2: a frame of type " + type, nowNs);
        }
    }

    private void response(int at, int length, long nowNs) throws IOException {
        switch (state) {
            case IDENTIFYING -> identified(at, length, nowNs);
            case SECURING -> secured(is(OK, at, length), nowNs);
            case AUTHENTICATING -> opened(nowNs);
            case OPEN -> owner.answered(this, is(OK, at, length), nowNs);
            default -> close("not NSQ V2: an answer to nothing", nowNs);
        }
    }

    private void identified(int at, int length, long nowNs) throws IOException {
        boolean offersTls = false;
        // A broker that does not negotiate answers OK.
        if (!is(OK, at, length)) {
            try (JsonParser json = JSON.createParser(in.array(), at, length)) {
                if (json.nextToken() != JsonToken.START_OBJECT) {
                    throw new JsonParseException(json, "no JSON object");
                }
                while (json.nextToken() == JsonToken.FIELD_NAME) {
                    String field = json.currentName();
                    JsonToken value = json.nextToken();
                    switch (field) {
                        case "tls_v1" -> offersTls = value == JsonToken.VALUE_TRUE;
                        case "auth_required" -> authRequired = value == JsonToken.VALUE_TRUE;
                        case "msg_timeout" -> messageTimeoutNs = TimeUnit.MILLISECONDS.toNanos(json.getValueAsLong(0));
                        case "max_rdy_count" -> maxReady = Math.max(1, json.getValueAsInt(maxReady));
                        default -> json.skipChildren();
                    }
                }
            } catch (JsonProcessingException e) {
                close("not NSQ V2: IDENTIFY is answered with " + e.getOriginalMessage(), nowNs);
                return;
            }
        }
        if (settings.tls().isEmpty()) {
            authenticate(nowNs);
        } else if (!offersTls) {
            close("the broker does not offer TLS", nowNs);
        } else if (in.hasRemaining()) {
            // Bytes that came before TLS may be an attacker's: they must not count as the broker's.
            close("the broker said more than it may before TLS", nowNs);
        } else {
            state = State.SECURING;
            secure(settings.tls().get());
        }
    }

    private void secure(SSLContext context) throws IOException {
        SSLEngine engine = context.createSSLEngine(endpoint.host(), endpoint.port());
        engine.setUseClientMode(true);
        SSLParameters parameters = engine.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        engine.setSSLParameters(parameters);
        wire = TlsWire.connect(wire, engine, new Buffers(FIRST_BYTES, MAX_TLS_BYTES, what -> {}).purse());
    }

    private void secured(boolean ok, long nowNs) {
        if (ok) {
            authenticate(nowNs);
        } else {
            close("not NSQ V2: TLS is not followed by OK", nowNs);
        }
    }

    private void authenticate(long nowNs) {
        if (!authRequired) {
            opened(nowNs);
        } else if (settings.secret().isPresent()) {
            state = State.AUTHENTICATING;
            put(ascii("AUTH\n"));
            putBody(settings.secret().get().getBytes(StandardCharsets.UTF_8));
        } else {
            close("the broker wants a secret", nowNs);
        }
    }

    private void opened(long nowNs) {
        state = State.OPEN;
        owner.opened(this, nowNs);
    }

    private void message(int at, int length, long nowNs) {
        if (length < MESSAGE_HEAD_BYTES || state != State.OPEN) {
            close("not NSQ V2: a message of " + length + " bytes, " + state, nowNs);
            return;
        }
        byte[] body = new byte[length - MESSAGE_HEAD_BYTES];
        in.get(at + MESSAGE_HEAD_BYTES, body);
        owner.delivered(this, in.getLong(at), in.getShort(at + 8) & 0xffff, text(at + ID_AT, ID_LENGTH), body, nowNs);
    }

    /** What is not understood is no reason to end: messages still go on through this broker. */
    private void home(int at, int length, long nowNs) {
        String topic = null;
        Endpoint home = null;
        try (JsonParser json = JSON.createParser(in.array(), at, length)) {
            json.nextToken();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String field = json.currentName();
                json.nextToken();
                switch (field) {
                    case "topic" -> topic = json.getValueAsString();
                    case "tcp" -> home = Endpoint.parse(json.getValueAsString(""));
                    default -> json.skipChildren();
                }
            }
        } catch (IOException | IllegalArgumentException e) {
            return;
        }
        if (topic != null && home != null && state == State.OPEN) {
            owner.homeTold(this, topic, home, nowNs);
        }
    }

    /** Adds a publication to what the next turn sends: PUB for one message, MPUB for several. */
    void publish(byte[] topic, List<Request> messages) {
        boolean one = messages.size() == 1;
        int size = 4;
        for (int i = 0; i < messages.size(); i++) {
            size += 4 + messages.get(i).body.length;
        }
        room(topic.length + size + 16);
        out.put(one ? PUB : MPUB).put(topic).put((byte) '\n');
        if (!one) {
            out.putInt(size).putInt(messages.size());
        }
        for (int i = 0; i < messages.size(); i++) {
            byte[] body = messages.get(i).body;
            out.putInt(body.length).put(body);
        }
    }

    /** Adds a command without a body, with its line feed, to what the next turn sends. */
    void command(String line) {
        put(ascii(line));
    }

    private void put(byte[] bytes) {
        room(bytes.length);
        out.put(bytes);
    }

    private void putBody(byte[] body) {
        room(4 + body.length);
        out.putInt(body.length).put(body);
    }

    /** The callers keep it bounded: publications by the number of workers, acknowledgements by the credit. */
    private void room(int bytes) {
        if (out.remaining() < bytes) {
            out = ByteBuffer.allocate(Math.max(2 * out.capacity(), out.position() + bytes))
                    .put(out.flip());
        }
    }

    /** At the end of a turn. */
    void flush(long nowNs) {
        if (state == State.CONNECTING || state == State.CLOSED || out.position() == 0) {
            return;
        }
        try {
            send();
        } catch (IOException e) {
            close(reason(e), nowNs);
        }
    }

    private void send() throws IOException {
        out.flip();
        wire.write(out);
        out.compact();
        int wanted = SelectionKey.OP_READ | (out.position() > 0 || wire.hasOutput() ? SelectionKey.OP_WRITE : 0);
        if (key.interestOps() != wanted) {
            key.interestOps(wanted);
        }
        if (out.position() == 0 && out.capacity() > 16 * FIRST_BYTES) {
            out = ByteBuffer.allocate(FIRST_BYTES);
        }
    }

    void close(String reason, long nowNs) {
        if (state == State.CLOSED) {
            return;
        }
        state = State.CLOSED;
        key.cancel();
        sayGoodbye();
        wire.close();
        try {
            channel.close();
        } catch (IOException e) {
            // It is closed as far as this process is concerned.
            out.clear();
        }
        owner.closed(this, reason, nowNs);
    }

    /** Sends TLS's close notification, as far as the socket takes it. A plain socket only closes. */
    private void sayGoodbye() {
        if (channel.isConnected()) {
            try {
                wire.finish();
            } catch (IOException e) {
                // The channel is closed next, which says the same.
                out.clear();
            }
        }
    }

    private boolean is(byte[] text, int at, int length) {
        if (length != text.length) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            if (in.get(at + i) != text[i]) {
                return false;
            }
        }
        return true;
    }

    private String text(int at, int length) {
        return new String(in.array(), at, length, StandardCharsets.UTF_8);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}

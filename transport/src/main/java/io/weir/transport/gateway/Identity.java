package io.weir.transport.gateway;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.weir.config.value.BrokerId;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * What a client said of itself and asked for in IDENTIFY. Fields that the gateway does not know are ignored, as clients
 * of all ages send all sorts; a known one with a value that makes no sense is refused.
 *
 * <p>{@code output_buffer_size} and {@code output_buffer_timeout} are checked as nsqd does and change nothing: what is
 * to be sent goes out once in a turn of the loop, so messages share system calls under load and none is held back for
 * company. That is what the answer says: a time-out of 0, and the size of the buffer that there is.
 *
 * @param heartbeatNs 0: none
 * @param sampleRate the percentage of messages that it wants, 0 for all
 * @param deflateLevel as granted; 0 without deflate
 * @param group which publishers' bursts come together; empty if it did not say, as the other texts
 * @param expectedRate messages a second that it is going to publish; 0 if it did not say
 * @param publisher a name of the client's own making that no other publisher has, under which it is the same publisher
 *     at every broker
 * @param wantsHomes whether it wants to be told where its publishers of a topic belong
 */
record Identity(
        String clientId,
        String hostname,
        String userAgent,
        boolean negotiates,
        long heartbeatNs,
        long messageTimeoutNs,
        int sampleRate,
        boolean tls,
        boolean snappy,
        int deflateLevel,
        String group,
        String workflow,
        double expectedRate,
        String publisher,
        boolean wantsHomes) {
    /** A client that has not said who it is. */
    static Identity unknown(GatewaySettings settings) {
        return new Identity(
                "",
                "",
                "",
                false,
                settings.heartbeatNs(),
                settings.messageTimeoutNs(),
                0,
                false,
                false,
                0,
                "",
                "",
                0,
                "",
                false);
    }

    /** The user agent of brainlag's nsq-client, which takes all but two errors of a publication for success. */
    private static final String DEAF = "JavaNSQClient";

    /** The two errors that its publisher understands, then those of a consumer, after which the connection goes on. */
    private static final List<String> KNOWN_TO_THE_DEAF =
            List.of("E_BAD_TOPIC", "E_BAD_MESSAGE", "E_FIN_FAILED", "E_REQ_FAILED", "E_TOUCH_FAILED");

    private static final JsonFactory JSON = new JsonFactory();
    private static final long LEAST_NS = TimeUnit.SECONDS.toNanos(1);
    /** Longer names of clients are cut off here. */
    private static final int KEPT_TEXT = 255;

    private static final int MAX_KEY = 64;
    private static final int MAX_SAMPLE_RATE = 99;
    private static final double MAX_RATE = 1e9;
    /** nsqd's. */
    private static final int LEAST_OUTPUT_BYTES = 64;

    private static final int MOST_OUTPUT_BYTES = 64 * 1024;
    private static final int LEAST_OUTPUT_MS = 25;
    private static final int MOST_OUTPUT_MS = 30_000;

    /** The client asked for a value that it can't have; the message is what it is told. */
    static final class Refused extends Exception {
        private final String code;

        Refused(String reason) {
            this("E_BAD_BODY", reason);
        }

        Refused(String code, String reason) {
            super(reason);
            this.code = code;
        }

        String answer() {
            return code + " " + getMessage();
        }
    }

    /** The fields as they come. */
    private static final class Fields {
        private String clientId = "";
        private String hostname = "";
        private String userAgent = "";
        private boolean negotiates;
        private long heartbeatMs;
        private long timeoutMs;
        private long outputBytes;
        private long outputMs;
        private long sampleRate;
        private boolean tls;
        private boolean snappy;
        private boolean deflate;
        private long deflateLevel;
        private String group = "";
        private String workflow = "";
        private double rate;
        private String publisher = "";
        private boolean homes;

        private void read(JsonParser json, String field) throws IOException, Refused {
            switch (field) {
                case "client_id" -> clientId = text(json, field);
                case "hostname" -> hostname = text(json, field);
                case "user_agent" -> userAgent = text(json, field);
                case "feature_negotiation" -> negotiates = flag(json, field);
                case "heartbeat_interval" -> heartbeatMs = whole(json, field);
                case "msg_timeout" -> timeoutMs = whole(json, field);
                case "output_buffer_size" -> outputBytes = whole(json, field);
                case "output_buffer_timeout" -> outputMs = whole(json, field);
                case "sample_rate" -> sampleRate = whole(json, field);
                case "tls_v1" -> tls = flag(json, field);
                case "snappy" -> snappy = flag(json, field);
                case "deflate" -> deflate = flag(json, field);
                case "deflate_level" -> deflateLevel = whole(json, field);
                case "weir_group" -> group = key(json, field);
                case "weir_workflow" -> workflow = key(json, field);
                case "weir_rate" -> rate = rate(json, field);
                case "weir_publisher" -> publisher = key(json, field);
                case "weir_homes" -> homes = flag(json, field);
                default -> json.skipChildren();
            }
        }
    }

    /**
     * The error as it is sent to this client. One that takes unknown errors for success gets E_BAD_MESSAGE with the
     * real error behind it: a failure under the wrong name is better than a message that is lost silently.
     */
    String heard(String error) {
        boolean known = !userAgent.equals(DEAF) || KNOWN_TO_THE_DEAF.stream().anyMatch(error::startsWith);
        return known ? error : "E_BAD_MESSAGE " + error;
    }

    static Identity parse(byte[] body, GatewaySettings settings, ClientTerms terms) throws Refused {
        Fields fields = new Fields();
        try (JsonParser json = JSON.createParser(body)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw new Refused("IDENTIFY failed to decode JSON body");
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String field = json.currentName();
                json.nextToken();
                fields.read(json, field);
            }
            if (json.currentToken() != JsonToken.END_OBJECT) {
                throw new Refused("IDENTIFY failed to decode JSON body");
            }
        } catch (IOException e) {
            throw new Refused("IDENTIFY failed to decode JSON body");
        }
        within(fields.outputBytes, LEAST_OUTPUT_BYTES, MOST_OUTPUT_BYTES, "output buffer size");
        within(fields.outputMs, LEAST_OUTPUT_MS, MOST_OUTPUT_MS, "output buffer timeout");
        if (fields.sampleRate < 0 || fields.sampleRate > MAX_SAMPLE_RATE) {
            throw new Refused("IDENTIFY sample rate (" + fields.sampleRate + ") is invalid");
        }
        boolean snappy = fields.negotiates && fields.snappy && terms.snappy();
        boolean deflate = fields.negotiates && fields.deflate && terms.deflate();
        if (snappy && deflate) {
            throw new Refused("E_IDENTIFY_FAILED", "cannot enable both deflate and snappy compression");
        }
        long level = fields.deflateLevel <= 0 ? ClientTerms.DEFLATE_LEVEL : fields.deflateLevel;
        return new Identity(
                fields.clientId,
                fields.hostname,
                fields.userAgent,
                fields.negotiates,
                heartbeatNs(fields.heartbeatMs, settings),
                durationNs(
                        fields.timeoutMs, settings.messageTimeoutNs(), settings.maxMessageTimeoutNs(), "msg timeout"),
                (int) fields.sampleRate,
                fields.negotiates && fields.tls && terms.tls().isPresent(),
                snappy,
                deflate ? (int) Math.min(level, terms.maxDeflateLevel()) : 0,
                fields.group,
                fields.workflow,
                fields.rate,
                fields.publisher,
                fields.homes);
    }

    private static String text(JsonParser json, String field) throws IOException, Refused {
        if (json.currentToken() == JsonToken.VALUE_NULL) {
            return "";
        }
        if (json.currentToken() != JsonToken.VALUE_STRING) {
            throw new Refused("IDENTIFY " + field + " is not a string");
        }
        String text = json.getText();
        return text.length() > KEPT_TEXT ? text.substring(0, KEPT_TEXT) : text;
    }

    private static String key(JsonParser json, String field) throws IOException, Refused {
        String key = text(json, field);
        if (key.length() > MAX_KEY) {
            throw new Refused("IDENTIFY " + field + " is longer than " + MAX_KEY + " characters");
        }
        return key;
    }

    private static boolean flag(JsonParser json, String field) throws Refused {
        return switch (json.currentToken()) {
            case VALUE_TRUE -> true;
            case VALUE_FALSE, VALUE_NULL -> false;
            default -> throw new Refused("IDENTIFY " + field + " is not true or false");
        };
    }

    private static long whole(JsonParser json, String field) throws IOException, Refused {
        if (json.currentToken() == JsonToken.VALUE_NULL) {
            return 0;
        }
        if (!json.currentToken().isNumeric()) {
            throw new Refused("IDENTIFY " + field + " is not a number");
        }
        return json.getValueAsLong();
    }

    private static double rate(JsonParser json, String field) throws IOException, Refused {
        if (json.currentToken() == JsonToken.VALUE_NULL) {
            return 0;
        }
        double rate = json.currentToken().isNumeric() ? json.getValueAsDouble() : -1;
        if (!(rate >= 0 && rate <= MAX_RATE)) {
            throw new Refused("IDENTIFY " + field + " is not a number of messages a second from 0 to 1e9");
        }
        return rate;
    }

    private static long heartbeatNs(long ms, GatewaySettings settings) throws Refused {
        return ms == -1 ? 0 : durationNs(ms, settings.heartbeatNs(), settings.maxHeartbeatNs(), "heartbeat interval");
    }

    private static long durationNs(long ms, long usualNs, long mostNs, String what) throws Refused {
        if (ms == 0) {
            return usualNs;
        }
        if (ms < 0 || ms > TimeUnit.NANOSECONDS.toMillis(mostNs) || TimeUnit.MILLISECONDS.toNanos(ms) < LEAST_NS) {
            throw new Refused("IDENTIFY " + what + " (" + ms + ") is invalid");
        }
        return TimeUnit.MILLISECONDS.toNanos(ms);
    }

    /** -1 turns it off, 0 asks for the default. */
    private static void within(long value, long least, long most, String what) throws Refused {
        if (value != -1 && value != 0 && (value < least || value > most)) {
            throw new Refused("IDENTIFY " + what + " (" + value + ") is invalid");
        }
    }

    /** The publisher's number, or {@code usual} if the client gave it no name. */
    long publisherId(long usual) {
        return publisher.isEmpty() ? usual : Publisher.idOf(publisher);
    }

    /** What the client says now, over the layers that it asked for before. */
    Identity withLayersOf(Identity before) {
        return new Identity(
                clientId,
                hostname,
                userAgent,
                negotiates,
                heartbeatNs,
                messageTimeoutNs,
                sampleRate,
                before.tls,
                before.snappy,
                before.deflateLevel,
                group,
                workflow,
                expectedRate,
                publisher,
                wantsHomes);
    }

    boolean upgrades() {
        return tls || snappy || deflateLevel > 0;
    }

    /**
     * Compact, because one client looks for the text {@code "snappy":true}; the version must not look like nsqd's
     * oldest. Only a client that asked for homes, which no other than ours does, is told which broker this is.
     */
    String answer(GatewaySettings settings, ClientTerms terms, String version, Optional<BrokerId> self) {
        String answer = "{\"max_rdy_count\":" + settings.maxReady() + ",\"version\":\"" + version
                + "\",\"max_msg_timeout\":" + TimeUnit.NANOSECONDS.toMillis(settings.maxMessageTimeoutNs())
                + ",\"msg_timeout\":" + TimeUnit.NANOSECONDS.toMillis(messageTimeoutNs) + ",\"heartbeat_interval\":"
                + TimeUnit.NANOSECONDS.toMillis(heartbeatNs) + ",\"tls_v1\":" + tls + ",\"deflate\":"
                + (deflateLevel > 0) + ",\"deflate_level\":" + deflateLevel + ",\"max_deflate_level\":"
                + terms.maxDeflateLevel() + ",\"snappy\":" + snappy + ",\"sample_rate\":" + sampleRate
                + ",\"auth_required\":" + terms.rights().required() + ",\"output_buffer_size\":"
                + settings.bufferBytes() + ",\"output_buffer_timeout\":0";
        if (wantsHomes) {
            answer += ",\"broker_id\":\"" + self.map(BrokerId::value).orElse("") + "\",\"weir_homes\":true";
        }
        return answer + "}";
    }
}

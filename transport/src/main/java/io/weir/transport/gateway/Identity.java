package io.weir.transport.gateway;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * What a client asked for in IDENTIFY. Fields that the gateway does not know are ignored, as clients of all ages send all
 * sorts.
 *
 * @param heartbeatNs 0: none
 */
record Identity(boolean negotiates, long heartbeatNs, long messageTimeoutNs) {
    private static final JsonFactory JSON = new JsonFactory();
    private static final long LEAST_NS = TimeUnit.SECONDS.toNanos(1);

    /** A value that the client may not ask for, in words for it. */
    static final class Refused extends Exception {
        Refused(String reason) {
            super(reason);
        }
    }

    static Identity parse(byte[] body, GatewaySettings settings) throws Refused {
        boolean negotiates = false;
        long heartbeatMs = 0;
        long timeoutMs = 0;
        try (JsonParser json = JSON.createParser(body)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw new Refused("IDENTIFY failed to decode JSON body");
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String field = json.currentName();
                JsonToken value = json.nextToken();
                switch (field) {
                    case "feature_negotiation" -> negotiates = value == JsonToken.VALUE_TRUE;
                    case "heartbeat_interval" -> heartbeatMs = whole(json, field);
                    case "msg_timeout" -> timeoutMs = whole(json, field);
                    default -> json.skipChildren();
                }
            }
            if (json.currentToken() != JsonToken.END_OBJECT) {
                throw new Refused("IDENTIFY failed to decode JSON body");
            }
        } catch (IOException e) {
            throw new Refused("IDENTIFY failed to decode JSON body");
        }
        return new Identity(negotiates, heartbeatNs(heartbeatMs, settings), timeoutNs(timeoutMs, settings));
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

    private static long heartbeatNs(long ms, GatewaySettings settings) throws Refused {
        if (ms == -1) {
            return 0;
        }
        return within(ms, settings.heartbeatNs(), settings.maxHeartbeatNs(), "heartbeat interval");
    }

    private static long timeoutNs(long ms, GatewaySettings settings) throws Refused {
        return within(ms, settings.messageTimeoutNs(), settings.maxMessageTimeoutNs(), "msg timeout");
    }

    private static long within(long ms, long usualNs, long mostNs, String what) throws Refused {
        if (ms == 0) {
            return usualNs;
        }
        if (ms < 0 || ms > TimeUnit.NANOSECONDS.toMillis(mostNs) || TimeUnit.MILLISECONDS.toNanos(ms) < LEAST_NS) {
            throw new Refused("IDENTIFY " + what + " (" + ms + ") is invalid");
        }
        return TimeUnit.MILLISECONDS.toNanos(ms);
    }

    /** Compact, because one client looks for the text {@code "snappy":true}; the version must not look like nsqd's oldest. */
    String answer(GatewaySettings settings, String version) {
        return "{\"max_rdy_count\":" + settings.maxReady() + ",\"version\":\"" + version + "\",\"max_msg_timeout\":"
                + TimeUnit.NANOSECONDS.toMillis(settings.maxMessageTimeoutNs()) + ",\"msg_timeout\":"
                + TimeUnit.NANOSECONDS.toMillis(messageTimeoutNs) + ",\"heartbeat_interval\":"
                + TimeUnit.NANOSECONDS.toMillis(heartbeatNs)
                + ",\"tls_v1\":false,\"deflate\":false,\"deflate_level\":0,\"max_deflate_level\":0,\"snappy\":false,"
                + "\"sample_rate\":0,\"auth_required\":false,\"output_buffer_size\":" + settings.bufferBytes()
                + ",\"output_buffer_timeout\":0}";
    }
}

package io.weir.transport.gateway;

import java.util.Optional;

/**
 * One client at one moment, in nsqd's words.
 *
 * @param state nsqd's number: 0 connected, 3 subscribed, 4 closing
 * @param subscription what it consumes; empty for one that does not
 * @param messages delivered to it, redeliveries included
 * @param published messages of it that were accepted
 * @param connectedAtS in seconds since 1970
 * @param sampleRate in percent; 0: it gets everything
 * @param tlsVersion and the cipher suite: empty without TLS
 * @param token by which it authenticated itself; empty if it did not
 * @param expectedRate messages a second that it said it would publish; 0 if it did not say
 */
public record ClientStats(
        String clientId,
        String hostname,
        String userAgent,
        String remoteAddress,
        int state,
        Optional<Subscribed> subscription,
        int readyCount,
        int inFlightCount,
        long messages,
        long finished,
        long requeued,
        long published,
        long connectedAtS,
        int sampleRate,
        boolean deflate,
        boolean snappy,
        boolean tls,
        String tlsVersion,
        String tlsCipherSuite,
        Optional<String> token,
        String group,
        String workflow,
        double expectedRate) {
    /** The version of the protocol that all of them speak. */
    public static final String VERSION = "V2";

    /** A channel. */
    public record Subscribed(String topic, String channel) {}
}

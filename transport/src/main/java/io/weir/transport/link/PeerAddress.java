package io.weir.transport.link;

import io.weir.config.Endpoint;
import io.weir.config.value.BrokerId;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/**
 * Where a broker's end of its links is.
 *
 * @param incarnation the life of its process, by the store's count: that of the first node that it ran; 0 if unknown
 *     yet
 * @param host whatever is equal for brokers that see the same file system, and differs otherwise
 * @param aeronDirectory the directory of the media driver that it uses
 * @param endpoint where it receives from brokers that use another driver (UDP)
 */
public record PeerAddress(BrokerId id, long incarnation, String host, String aeronDirectory, Endpoint endpoint) {
    public PeerAddress {
        if (incarnation < 0) {
            throw new IllegalArgumentException("incarnation " + incarnation + " of " + id + " is negative");
        }
    }

    /** Whether nothing but the incarnation may differ. */
    boolean samePlaceAs(PeerAddress other) {
        return id.equals(other.id) && sharesDriverWith(other) && endpoint.equals(other.endpoint);
    }

    boolean sharesDriverWith(PeerAddress other) {
        return host.equals(other.host) && aeronDirectory.equals(other.aeronDirectory);
    }

    /** The same place with the life that the store has given the broker. */
    PeerAddress in(long life) {
        return new PeerAddress(id, life, host, aeronDirectory, endpoint);
    }

    /** Whether frames to {@code other} can be seen or forged on a network. */
    boolean isAcrossANetworkFrom(PeerAddress other) {
        return !sharesDriverWith(other) && !(endpoint.loopback() && other.endpoint.loopback());
    }

    /** Who sends to whom, in which lives: what the keys of a direction are bound to. */
    String directionTo(PeerAddress receiver) {
        return id + "#" + incarnation + ">" + receiver.id + "#" + receiver.incarnation;
    }

    /** What this broker publishes to {@code receiver} on; the receiver subscribes to the same. */
    String channelTo(PeerAddress receiver, int termBytes) {
        return sharesDriverWith(receiver)
                ? "aeron:ipc?mtu=8192|term-length=" + termBytes
                : "aeron:udp?endpoint=" + receiver.endpoint + "|term-length=" + termBytes;
    }

    /**
     * A stream of its own for each direction of each pair, so that a receiver that hangs holds back this pair only. Two
     * pairs may share a number by chance; the hello's names keep them apart then.
     */
    int streamTo(PeerAddress receiver) {
        CRC32 crc = new CRC32();
        crc.update((id + ">" + receiver.id).getBytes(StandardCharsets.US_ASCII));
        return (int) crc.getValue() & Integer.MAX_VALUE;
    }
}

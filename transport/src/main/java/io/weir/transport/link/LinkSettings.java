package io.weir.transport.link;

import java.time.Duration;
import org.agrona.BitUtil;

/**
 * Bounds and times of a broker's links.
 *
 * @param maxBodyBytes the longest body that a frame carries
 * @param maxPeers how many brokers may be linked at a time
 * @param helloInterval how often a link that is up says so
 * @param silence a peer of which nothing was heard for so long is lost
 * @param retry how long to wait before the next try after a driver or a stream failed
 * @param sealLoopback seal also what stays on this host between two media drivers; what leaves the host always is
 */
public record LinkSettings(
        int maxBodyBytes,
        int maxPeers,
        Duration helloInterval,
        Duration silence,
        Duration retry,
        boolean sealLoopback) {
    private static final int MAX_BODY_BYTES = 65 * 1024 * 1024;
    private static final int MIN_TERM_BYTES = 64 * 1024;
    private static final int FEW_PEERS = 8;
    private static final int MANY_PEERS = 32;

    public LinkSettings {
        require(maxBodyBytes > 0 && maxBodyBytes <= MAX_BODY_BYTES, "maxBodyBytes", maxBodyBytes, "1 to 65 MiB");
        require(maxPeers > 0, "maxPeers", maxPeers, "1 or more");
        require(helloInterval.toNanos() > 0, "helloInterval", helloInterval, "longer than nothing");
        require(silence.compareTo(helloInterval.multipliedBy(2)) >= 0, "silence", silence, "at least two hellos long");
        require(retry.toNanos() > 0, "retry", retry, "longer than nothing");
    }

    public LinkSettings(int maxBodyBytes, int maxPeers, Duration helloInterval, Duration silence, Duration retry) {
        this(maxBodyBytes, maxPeers, helloInterval, silence, retry, false);
    }

    public static LinkSettings defaults() {
        return new LinkSettings(
                1024 * 1024 + 16 * 1024, 256, Duration.ofMillis(500), Duration.ofSeconds(3), Duration.ofMillis(250));
    }

    /**
     * The length of a stream's terms. A stream has three, so a direction of a pair takes up to three times this of the
     * media driver's shared memory once so much has passed. A broker's streams, out and in, take together up to
     *
     * <pre>
     *   up to 8 peers:  2 × 8 × 3 × 4 MiB     = 192 MiB
     *   up to 32 peers: 2 × 32 × 3 × 1 MiB    = 192 MiB
     *   256 peers:      2 × 256 × 3 × 256 KiB = 384 MiB
     * </pre>
     *
     * Half a term may be on its way: 128 KiB, the window of a UDP receiver, in the shortest. A frame that is longer
     * than a fragment goes in parts, so a long one needs no long terms. Where all are short, eight have room in a term.
     *
     * @param peers how many there are when the stream is made; one that is there already keeps its terms
     */
    int termBytes(int peers) {
        int most = 256 * 1024;
        if (peers <= MANY_PEERS) {
            most = peers <= FEW_PEERS ? 4 * 1024 * 1024 : 1024 * 1024;
        }
        long eight = 8L * maxFrameBytes();
        return eight >= most ? most : Math.max(MIN_TERM_BYTES, BitUtil.findNextPositivePowerOfTwo((int) eight));
    }

    int maxFrameBytes() {
        return maxBodyBytes + LinkFrames.DATA_HEADER_BYTES;
    }

    private static void require(boolean holds, String name, Object value, String rule) {
        if (!holds) {
            throw new IllegalArgumentException(name + " is " + value + ", but must be " + rule);
        }
    }
}

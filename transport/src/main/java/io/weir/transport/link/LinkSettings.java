package io.weir.transport.link;

import java.time.Duration;
import org.agrona.BitUtil;

/**
 * Bounds and times of a broker's links.
 *
 * @param maxBodyBytes the longest body that a frame carries. Aeron takes an eighth of a term, and a stream has three
 *     terms: the default makes terms of 16 MiB, and up to 48 MiB of shared memory for a direction of a pair once so
 *     much has passed
 * @param maxPeers how many brokers may be linked at a time
 * @param helloInterval how often a link that is up says so
 * @param silence a peer of which nothing was heard for so long is lost
 * @param retry how long to wait before the next try after a driver or a stream failed
 */
public record LinkSettings(int maxBodyBytes, int maxPeers, Duration helloInterval, Duration silence, Duration retry) {
    private static final int MIN_TERM_BYTES = 64 * 1024;
    private static final int MAX_BODY_BYTES = 16 * 1024 * 1024 - LinkFrames.DATA_HEADER_BYTES;

    public LinkSettings {
        require(maxBodyBytes > 0 && maxBodyBytes <= MAX_BODY_BYTES, "maxBodyBytes", maxBodyBytes, "1 to 16 MiB");
        require(maxPeers > 0, "maxPeers", maxPeers, "1 or more");
        require(helloInterval.toNanos() > 0, "helloInterval", helloInterval, "longer than nothing");
        require(silence.compareTo(helloInterval.multipliedBy(2)) >= 0, "silence", silence, "at least two hellos long");
        require(retry.toNanos() > 0, "retry", retry, "longer than nothing");
    }

    public static LinkSettings defaults() {
        return new LinkSettings(
                1024 * 1024 + 16 * 1024, 256, Duration.ofMillis(500), Duration.ofSeconds(3), Duration.ofMillis(250));
    }

    int termBytes() {
        return Math.max(
                MIN_TERM_BYTES, BitUtil.findNextPositivePowerOfTwo(8 * (maxBodyBytes + LinkFrames.DATA_HEADER_BYTES)));
    }

    private static void require(boolean holds, String name, Object value, String rule) {
        if (!holds) {
            throw new IllegalArgumentException(name + " is " + value + ", but must be " + rule);
        }
    }
}

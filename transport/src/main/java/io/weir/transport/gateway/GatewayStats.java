package io.weir.transport.gateway;

import java.util.concurrent.atomic.AtomicLong;

/**
 * What the gateway has to do with clients, for any thread to read.
 *
 * @param connections now
 * @param strangers of these, those of whom the broker does not know yet who they are
 * @param refused connections that found no place
 * @param displaced strangers that gave way to others, for their place or their memory
 * @param late strangers that did not say in time what was asked of them
 * @param failedAuths secrets that no token has
 * @param bufferBytes of all clients' buffers, pooled ones included
 */
public record GatewayStats(
        int connections, int strangers, long refused, long displaced, long late, long failedAuths, long bufferBytes) {
    /** Written by the loop's thread alone. */
    static final class Counters {
        final AtomicLong connections = new AtomicLong();
        final AtomicLong strangers = new AtomicLong();
        final AtomicLong refused = new AtomicLong();
        final AtomicLong displaced = new AtomicLong();
        final AtomicLong late = new AtomicLong();
        final AtomicLong failedAuths = new AtomicLong();
        final AtomicLong bufferBytes = new AtomicLong();

        static void count(AtomicLong counter) {
            counter.lazySet(counter.get() + 1);
        }

        GatewayStats stats() {
            return new GatewayStats(
                    (int) connections.get(),
                    (int) strangers.get(),
                    refused.get(),
                    displaced.get(),
                    late.get(),
                    failedAuths.get(),
                    bufferBytes.get());
        }
    }
}

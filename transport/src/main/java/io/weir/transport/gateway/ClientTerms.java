package io.weir.transport.gateway;

import java.util.Optional;

/**
 * On which terms clients are served: what they may negotiate, and what is asked of them.
 *
 * @param tls empty: none is offered
 * @param tlsRequired without it a client may do nothing but IDENTIFY
 * @param maxDeflateLevel more costs much and saves little
 */
public record ClientTerms(
        Optional<TlsOffer> tls,
        boolean tlsRequired,
        boolean snappy,
        boolean deflate,
        int maxDeflateLevel,
        AccessRights rights) {
    /** nsqd's. */
    static final int DEFLATE_LEVEL = 6;

    public ClientTerms {
        if (tlsRequired && tls.isEmpty()) {
            throw new IllegalArgumentException("TLS is required, but there is no certificate");
        }
        if (maxDeflateLevel < 1 || maxDeflateLevel > 9) {
            throw new IllegalArgumentException("deflate level " + maxDeflateLevel + " is not within 1 to 9");
        }
    }

    /** Compression for who wants it; no TLS, and nobody is asked who they are. */
    public static ClientTerms defaults() {
        return new ClientTerms(Optional.empty(), false, true, true, DEFLATE_LEVEL, AccessRights.OPEN);
    }
}

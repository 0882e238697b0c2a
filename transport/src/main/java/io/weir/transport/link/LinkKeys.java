package io.weir.transport.link;

import io.weir.config.value.BrokerId;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PublicKey;
import java.security.spec.X509EncodedKeySpec;
import java.util.HashMap;
import java.util.Map;
import javax.crypto.KeyAgreement;

/**
 * One process's key pair for its links (X25519), and the secrets that it has agreed on with other brokers' processes.
 * The pair lives in memory only and ends with the process: what was recorded of a link before can't be opened later.
 * Public keys must reach the peers over a connection that proves who sent them. For any thread.
 */
final class LinkKeys {
    private static final String ALGORITHM = "X25519";

    private record Agreed(long incarnation, byte[] secret) {}

    private final KeyPair own;
    private final int maxPeers;
    private final Map<BrokerId, Agreed> agreed = new HashMap<>();

    LinkKeys(int maxPeers) {
        this.maxPeers = maxPeers;
        try {
            own = KeyPairGenerator.getInstance(ALGORITHM).generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java can't agree on keys for links: " + e.getMessage(), e);
        }
    }

    /** As the peers need it. */
    byte[] publicKey() {
        return own.getPublic().getEncoded();
    }

    /**
     * Agrees with one life of a peer. Another life's secret is forgotten; when {@code maxPeers} are known, a further
     * one is refused.
     *
     * @throws IllegalArgumentException if it is no public key, or there is no room
     */
    synchronized void agree(BrokerId peer, long incarnation, byte[] publicKey) {
        if (!agreed.containsKey(peer) && agreed.size() >= maxPeers) {
            throw new IllegalArgumentException("keys of " + maxPeers + " brokers are known, which is the most");
        }
        try {
            PublicKey theirs = KeyFactory.getInstance(ALGORITHM).generatePublic(new X509EncodedKeySpec(publicKey));
            KeyAgreement agreement = KeyAgreement.getInstance(ALGORITHM);
            agreement.init(own.getPrivate());
            agreement.doPhase(theirs, true);
            agreed.put(peer, new Agreed(incarnation, agreement.generateSecret()));
        } catch (GeneralSecurityException e) {
            throw new IllegalArgumentException("the key of " + peer + " is not one for links: " + e.getMessage(), e);
        }
    }

    /** The secret with this life of a peer, or null. */
    synchronized byte[] secret(BrokerId peer, long incarnation) {
        Agreed with = agreed.get(peer);
        return with != null && with.incarnation == incarnation ? with.secret : null;
    }

    synchronized void forget(BrokerId peer) {
        agreed.remove(peer);
    }
}

package io.weir.transport.gateway;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/**
 * The broker's certificate and key, with which it makes its end of clients' TLS connections. 1.2 and 1.3 are spoken.
 */
public final class TlsOffer {
    private static final Pattern PKCS8 = Pattern.compile("-----BEGIN PRIVATE KEY-----([^-]+)-----END PRIVATE KEY-----");
    private static final char[] IN_MEMORY_ONLY = new char[0];

    private final SSLContext context;
    private final boolean mutual;

    private TlsOffer(SSLContext context, boolean mutual) {
        this.context = context;
        this.mutual = mutual;
    }

    /**
     * Reads PEM files.
     *
     * @param certificate the broker's own first, then those between it and its authority
     * @param key in PKCS#8, without a password
     * @param clientCa if given, clients must show a certificate of one of these authorities
     * @throws IllegalArgumentException that says what is wrong with which file
     */
    public static TlsOffer read(Path certificate, Path key, Optional<Path> clientCa) {
        try {
            KeyStore own = KeyStore.getInstance(KeyStore.getDefaultType());
            own.load(null, null);
            Certificate[] chain = certificates(certificate).toArray(new Certificate[0]);
            own.setKeyEntry("broker", privateKey(key, chain[0].getPublicKey().getAlgorithm()), IN_MEMORY_ONLY, chain);
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(own, IN_MEMORY_ONLY);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(keys.getKeyManagers(), clientCa.isPresent() ? trusted(clientCa.get()) : null, null);
            return new TlsOffer(context, clientCa.isPresent());
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalArgumentException(
                    "certificate " + certificate + " and key " + key + " can't be used: " + e.getMessage());
        }
    }

    private static Collection<? extends Certificate> certificates(Path file) throws GeneralSecurityException {
        Collection<? extends Certificate> found =
                CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(bytes(file)));
        if (found.isEmpty()) {
            throw new IllegalArgumentException(file + " holds no certificate in PEM");
        }
        return found;
    }

    private static PrivateKey privateKey(Path file, String algorithm) throws GeneralSecurityException {
        Matcher pem = PKCS8.matcher(new String(bytes(file), StandardCharsets.US_ASCII));
        if (!pem.find()) {
            throw new IllegalArgumentException(
                    file
                            + " holds no key as BEGIN PRIVATE KEY: 'openssl pkcs8 -topk8 -nocrypt -in KEY' makes one of other forms");
        }
        try {
            byte[] encoded = Base64.getMimeDecoder().decode(pem.group(1));
            return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(encoded));
        } catch (InvalidKeySpecException | IllegalArgumentException e) {
            // What the parser says may show parts of the key.
            throw new IllegalArgumentException(file + " holds no " + algorithm + " key that fits the certificate");
        }
    }

    private static TrustManager[] trusted(Path file) throws GeneralSecurityException, IOException {
        KeyStore authorities = KeyStore.getInstance(KeyStore.getDefaultType());
        authorities.load(null, null);
        for (Certificate authority : certificates(file)) {
            authorities.setCertificateEntry("ca" + authorities.size(), authority);
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(authorities);
        return trust.getTrustManagers();
    }

    private static byte[] bytes(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new IllegalArgumentException(file + " can't be read: does it exist, and may this user read it?");
        }
    }

    SSLEngine engine() {
        SSLEngine engine = context.createSSLEngine();
        engine.setUseClientMode(false);
        engine.setNeedClientAuth(mutual);
        engine.setEnabledProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
        return engine;
    }
}

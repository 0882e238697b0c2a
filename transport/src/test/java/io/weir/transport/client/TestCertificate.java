package io.weir.transport.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A certificate that a test made, for both ends: the broker shows it and the client trusts it alone. */
final class TestCertificate {
    private static final char[] PASSWORD = "only-in-this-test".toCharArray();

    private TestCertificate() {}

    /** @param hostInCertificate as keytool writes it, such as {@code ip:127.0.0.1}; made once in {@code dir} */
    static SSLContext context(Path dir, String hostInCertificate) throws Exception {
        Path file = dir.resolve(hostInCertificate.replace(':', '-') + ".p12");
        if (!Files.exists(file)) {
            Process keytool = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "keytool")
                                    .toString(),
                            "-genkeypair",
                            "-keyalg",
                            "EC",
                            "-alias",
                            "broker",
                            "-dname",
                            "CN=broker",
                            "-ext",
                            "san=" + hostInCertificate,
                            "-storetype",
                            "PKCS12",
                            "-keystore",
                            file.toString(),
                            "-storepass",
                            new String(PASSWORD))
                    .redirectErrorStream(true)
                    .start();
            String said = new String(keytool.getInputStream().readAllBytes());
            assertThat(keytool.waitFor()).as(said).isZero();
        }
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            store.load(in, PASSWORD);
        }
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, PASSWORD);
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("broker", store.getCertificate("broker"));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }
}

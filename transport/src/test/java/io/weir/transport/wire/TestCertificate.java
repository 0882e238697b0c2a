package io.weir.transport.wire;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A self-signed certificate, made by the JDK's keytool once a directory, as files in PEM and as a client's trust. */
public final class TestCertificate {
    private static final char[] PASSWORD = "for-this-test".toCharArray();

    public final Path certificate;
    public final Path key;
    private final KeyStore own;

    /** @param options of keytool, such as the algorithm of the key */
    public TestCertificate(Path dir, String name, String... options)
            throws IOException, GeneralSecurityException, InterruptedException {
        Path store = dir.resolve(name + ".p12");
        if (!Files.exists(store)) {
            make(dir, name, store, options);
        }
        own = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            own.load(in, PASSWORD);
        }
        certificate = pem(
                dir.resolve(name + ".crt"),
                "CERTIFICATE",
                own.getCertificate("own").getEncoded());
        key = pem(
                dir.resolve(name + ".key"),
                "PRIVATE KEY",
                own.getKey("own", PASSWORD).getEncoded());
    }

    private static void make(Path dir, String name, Path store, String... options)
            throws IOException, InterruptedException {
        ProcessBuilder keytool = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "own",
                "-dname",
                "CN=" + name,
                "-validity",
                "2",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                new String(PASSWORD));
        keytool.command().addAll(List.of(options));
        Process made = keytool.redirectErrorStream(true)
                .redirectOutput(dir.resolve(name + ".log").toFile())
                .start();
        if (!made.waitFor(60, TimeUnit.SECONDS) || made.exitValue() != 0) {
            made.destroyForcibly();
            throw new IOException("keytool failed: " + Files.readString(dir.resolve(name + ".log")));
        }
    }

    /**
     * Both ends of a connection: the broker shows the certificate and the client trusts it alone.
     *
     * @param hostInCertificate as keytool writes it, such as {@code ip:127.0.0.1}
     */
    public static SSLContext forBothEnds(Path dir, String hostInCertificate)
            throws IOException, GeneralSecurityException, InterruptedException {
        TestCertificate own = new TestCertificate(
                dir, hostInCertificate.replace(':', '-'), "-keyalg", "EC", "-ext", "san=" + hostInCertificate);
        return own.trusting(own);
    }

    private static Path pem(Path file, String what, byte[] der) throws IOException {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
        return Files.writeString(file, "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what + "-----\n");
    }

    /** A client that trusts this certificate, and shows that of {@code shown} if it is asked. */
    public SSLContext trusting(TestCertificate shown) throws GeneralSecurityException, IOException {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        Certificate broker = own.getCertificate("own");
        trusted.setCertificateEntry("broker", broker);
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        if (shown != null) {
            keys.init(shown.own, PASSWORD);
        }
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(shown == null ? null : keys.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }
}

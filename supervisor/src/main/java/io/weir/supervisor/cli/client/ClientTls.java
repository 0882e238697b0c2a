package io.weir.supervisor.cli.client;

import io.weir.supervisor.cli.CliException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import picocli.CommandLine.Option;

/** Whom a client command trusts when it encrypts, as a picocli mixin. */
public final class ClientTls {
    @Option(
            names = "--tls-ca",
            paramLabel = "FILE",
            description =
                    "Encrypt, and talk only to brokers whose certificate is one of these, or signed by one of them (PEM), and names their"
                            + " host.")
    private Path file;

    /** Empty if nothing is to be encrypted. */
    public Optional<SSLContext> context() {
        if (file == null) {
            return Optional.empty();
        }
        try (InputStream in = Files.newInputStream(file)) {
            KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
            trusted.load(null, null);
            int count = 0;
            for (Certificate each : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
                trusted.setCertificateEntry("ca" + count++, each);
            }
            if (count == 0) {
                throw CliException.usage("--tls-ca: there is no certificate in " + file);
            }
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(trusted);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return Optional.of(context);
        } catch (IOException | GeneralSecurityException e) {
            throw CliException.usage("--tls-ca: " + file + " can't be used: " + e);
        }
    }
}

package io.weir.supervisor.node;

import akka.actor.ActorSystem;
import akka.remote.artery.tcp.SSLEngineProvider;
import akka.remote.artery.tcp.ssl.RotatingKeysSSLEngineProvider;
import io.weir.config.WeirSettings.ClusterTls;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateFactory;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * Mutual TLS between brokers. Both ends of a connection show a certificate of the cluster's authority, and beyond that
 * a broker's: one whose subject has the organizational unit {@link #BROKER}. If the certificate names hosts, whoever
 * connects must have found it at one of them.
 *
 * <p>Akka's own provider reads the files, and reads them anew from time to time. Akka makes one of these by reflection.
 */
public final class BrokerTls implements SSLEngineProvider {
    /** The unit in a broker's certificate. */
    public static final String BROKER = "weir-broker";

    private static final Logger LOG = LoggerFactory.getLogger(BrokerTls.class);
    private static final Duration WARN_BEFORE = Duration.ofDays(14);
    private static final int DNS_NAME = 2;
    private static final int IP_ADDRESS = 7;

    private final RotatingKeysSSLEngineProvider files;

    public BrokerTls(ActorSystem system) {
        files = new RotatingKeysSSLEngineProvider(system);
    }

    /**
     * Whether a broker can prove itself with these files: else it would start, and nobody would talk to it.
     *
     * @throws StartException with what to do
     */
    static void check(ClusterTls files, Instant now) {
        String again = "; 'weir certs issue' makes another one";
        X509Certificate own = read("certificate", files.certificate());
        X509Certificate authority = read("authority", files.authority());
        if (!Files.isReadable(files.key())) {
            throw new StartException("weir.cluster.tls.key: " + files.key()
                    + " can't be read: does it exist, and may this user read it?");
        }
        objection(own, Optional.empty()).ifPresent(why -> {
            throw new StartException("weir.cluster.tls.certificate: " + why + again);
        });
        try {
            own.verify(authority.getPublicKey());
        } catch (GeneralSecurityException e) {
            throw new StartException("weir.cluster.tls.certificate: " + files.certificate() + " was not issued by "
                    + files.authority() + ", and brokers trust no other" + again);
        }
        if (now.isBefore(own.getNotBefore().toInstant())) {
            throw new StartException("weir.cluster.tls.certificate: " + files.certificate() + " is valid from "
                    + own.getNotBefore().toInstant() + " on: is this machine's clock right?");
        }
        Instant end = own.getNotAfter().toInstant();
        if (now.isAfter(end)) {
            throw new StartException(
                    "weir.cluster.tls.certificate: " + files.certificate() + " was valid until " + end + again);
        }
        if (now.plus(WARN_BEFORE).isAfter(end)) {
            LOG.warn("{} is valid until {}{}; it is read without a restart", files.certificate(), end, again);
        }
    }

    private static X509Certificate read(String key, Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
        } catch (IOException | GeneralSecurityException e) {
            throw new StartException("weir.cluster.tls." + key + ": " + file
                    + " can't be read as a certificate in PEM format: does it exist, and may this user read it? ("
                    + e.getMessage() + ")");
        }
    }

    @Override
    public SSLEngine createServerSSLEngine(String hostname, int port) {
        return files.createServerSSLEngine(hostname, port);
    }

    @Override
    public SSLEngine createClientSSLEngine(String hostname, int port) {
        return files.createClientSSLEngine(hostname, port);
    }

    /** By the end that connected. */
    @Override
    public Option<Throwable> verifyClientSession(String hostname, SSLSession session) {
        return refused(session, Optional.of(hostname));
    }

    /** By the end that listens. */
    @Override
    public Option<Throwable> verifyServerSession(String hostname, SSLSession session) {
        return refused(session, Optional.empty());
    }

    private static Option<Throwable> refused(SSLSession session, Optional<String> foundAt) {
        try {
            X509Certificate shown = (X509Certificate) session.getPeerCertificates()[0];
            Optional<String> reason = objection(shown, foundAt);
            reason.ifPresent(why -> LOG.warn("a connection between brokers is refused: {}", why));
            return Option.apply(reason.map(IllegalArgumentException::new).orElse(null));
        } catch (SSLPeerUnverifiedException e) {
            return Option.apply(e);
        }
    }

    /**
     * Why the certificate is not that of a broker.
     *
     * @param foundAt where the connection went, if this end made it
     */
    static Optional<String> objection(X509Certificate shown, Optional<String> foundAt) {
        String subject = shown.getSubjectX500Principal().getName();
        if (!isBroker(shown)) {
            return Optional.of(subject + " is no broker: OU=" + BROKER + " is not in its certificate");
        }
        List<String> hosts = hosts(shown);
        boolean elsewhere = foundAt.isPresent()
                && !hosts.isEmpty()
                && hosts.stream().noneMatch(host -> host.equalsIgnoreCase(foundAt.get()));
        return elsewhere
                ? Optional.of(subject + " was found at " + foundAt.get() + ", and its certificate is for "
                        + String.join(", ", hosts))
                : Optional.empty();
    }

    /** Whether a certificate is a broker's; of which authority is for others to check. */
    public static boolean isBroker(X509Certificate certificate) {
        return units(certificate.getSubjectX500Principal().getName()).contains(BROKER);
    }

    private static List<String> units(String subject) {
        try {
            return new LdapName(subject)
                    .getRdns().stream()
                            .filter(part -> part.getType().equalsIgnoreCase("OU"))
                            .map(part -> part.getValue().toString())
                            .toList();
        } catch (InvalidNameException e) {
            return List.of();
        }
    }

    /** The hosts that a certificate is for; empty if it is for any. */
    public static List<String> hosts(X509Certificate certificate) {
        List<String> hosts = new ArrayList<>();
        try {
            Collection<List<?>> names = certificate.getSubjectAlternativeNames();
            for (List<?> name : names == null ? List.<List<?>>of() : names) {
                int kind = (Integer) name.get(0);
                if (kind == DNS_NAME || kind == IP_ADDRESS) {
                    hosts.add(name.get(1).toString());
                }
            }
        } catch (CertificateParsingException e) {
            hosts.add("(unreadable)");
        }
        return hosts;
    }
}

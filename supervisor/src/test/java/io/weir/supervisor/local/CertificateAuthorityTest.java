package io.weir.supervisor.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorRefResolver;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.Behaviors;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.weir.supervisor.node.BrokerTls;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What {@code weir certs} makes, and that brokers take it and nothing else. */
@Timeout(300)
class CertificateAuthorityTest {
    private static final int DAYS = 2;

    @TempDir
    static Path dir;

    private final List<ActorSystem<String>> systems = new ArrayList<>();
    private static CertificateAuthority authority;
    private static CertificateAuthority.Issued broker;

    @BeforeAll
    static void issue() {
        authority = CertificateAuthority.create(dir.resolve("certs"), DAYS);
        broker = authority.issue("b1", List.of("127.0.0.1", "b1.example"), DAYS, dir.resolve("certs"));
    }

    @Test
    void shouldIssueABrokersCertificateForItsHostsWithAKeyThatOnlyItsOwnerReads() throws Exception {
        X509Certificate certificate = CertificateAuthority.read(broker.certificate());

        certificate.verify(CertificateAuthority.read(authority.certificate()).getPublicKey());
        certificate.checkValidity();
        assertThat(BrokerTls.isBroker(certificate)).isTrue();
        assertThat(BrokerTls.hosts(certificate)).containsExactly("127.0.0.1", "b1.example");
        for (Path key : List.of(broker.key(), dir.resolve("certs/authority.key"))) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(key)))
                    .isEqualTo("rw-------");
        }
        try (var files = Files.list(dir.resolve("certs"))) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .doesNotHaveDuplicates()
                    .noneMatch(name -> name.endsWith(".new"));
        }
    }

    @Test
    void shouldKeepAnAuthorityThatIsThereAndNameWhatIsMissing() {
        assertThatThrownBy(() -> CertificateAuthority.create(dir.resolve("certs"), DAYS))
                .isInstanceOf(LocalClusterException.class)
                .hasMessageContaining("has an authority already");
        assertThatThrownBy(() -> CertificateAuthority.open(dir.resolve("nowhere")))
                .hasMessageContaining("weir certs init");
        assertThatThrownBy(() -> authority.issue("a b", List.of(), DAYS, dir)).hasMessageContaining("'a b'");
        assertThatThrownBy(() -> authority.issue("b2", List.of("two words"), DAYS, dir))
                .hasMessageContaining("neither a host's name nor an IP address");
    }

    /** Whoever is refused has sent before whoever is heard. */
    @Test
    void shouldLetBrokersTalkAndNobodyElse() throws Exception {
        CertificateAuthority other = CertificateAuthority.create(dir.resolve("other"), DAYS);
        CertificateAuthority.Issued application =
                authority.issue("app", "weir-application", List.of(), DAYS, dir.resolve("certs"));
        CertificateAuthority.Issued stranger =
                new CertificateAuthority.Issued(other.certificate(), dir.resolve("other/authority.key"));
        CertificateAuthority.Issued elsewhere = authority.issue("b9", List.of("10.9.9.9"), DAYS, dir.resolve("certs"));
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        ActorSystem<String> one = system(listener(heard), broker, authority);
        ActorSystem<String> imposter = system(listener(heard), elsewhere, authority);

        tell(system(Behaviors.empty(), application, authority), one, "from an application");
        tell(system(Behaviors.empty(), stranger, other), one, "from another authority");
        ActorSystem<String> sender = system(Behaviors.empty(), broker, authority);
        tell(sender, imposter, "to a host that is not the certificate's");
        tell(sender, one, "from a broker");

        assertThat(heard.poll(60, TimeUnit.SECONDS)).isEqualTo("from a broker");
        assertThat(heard).isEmpty();
    }

    private ActorSystem<String> system(
            Behavior<String> behavior, CertificateAuthority.Issued certificate, CertificateAuthority trusted) {
        ActorSystem<String> system = ActorSystem.create(behavior, "weir", secured(certificate, trusted));
        systems.add(system);
        return system;
    }

    private static void tell(ActorSystem<String> from, ActorSystem<String> to, String text) {
        String address =
                to.address().getHost().get() + ":" + to.address().getPort().get();
        ActorRef<String> there = ActorRefResolver.get(from).resolveActorRef("akka://weir@" + address + "/user/");
        there.tell(text);
    }

    @AfterEach
    void terminateAll() {
        systems.forEach(ActorSystem::terminate);
    }

    private static Behavior<String> listener(BlockingQueue<String> heard) {
        return Behaviors.receiveMessage(text -> {
            heard.add(text);
            return Behaviors.same();
        });
    }

    private static Config secured(CertificateAuthority.Issued certificate, CertificateAuthority trusted) {
        return ConfigFactory.parseString(
                        """
                akka.actor { provider = remote, allow-java-serialization = off }
                akka.remote { use-unsafe-remote-features-outside-cluster = on, warn-about-direct-use = off }
                akka.remote.artery { transport = tls-tcp, canonical { hostname = 127.0.0.1, port = 0 } }
                akka.remote.artery.ssl.ssl-engine-provider = "io.weir.supervisor.node.BrokerTls"
                akka.remote.artery.ssl.rotating-keys-engine {
                  cert-file = "%s", key-file = "%s", ca-cert-file = "%s"
                }
                akka.loglevel = WARNING
                """.formatted(certificate.certificate(), certificate.key(), trusted.certificate()))
                .withFallback(ConfigFactory.load());
    }
}

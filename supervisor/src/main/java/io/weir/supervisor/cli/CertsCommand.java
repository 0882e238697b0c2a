package io.weir.supervisor.cli;

import io.weir.supervisor.local.CertificateAuthority;
import io.weir.supervisor.node.BrokerTls;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code weir certs}. */
@Command(
        name = "certs",
        mixinStandardHelpOptions = true,
        description = {
            "Make the certificates with which brokers on several machines know each other (weir.cluster.tls).",
            "Whoever has authority.key can make brokers: keep it where certificates are issued, and nowhere else."
        },
        subcommands = {CertsCommand.Init.class, CertsCommand.Issue.class, CertsCommand.Show.class},
        footer = {
            "",
            "Examples:",
            "  weir certs init --dir certs",
            "  weir certs issue b1 --host 10.0.0.1 --dir certs",
            "  weir certs show certs/b1.pem"
        })
public final class CertsCommand implements CliCommand {
    private static final String DEFAULT_DIRECTORY = "certs";
    private static final int MOST_DAYS = 36_500;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "Which of them? 'weir certs --help' lists them.");
    }

    /** {@code weir certs init}. */
    @Command(
            name = "init",
            mixinStandardHelpOptions = true,
            description = "Make an authority: authority.pem, which every broker trusts, and authority.key.",
            footer = {"", "Example:", "  weir certs init --dir certs"})
    static final class Init implements Callable<Integer> {
        @Option(
                names = "--dir",
                paramLabel = "DIR",
                defaultValue = DEFAULT_DIRECTORY,
                description = "Where to (default: ${DEFAULT-VALUE}).")
        private Path directory;

        @Option(
                names = "--days",
                paramLabel = "N",
                defaultValue = "3650",
                description = "How long it is valid (default: ${DEFAULT-VALUE}).")
        private int days;

        @Override
        public Integer call() {
            CertificateAuthority made = CertificateAuthority.create(directory, checked(days));
            System.out.println(made.certificate() + " is the cluster's authority; keep " + directory
                    + "/authority.key to yourself. Next: weir certs issue NAME --dir " + directory);
            return ExitCode.OK;
        }
    }

    /** {@code weir certs issue}. */
    @Command(
            name = "issue",
            mixinStandardHelpOptions = true,
            description = {
                "Issue a broker's certificate: NAME.pem and NAME.key, in place of earlier ones.",
                "A broker that runs uses new files within five minutes, without a restart."
            },
            footer = {"", "Example:", "  weir certs issue b1 --host 10.0.0.1 --dir certs"})
    static final class Issue implements Callable<Integer> {
        @Parameters(paramLabel = "NAME", description = "The broker's id, or any name.")
        private String name;

        @Option(
                names = "--host",
                paramLabel = "HOST",
                description = {
                    "weir.cluster.host of the broker: a name or an address. May be given more than once.",
                    "Without it the certificate is good at any host."
                })
        private List<String> hosts = List.of();

        @Option(
                names = "--dir",
                paramLabel = "DIR",
                defaultValue = DEFAULT_DIRECTORY,
                description = "Where the authority is (default: ${DEFAULT-VALUE}).")
        private Path directory;

        @Option(
                names = "--out",
                paramLabel = "DIR",
                description = "Where the files go (default: beside the authority).")
        private Path out;

        @Option(
                names = "--days",
                paramLabel = "N",
                defaultValue = "397",
                description = "How long it is valid (default: ${DEFAULT-VALUE}).")
        private int days;

        @Override
        public Integer call() {
            CertificateAuthority authority = CertificateAuthority.open(directory);
            CertificateAuthority.Issued issued =
                    authority.issue(name, hosts, checked(days), out == null ? directory : out);
            System.out.println("weir.cluster.tls {");
            System.out.println("  certificate = \"" + issued.certificate().toAbsolutePath() + "\"");
            System.out.println("  key = \"" + issued.key().toAbsolutePath() + "\"");
            System.out.println("  authority = \"" + authority.certificate().toAbsolutePath() + "\"");
            System.out.println("}");
            return ExitCode.OK;
        }
    }

    /** {@code weir certs show}. */
    @Command(
            name = "show",
            mixinStandardHelpOptions = true,
            description = "Show whom certificates are for and how long. Exit code 1 if one is not valid now.",
            footer = {"", "Example:", "  weir certs show certs/b1.pem"})
    static final class Show implements Callable<Integer> {
        @Parameters(
                paramLabel = "FILE",
                arity = "0..*",
                description = "Certificates (default: all .pem files in " + DEFAULT_DIRECTORY + "/).")
        private List<Path> files = List.of();

        @Mixin
        private Output output;

        /** One certificate, as it is printed. */
        record Shown(
                String file,
                String subject,
                boolean broker,
                List<String> hosts,
                String from,
                String until,
                String sha256) {}

        @Override
        public Integer call() {
            List<X509Certificate> certificates =
                    files().stream().map(CertificateAuthority::read).toList();
            List<Shown> all = files().stream().map(Show::shown).toList();
            if (output.json()) {
                output.printJson(all);
            } else {
                for (Shown shown : all) {
                    output.printf("%s%n", shown.file);
                    output.printf("  subject  %s%s%n", shown.subject, shown.broker ? " (a broker's)" : "");
                    output.printf("  hosts    %s%n", shown.hosts.isEmpty() ? "any" : String.join(", ", shown.hosts));
                    output.printf("  valid    %s to %s%n", shown.from, shown.until);
                    output.printf("  sha256   %s%n", shown.sha256);
                }
            }
            Instant now = Instant.now();
            boolean valid = certificates.stream()
                    .allMatch(certificate ->
                            now.isAfter(certificate.getNotBefore().toInstant())
                                    && now.isBefore(certificate.getNotAfter().toInstant()));
            return valid ? ExitCode.OK : ExitCode.FAILED;
        }

        private List<Path> files() {
            if (!files.isEmpty()) {
                return files;
            }
            try (var found = Files.newDirectoryStream(Path.of(DEFAULT_DIRECTORY), "*.pem")) {
                List<Path> all = new ArrayList<>();
                found.forEach(all::add);
                all.sort(null);
                return all;
            } catch (IOException e) {
                throw CliException.unavailable(
                        "there is no directory " + DEFAULT_DIRECTORY + " here: name the certificates' files");
            }
        }

        private static Shown shown(Path file) {
            X509Certificate certificate = CertificateAuthority.read(file);
            String subject = certificate.getSubjectX500Principal().getName();
            try {
                byte[] print = MessageDigest.getInstance("SHA-256").digest(certificate.getEncoded());
                return new Shown(
                        file.toString(),
                        subject,
                        BrokerTls.isBroker(certificate),
                        BrokerTls.hosts(certificate),
                        certificate.getNotBefore().toInstant().toString(),
                        certificate.getNotAfter().toInstant().toString(),
                        HexFormat.of().formatHex(print));
            } catch (GeneralSecurityException e) {
                throw CliException.unavailable(file + " can't be shown: " + e.getMessage());
            }
        }
    }

    private static int checked(int days) {
        if (days < 1 || days > MOST_DAYS) {
            throw CliException.usage("--days must be 1 to " + MOST_DAYS + ", not " + days);
        }
        return days;
    }
}

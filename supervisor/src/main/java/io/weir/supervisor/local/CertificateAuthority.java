package io.weir.supervisor.local;

import io.weir.supervisor.node.BrokerTls;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A cluster's own certificate authority: two files in a directory, {@code authority.pem} for every broker, and
 * {@code authority.key} for nobody but whoever issues certificates. The JDK's keytool makes keys and certificates; what
 * it needs in between is in a directory that is gone afterwards. RSA, because Akka reads no other keys.
 */
public final class CertificateAuthority {
    private static final String NAME = "authority";
    private static final String KEY_BITS = "3072";
    private static final String PASSWORD_VARIABLE = "WEIR_KEYTOOL_PASSWORD";
    private static final String OWNER_ONLY = "rw-------";
    private static final String READABLE = "rw-r--r--";
    private static final String CERTIFICATE = "CERTIFICATE";
    private static final String PRIVATE_KEY = "PRIVATE KEY";

    /** A broker's certificate and key. */
    public record Issued(Path certificate, Path key) {}

    private final Path directory;

    private CertificateAuthority(Path directory) {
        this.directory = directory;
    }

    /** A new one in {@code directory}, which must not have one already. */
    public static CertificateAuthority create(Path directory, int days) {
        CertificateAuthority authority = new CertificateAuthority(directory);
        if (Files.exists(authority.certificate()) || Files.exists(authority.key())) {
            throw new LocalClusterException(
                    directory + " has an authority already, and brokers would not trust two: use it,"
                            + " or choose another --dir");
        }
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new LocalClusterException(directory + " can't be made: " + e.getMessage());
        }
        try (Workshop workshop = new Workshop()) {
            workshop.keytool(
                    "-genkeypair",
                    "-alias",
                    NAME,
                    "-keyalg",
                    "RSA",
                    "-keysize",
                    KEY_BITS,
                    "-dname",
                    "CN=Weir cluster " + HexFormat.of().toHexDigits(new SecureRandom().nextInt()),
                    "-ext",
                    "bc:c=ca:true,pathlen:0",
                    "-ext",
                    "ku:c=keyCertSign,cRLSign",
                    "-validity",
                    Integer.toString(days),
                    "-keystore",
                    workshop.file(NAME));
            KeyStore made = workshop.load(NAME);
            write(authority.key(), PRIVATE_KEY, workshop.key(made, NAME).getEncoded(), OWNER_ONLY);
            write(
                    authority.certificate(),
                    CERTIFICATE,
                    made.getCertificate(NAME).getEncoded(),
                    READABLE);
        } catch (IOException | GeneralSecurityException e) {
            throw new LocalClusterException("the authority can't be made in " + directory + ": " + e.getMessage());
        }
        return authority;
    }

    /** The one that is in {@code directory}. */
    public static CertificateAuthority open(Path directory) {
        CertificateAuthority authority = new CertificateAuthority(directory);
        for (Path needed : List.of(authority.certificate(), authority.key())) {
            if (!Files.isReadable(needed)) {
                throw new LocalClusterException(needed
                        + " can't be read: make an authority with 'weir certs init', or name its directory with --dir");
            }
        }
        return authority;
    }

    /** What every broker trusts. */
    public Path certificate() {
        return directory.resolve(NAME + ".pem");
    }

    private Path key() {
        return directory.resolve(NAME + ".key");
    }

    /**
     * A broker's certificate and key, {@code NAME.pem} and {@code NAME.key}, in place of earlier ones.
     *
     * @param hosts at which the broker may be found; none: anywhere
     */
    public Issued issue(String name, List<String> hosts, int days, Path into) {
        return issue(name, BrokerTls.BROKER, hosts, days, into);
    }

    /** @param unit what it is the certificate of: brokers take those of brokers only */
    Issued issue(String name, String unit, List<String> hosts, int days, Path into) {
        if (!name.matches("[a-zA-Z0-9._-]{1,64}") || name.equals(NAME)) {
            throw new LocalClusterException(
                    "'" + name + "' can't be a certificate's name: 1 to 64 letters, digits, '.', '_'"
                            + " or '-', and not '" + NAME + "'");
        }
        Issued issued = new Issued(into.resolve(name + ".pem"), into.resolve(name + ".key"));
        try (Workshop workshop = new Workshop()) {
            workshop.keytool(
                    "-genkeypair",
                    "-alias",
                    name,
                    "-keyalg",
                    "RSA",
                    "-keysize",
                    KEY_BITS,
                    "-dname",
                    "CN=" + name + ", OU=" + unit,
                    "-keystore",
                    workshop.file(name));
            workshop.keytool(
                    "-certreq", "-alias", name, "-keystore", workshop.file(name), "-file", workshop.file("request"));
            workshop.store(NAME, privateKey(), read(certificate()));
            List<String> sign = new ArrayList<>(List.of(
                    "-gencert",
                    "-alias",
                    NAME,
                    "-keystore",
                    workshop.file(NAME),
                    "-infile",
                    workshop.file("request"),
                    "-outfile",
                    workshop.file("signed"),
                    "-validity",
                    Integer.toString(days),
                    "-ext",
                    "ku:c=digitalSignature,keyEncipherment",
                    "-ext",
                    "eku=serverAuth,clientAuth"));
            if (!hosts.isEmpty()) {
                sign.add("-ext");
                sign.add("san="
                        + hosts.stream()
                                .map(CertificateAuthority::alternativeName)
                                .collect(Collectors.joining(",")));
            }
            workshop.keytool(sign.toArray(String[]::new));
            Files.createDirectories(into);
            X509Certificate signed = read(Path.of(workshop.file("signed")));
            signed.verify(read(certificate()).getPublicKey());
            write(
                    issued.key,
                    PRIVATE_KEY,
                    workshop.key(workshop.load(name), name).getEncoded(),
                    OWNER_ONLY);
            write(issued.certificate, CERTIFICATE, signed.getEncoded(), READABLE);
        } catch (IOException | GeneralSecurityException e) {
            throw new LocalClusterException("the certificate of " + name + " can't be issued: " + e.getMessage());
        }
        return issued;
    }

    private static String alternativeName(String host) {
        boolean address = host.matches("[0-9.]+") || host.indexOf(':') >= 0;
        if (!address && !host.matches("[a-zA-Z0-9.-]+")) {
            throw new LocalClusterException("'" + host + "' is neither a host's name nor an IP address");
        }
        try {
            return address ? "ip:" + InetAddress.getByName(host).getHostAddress() : "dns:" + host;
        } catch (UnknownHostException e) {
            throw new LocalClusterException("'" + host + "' is neither a host's name nor an IP address");
        }
    }

    /** A certificate in a file, in PEM or DER format. */
    public static X509Certificate read(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
        } catch (IOException | GeneralSecurityException e) {
            throw new LocalClusterException(file + " is no certificate that can be read: " + e.getMessage());
        }
    }

    private PrivateKey privateKey() throws IOException, GeneralSecurityException {
        String base64 = Files.readString(key(), StandardCharsets.US_ASCII)
                .lines()
                .filter(line -> !line.startsWith("-----"))
                .collect(Collectors.joining());
        try {
            return KeyFactory.getInstance("RSA")
                    .generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(base64)));
        } catch (IllegalArgumentException e) {
            throw new GeneralSecurityException(key() + " is not a key in PEM format");
        }
    }

    /** Never readable for more than it will be, and whole at every moment: a broker may read it anew just now. */
    private static void write(Path file, String what, byte[] bytes, String permissions) throws IOException {
        String base64 = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
        Path directory = file.toAbsolutePath().getParent();
        Path fresh = Files.createTempFile(directory, "." + file.getFileName(), ".new");
        Files.writeString(fresh, "-----BEGIN " + what + "-----\n" + base64 + "\n-----END " + what + "-----\n");
        FileStore store = Files.getFileStore(directory);
        if (store.supportsFileAttributeView(PosixFileAttributeView.class)) {
            Files.setPosixFilePermissions(fresh, PosixFilePermissions.fromString(permissions));
        }
        Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /** A directory that only this user reads, for as long as keytool works in it. */
    private static final class Workshop implements AutoCloseable {
        private final Path directory = Files.createTempDirectory("weir-certs-");
        private final String password = HexFormat.of().toHexDigits(new SecureRandom().nextLong());

        private Workshop() throws IOException {}

        String file(String name) {
            return directory.resolve(name).toString();
        }

        void keytool(String... arguments) throws IOException {
            List<String> command = new ArrayList<>();
            command.add(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
            command.addAll(List.of(arguments));
            // It runs for a second.
            command.add("-J-XX:+UseSerialGC");
            command.addAll(List.of("-storetype", "PKCS12", "-storepass:env", PASSWORD_VARIABLE));
            ProcessBuilder keytool = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(directory.resolve("log").toFile());
            keytool.environment().put(PASSWORD_VARIABLE, password);
            try {
                if (keytool.start().waitFor() != 0) {
                    throw new IOException("keytool says: "
                            + Files.readString(directory.resolve("log")).strip());
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
        }

        KeyStore load(String name) throws IOException, GeneralSecurityException {
            KeyStore store = KeyStore.getInstance("PKCS12");
            try (InputStream in = Files.newInputStream(directory.resolve(name))) {
                store.load(in, password.toCharArray());
            }
            return store;
        }

        PrivateKey key(KeyStore store, String alias) throws GeneralSecurityException {
            return (PrivateKey) store.getKey(alias, password.toCharArray());
        }

        void store(String name, PrivateKey key, X509Certificate certificate)
                throws IOException, GeneralSecurityException {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            store.setKeyEntry(name, key, password.toCharArray(), new X509Certificate[] {certificate});
            try (var out = Files.newOutputStream(directory.resolve(name))) {
                store.store(out, password.toCharArray());
            }
        }

        @Override
        public void close() throws IOException {
            try (var files = Files.list(directory)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(directory);
        }
    }
}

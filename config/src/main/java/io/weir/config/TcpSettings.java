package io.weir.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * How the gateway serves clients: {@code weir.tcp} without its address.
 *
 * @param tls empty if TLS is not offered
 * @param handshakeTimeout for a client's first bytes, for TLS and compression, and for AUTH where that is required
 * @param bufferBytes for what all clients together have half sent or not yet received
 * @param maxConnectionsPerAddress most connections of one address at a time
 * @param maxStrangersPerAddress most of these that have not said yet what is asked of them
 */
public record TcpSettings(
        Optional<TlsFiles> tls,
        boolean tlsRequired,
        boolean snappy,
        boolean deflate,
        int maxDeflateLevel,
        AuthSettings auth,
        Duration handshakeTimeout,
        long bufferBytes,
        int maxConnectionsPerAddress,
        int maxStrangersPerAddress) {
    private static final int MIN_SECRET_LENGTH = 16;
    private static final Set<String> TOKEN_KEYS = Set.of("name", "secret", "secret-file", "publish", "subscribe");

    /**
     * PEM files.
     *
     * @param clientCa if present, clients need a certificate too
     */
    public record TlsFiles(Path certificate, Path key, Optional<Path> clientCa) {}

    /**
     * Who may do what.
     *
     * @param required whether clients without a token may do nothing
     * @param chosen whether the operator decided that, either way; false for {@code auto}
     */
    public record AuthSettings(boolean required, boolean chosen, List<TokenSettings> tokens) {}

    /** One secret, and patterns of the topics and channels that it opens. */
    public record TokenSettings(String name, String secret, List<String> publish, List<String> subscribe) {
        @Override
        public String toString() {
            return "TokenSettings[name=" + name + ", publish=" + publish + ", subscribe=" + subscribe + "]";
        }
    }

    static TcpSettings read(Config config) {
        Optional<TlsFiles> tls = tls(config);
        boolean tlsRequired = flag(config, "weir.tcp.tls.required");
        if (tlsRequired && tls.isEmpty()) {
            throw SettingsException.of(
                    "weir.tcp.tls.required", true, "needs weir.tcp.tls.certificate and weir.tcp.tls.key");
        }
        return new TcpSettings(
                tls,
                tlsRequired,
                flag(config, "weir.tcp.snappy"),
                flag(config, "weir.tcp.deflate"),
                SettingsLoader.whole(config, "weir.tcp.max-deflate-level", 1, 9),
                auth(config),
                SettingsLoader.duration(
                        config, "weir.tcp.handshake-timeout", Duration.ofMillis(100), Duration.ofMinutes(5)),
                SettingsLoader.bytes(config, "weir.tcp.buffers", 1L << 20, 1L << 40),
                SettingsLoader.whole(config, "weir.tcp.max-connections-per-address", 1, 1_000_000),
                SettingsLoader.whole(config, "weir.tcp.max-strangers-per-address", 1, 1_000_000));
    }

    private static Optional<TlsFiles> tls(Config config) {
        Optional<Path> certificate = file(config, "weir.tcp.tls.certificate");
        Optional<Path> key = file(config, "weir.tcp.tls.key");
        Optional<Path> clientCa = file(config, "weir.tcp.tls.client-ca");
        if (certificate.isPresent() != key.isPresent()) {
            throw new SettingsException(
                    "only one of weir.tcp.tls.certificate and weir.tcp.tls.key is set: TLS needs both");
        }
        if (certificate.isEmpty() && clientCa.isPresent()) {
            throw new SettingsException(
                    "weir.tcp.tls.client-ca is set without weir.tcp.tls.certificate: it would do nothing");
        }
        return certificate.map(own -> new TlsFiles(own, key.orElseThrow(), clientCa));
    }

    private static Optional<Path> file(Config config, String key) {
        String value = SettingsLoader.text(config, key);
        return value.isEmpty() ? Optional.empty() : Optional.of(SettingsLoader.path(key, value));
    }

    private static AuthSettings auth(Config config) {
        List<TokenSettings> tokens = new ArrayList<>();
        String secret = SettingsLoader.text(config, "weir.tcp.auth.secret");
        if (!secret.isEmpty()) {
            tokens.add(
                    new TokenSettings("all", longEnough("weir.tcp.auth.secret", secret), List.of("*"), List.of("*")));
        }
        try {
            for (Config token : config.getConfigList("weir.tcp.auth.tokens")) {
                tokens.add(token(token));
            }
        } catch (ConfigException e) {
            // The parser's own message may show a secret.
            throw new SettingsException("weir.tcp.auth.tokens must be a list of"
                    + " { name = …, secret = … (or secret-file = …), publish = [patterns], subscribe = [patterns] }");
        }
        Set<String> names = new HashSet<>();
        Set<String> secrets = new HashSet<>();
        for (TokenSettings token : tokens) {
            if (!names.add(token.name())) {
                throw new SettingsException("weir.tcp.auth.tokens has two of the name " + token.name());
            }
            if (!secrets.add(token.secret())) {
                throw new SettingsException("weir.tcp.auth.tokens: " + token.name() + " has the secret of another");
            }
        }
        String required = SettingsLoader.oneOf(config, "weir.tcp.auth.required", "auto", "on", "off", "true", "false");
        boolean on = required.equals("auto") ? !tokens.isEmpty() : required.equals("on") || required.equals("true");
        if (on && tokens.isEmpty()) {
            throw SettingsException.of(
                    "weir.tcp.auth.required", required, "needs weir.tcp.auth.secret or weir.tcp.auth.tokens");
        }
        return new AuthSettings(on, !required.equals("auto"), List.copyOf(tokens));
    }

    private static TokenSettings token(Config token) {
        String name = token.getString("name");
        if (!name.matches("[a-zA-Z0-9._-]{1,64}")) {
            throw new SettingsException(
                    "weir.tcp.auth.tokens: name \"" + name + "\" must be 1 to 64 letters, digits, '.', '_' or '-'");
        }
        for (String key : token.root().keySet()) {
            if (!TOKEN_KEYS.contains(key)) {
                throw new SettingsException(
                        "weir.tcp.auth.tokens: " + name + " has the key " + key + ", which does not exist; there are "
                                + String.join(", ", TOKEN_KEYS.stream().sorted().toList()));
            }
        }
        if (token.hasPath("secret") == token.hasPath("secret-file")) {
            throw new SettingsException("weir.tcp.auth.tokens: " + name + " needs one of secret and secret-file");
        }
        String where = "the secret of weir.tcp.auth.tokens' " + name;
        String secret =
                token.hasPath("secret") ? token.getString("secret") : content(name, token.getString("secret-file"));
        return new TokenSettings(
                name, longEnough(where, secret), patterns(token, name, "publish"), patterns(token, name, "subscribe"));
    }

    private static String content(String name, String file) {
        try {
            return Files.readString(SettingsLoader.path("weir.tcp.auth.tokens.secret-file", file))
                    .strip();
        } catch (IOException e) {
            throw new SettingsException("weir.tcp.auth.tokens: the secret-file " + file + " of " + name
                    + " can't be read: does it exist, and may this user read it?");
        }
    }

    private static String longEnough(String where, String secret) {
        if (secret.length() < MIN_SECRET_LENGTH) {
            throw new SettingsException(
                    where + " has " + secret.length() + " characters: at least " + MIN_SECRET_LENGTH + " are needed");
        }
        return secret;
    }

    private static List<String> patterns(Config token, String name, String key) {
        List<String> patterns = token.hasPath(key) ? token.getStringList(key) : List.of();
        for (String pattern : patterns) {
            if (!pattern.matches(
                    key.equals("publish") ? "[a-zA-Z0-9._#*-]+" : "[a-zA-Z0-9._#*-]+(:[a-zA-Z0-9._#*-]+)?")) {
                throw new SettingsException("weir.tcp.auth.tokens: " + name + " has the pattern \"" + pattern + "\" in "
                        + key + ", which no name can fit");
            }
        }
        return List.copyOf(patterns);
    }

    private static boolean flag(Config config, String key) {
        try {
            return config.getBoolean(key);
        } catch (ConfigException e) {
            throw SettingsException.of(key, config.getValue(key).unwrapped(), "must be on or off");
        }
    }
}

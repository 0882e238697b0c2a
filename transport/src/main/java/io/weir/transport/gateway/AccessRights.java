package io.weir.transport.gateway;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Who may publish and consume what: whoever knows a token's secret has that token's rights. Serves every way in, so it
 * knows nothing of any protocol. Immutable; for any thread.
 *
 * <p>Of secrets only digests are kept, and all of them are compared each time: how long that takes tells nobody
 * anything.
 */
public final class AccessRights {
    /** Messages in memory carry their publisher's number in so few bits. */
    public static final int MOST_TOKENS = 4095;

    /** Nobody is asked, and everybody may do everything. */
    public static final AccessRights OPEN = new AccessRights(false, List.of());

    /**
     * A secret and what it opens.
     *
     * @param name who uses it, for people
     * @param publish patterns of topics, where {@code *} stands for anything
     * @param subscribe patterns of {@code topic} (all of its channels) or {@code topic:channel}
     */
    public record Token(String name, String secret, List<String> publish, List<String> subscribe) {
        @Override
        public String toString() {
            return "Token[name=" + name + ", publish=" + publish + ", subscribe=" + subscribe + "]";
        }
    }

    /** What one token allows. */
    public static final class Grant {
        private final int number;
        private final String name;
        private final List<NamePattern> publish;
        private final List<NamePattern> subscribe;

        private Grant(Token token, int number) {
            this.number = number;
            name = token.name();
            publish = token.publish().stream().map(NamePattern::new).toList();
            subscribe = token.subscribe().stream()
                    .map(pattern -> new NamePattern(pattern.indexOf(':') < 0 ? pattern + ":*" : pattern))
                    .toList();
        }

        /** From 1 on, in the tokens' order: no two have the same. */
        public int number() {
            return number;
        }

        public String name() {
            return name;
        }

        /** How many patterns it has. */
        public int permissions() {
            return publish.size() + subscribe.size();
        }

        public boolean mayPublish(String topic) {
            byte[] name = topic.getBytes(StandardCharsets.UTF_8);
            return mayPublish(ByteBuffer.wrap(name), 0, name.length);
        }

        /** The same for a name that stands in a buffer; allocates nothing. */
        boolean mayPublish(ByteBuffer in, int topicAt, int topicLength) {
            return any(publish, in, topicAt, topicLength);
        }

        public boolean maySubscribe(String topic, String channel) {
            byte[] name = (topic + ":" + channel).getBytes(StandardCharsets.UTF_8);
            return any(subscribe, ByteBuffer.wrap(name), 0, name.length);
        }

        private static boolean any(List<NamePattern> patterns, ByteBuffer in, int at, int length) {
            for (int i = 0; i < patterns.size(); i++) {
                if (patterns.get(i).matches(in, at, length)) {
                    return true;
                }
            }
            return false;
        }
    }

    private final boolean required;
    private final List<byte[]> digests = new ArrayList<>();
    private final List<Grant> grants = new ArrayList<>();

    /**
     * @param required whether those without a token may do nothing; otherwise they may do everything
     * @throws IllegalArgumentException if two tokens have one secret, which then would not say what it opens; or if
     *     there are more than {@link #MOST_TOKENS}
     */
    public AccessRights(boolean required, List<Token> tokens) {
        this.required = required;
        if (tokens.size() > MOST_TOKENS) {
            throw new IllegalArgumentException(tokens.size() + " tokens are more than " + MOST_TOKENS);
        }
        for (Token token : tokens) {
            byte[] digest = digest(token.secret().getBytes(StandardCharsets.UTF_8));
            if (find(digest) >= 0) {
                throw new IllegalArgumentException("token " + token.name() + " has the secret of another");
            }
            digests.add(digest);
            grants.add(new Grant(token, grants.size() + 1));
        }
    }

    public boolean required() {
        return required;
    }

    /** Whether there is any token at all. */
    public boolean enabled() {
        return required || !grants.isEmpty();
    }

    /** Empty if no token has that secret. */
    public Optional<Grant> grant(String secret) {
        return grant(secret.getBytes(StandardCharsets.UTF_8));
    }

    Optional<Grant> grant(byte[] secret) {
        int found = find(digest(secret));
        return found < 0 ? Optional.empty() : Optional.of(grants.get(found));
    }

    private int find(byte[] digest) {
        int found = -1;
        for (int i = 0; i < digests.size(); i++) {
            found = MessageDigest.isEqual(digests.get(i), digest) ? i : found;
        }
        return found;
    }

    private static byte[] digest(byte[] secret) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(secret);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}

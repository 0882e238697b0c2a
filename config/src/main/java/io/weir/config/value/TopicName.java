package io.weir.config.value;

import java.util.regex.Pattern;

/**
 * What a limit is kept for. Either a topic's name, by the rule that NSQ's clients already know: 1 to 64 of
 * {@code .a-zA-Z0-9_-}, then perhaps {@code #ephemeral}. Or a channel's key, {@code topic:channel}, under which the
 * channel's own limit is shared out by the same rows, ledgers and gates; no user can name one, see {@link #of}.
 */
public record TopicName(String value) {
    /** Of the longest channel key. */
    public static final int MAX_KEY_LENGTH = 129;

    private static final int MAX_LENGTH = 64;
    private static final char BETWEEN = ':';
    private static final Pattern RULE = Pattern.compile("[.a-zA-Z0-9_-]+(#ephemeral)?");

    public TopicName {
        int between = value == null ? -1 : value.indexOf(BETWEEN);
        if (between < 0) {
            check("topic", value);
        } else {
            check("topic", value.substring(0, between));
            check("channel", value.substring(between + 1));
        }
    }

    /** A topic's name as somebody outside gave it. */
    public static TopicName of(String name) {
        check("topic", name);
        return new TopicName(name);
    }

    /** The key of a channel's limit. */
    public static TopicName ofChannel(TopicName topic, ChannelName channel) {
        return new TopicName(topic.value + BETWEEN + channel.value());
    }

    /** Whether it is the key of a channel's limit. */
    public boolean namesChannel() {
        return value.indexOf(BETWEEN) >= 0;
    }

    /** The topic itself, also of the key of a channel's limit. */
    public TopicName topic() {
        return namesChannel() ? new TopicName(value.substring(0, value.indexOf(BETWEEN))) : this;
    }

    static void check(String what, String value) {
        if (value == null || value.length() > MAX_LENGTH || !RULE.matcher(value).matches()) {
            throw new IllegalArgumentException(what + " name '" + value
                    + "' is not allowed: 1 to 64 characters of . a-z A-Z 0-9 _ -, optionally ending in #ephemeral");
        }
    }

    static boolean ephemeral(String value) {
        return value.endsWith("#ephemeral");
    }

    public boolean ephemeral() {
        return ephemeral(value);
    }

    @Override
    public String toString() {
        return value;
    }
}

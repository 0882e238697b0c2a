package io.weir.config.value;

import java.util.regex.Pattern;

/** A topic's name, by the rule that NSQ's clients already know: 1 to 64 of {@code .a-zA-Z0-9_-}, then perhaps {@code #ephemeral}. */
public record TopicName(String value) {
    private static final int MAX_LENGTH = 64;
    private static final Pattern RULE = Pattern.compile("[.a-zA-Z0-9_-]+(#ephemeral)?");

    public TopicName {
        check("topic", value);
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

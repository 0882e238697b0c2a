package io.weir.config.value;

import java.util.regex.Pattern;

/** A topic's name, by the rule that NSQ's clients already know: 1 to 64 of {@code .a-zA-Z0-9_-}, then perhaps {@code #ephemeral}. */
public record TopicName(String value) {
    private static final int MAX_LENGTH = 64;
    private static final Pattern RULE = Pattern.compile("[.a-zA-Z0-9_-]+(#ephemeral)?");

    public TopicName {
        if (value == null || value.length() > MAX_LENGTH || !RULE.matcher(value).matches()) {
            throw new IllegalArgumentException("topic name '" + value
                    + "' is not allowed: 1 to 64 characters of . a-z A-Z 0-9 _ -, optionally ending in #ephemeral");
        }
    }

    public boolean ephemeral() {
        return value.endsWith("#ephemeral");
    }

    @Override
    public String toString() {
        return value;
    }
}

package io.weir.config.value;

import java.util.regex.Pattern;

/** A broker's name, the same through every restart; together with an incarnation it names one life of that broker. */
public record BrokerId(String value) implements Comparable<BrokerId> {
    private static final int MAX_LENGTH = 64;
    private static final Pattern RULE = Pattern.compile("[a-zA-Z0-9]([a-zA-Z0-9_.-]*[a-zA-Z0-9])?");

    public BrokerId {
        if (value == null || value.length() > MAX_LENGTH || !RULE.matcher(value).matches()) {
            throw new IllegalArgumentException(
                    "broker id '" + value
                            + "' is not allowed: 1 to 64 letters, digits, '.', '_' or '-', with a letter or digit at both ends");
        }
    }

    @Override
    public int compareTo(BrokerId other) {
        return value.compareTo(other.value);
    }

    @Override
    public String toString() {
        return value;
    }
}

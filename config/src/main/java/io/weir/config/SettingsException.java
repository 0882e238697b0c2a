package io.weir.config;

/** A setting that can't be used: the message names the key, its value and the rule it breaks. */
public final class SettingsException extends RuntimeException {
    public SettingsException(String message) {
        super(message);
    }

    static SettingsException of(String key, Object value, String rule) {
        return new SettingsException(
                key + " = " + (value instanceof String ? "\"" + value + "\"" : value) + ": " + rule);
    }
}

package io.weir.config.value;

/** A channel's name, by the same rule as a topic's. */
public record ChannelName(String value) {
    public ChannelName {
        TopicName.check("channel", value);
    }

    public boolean ephemeral() {
        return TopicName.ephemeral(value);
    }

    @Override
    public String toString() {
        return value;
    }
}

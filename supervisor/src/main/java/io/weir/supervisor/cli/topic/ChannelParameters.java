package io.weir.supervisor.cli.topic;

import io.weir.config.value.ChannelName;
import io.weir.supervisor.cli.CliException;
import picocli.CommandLine.Parameters;

/** The topic and the channel that a command is about, as a picocli mixin. */
final class ChannelParameters {
    @Parameters(index = "0", paramLabel = "TOPIC", description = "The topic.")
    private String topic;

    @Parameters(index = "1", paramLabel = "CHANNEL", description = "The channel.")
    private String channel;

    String topic() {
        return topic;
    }

    String name() {
        return channel;
    }

    /** The channel's resource at a broker. */
    String path() {
        try {
            return TopicChange.path(topic) + "/channels/"
                    + new ChannelName(channel).value().replace("#", "%23");
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e.getMessage());
        }
    }
}

package io.weir.supervisor.cli;

import io.weir.config.value.ChannelName;
import io.weir.supervisor.node.TopicDescription;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code weir channel}: the channels of a topic. Each gets a copy of every message; consumers come and go, the channel stays. */
@Command(
        name = "channel",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        description = "Channels of a topic: each gets a copy of every message, and its consumers share them.",
        footer = {
            "",
            "Examples:",
            "  weir channel create orders billing     keep messages before the first consumer comes",
            "  weir channel list orders"
        })
public final class ChannelCommand implements CliCommand {
    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "Which command? 'weir channel --help' lists them.");
    }

    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = "List a topic's channels.",
            footer = {"", "Example:", "  weir channel list orders -o json"})
    int list(
            @Mixin ClusterOption cluster,
            @Mixin Output output,
            @Parameters(paramLabel = "TOPIC", description = "The topic.") String topic) {
        TopicDescription found =
                cluster.ask("GET", TopicChange.path(topic), Optional.empty()).as(TopicDescription.class);
        if (output.json()) {
            output.printJson(found.channels());
        } else {
            found.channels().forEach(channel -> output.println(channel.name() + (channel.paused() ? " (paused)" : "")));
        }
        return ExitCode.OK;
    }

    @Command(
            name = "create",
            mixinStandardHelpOptions = true,
            description = "Make a channel, so that messages are kept for it before its first consumer comes.",
            footer = {"", "Example:", "  weir channel create orders billing"})
    int create(
            @Mixin ClusterOption cluster,
            @Parameters(paramLabel = "TOPIC", description = "The topic.") String topic,
            @Parameters(paramLabel = "CHANNEL", description = "The channel.") String channel) {
        return TopicCommand.change(cluster, "PUT", path(topic, channel), channel + " is a channel of " + topic);
    }

    @Command(
            name = "pause",
            mixinStandardHelpOptions = true,
            description = "Keep messages from a channel's consumers until 'weir channel resume'.",
            footer = {"", "Example:", "  weir channel pause orders billing"})
    int pause(
            @Mixin ClusterOption cluster,
            @Parameters(paramLabel = "TOPIC", description = "The topic.") String topic,
            @Parameters(paramLabel = "CHANNEL", description = "The channel.") String channel) {
        return TopicCommand.change(cluster, "POST", path(topic, channel) + "/pause", channel + " is paused");
    }

    @Command(
            name = "resume",
            mixinStandardHelpOptions = true,
            description = "End a pause.",
            footer = {"", "Example:", "  weir channel resume orders billing"})
    int resume(
            @Mixin ClusterOption cluster,
            @Parameters(paramLabel = "TOPIC", description = "The topic.") String topic,
            @Parameters(paramLabel = "CHANNEL", description = "The channel.") String channel) {
        return TopicCommand.change(cluster, "POST", path(topic, channel) + "/resume", channel + " goes on");
    }

    @Command(
            name = "delete",
            mixinStandardHelpOptions = true,
            description = "Delete a channel with all messages that brokers keep for it.",
            footer = {"", "Example:", "  weir channel delete orders billing"})
    int delete(
            @Mixin ClusterOption cluster,
            @Parameters(paramLabel = "TOPIC", description = "The topic.") String topic,
            @Parameters(paramLabel = "CHANNEL", description = "The channel.") String channel) {
        return TopicCommand.change(cluster, "DELETE", path(topic, channel), channel + " is deleted");
    }

    private static String path(String topic, String channel) {
        try {
            return TopicChange.path(topic) + "/channels/"
                    + new ChannelName(channel).value().replace("#", "%23");
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e.getMessage());
        }
    }
}

package io.weir.supervisor.cli.topic;

import io.weir.supervisor.cli.CliCommand;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.node.TopicDescription;
import io.weir.supervisor.node.TopicRequest;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code weir channel}: the channels of a topic. Each gets a copy of every message; consumers come and go, the channel
 * stays.
 */
@Command(
        name = "channel",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        description = "Channels of a topic: each gets a copy of every message, and its consumers share them.",
        footer = {
            "",
            "Examples:",
            "  weir channel create orders billing     keep messages before the first consumer comes",
            "  weir channel limit orders billing --rate 50 --burst 10     no more deliveries than that, over all brokers",
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
            found.channels().forEach(channel -> output.println(text(channel)));
        }
        return ExitCode.OK;
    }

    /** One line: name, limit, pause. */
    static String text(TopicDescription.ChannelView channel) {
        String limit = channel.limit() == null
                ? ""
                : ": at most " + TopicDescribeCommand.amount(channel.limit().burst()) + " + "
                        + TopicDescribeCommand.amount(channel.limit().rate()) + "·t deliveries in t seconds"
                        + (channel.done() ? "" : ", not complete yet");
        return channel.name() + limit + (channel.paused() ? " (paused)" : "");
    }

    @Command(
            name = "limit",
            mixinStandardHelpOptions = true,
            description = {
                "Limit what a channel hands out to its consumers, over all brokers, or take the limit away.",
                "Every delivery counts, also of a message that comes again. What finds no token stays queued; a full queue holds back "
                        + "publishers or drops, as the topic says. The channel is made if it is not there."
            },
            footer = {
                "",
                "Examples:",
                "  weir channel limit orders billing --rate 50 --burst 10",
                "  weir channel limit orders billing --none"
            })
    int limit(
            @Mixin ClusterOption cluster,
            @Mixin ChannelParameters channel,
            @Option(names = "--rate", paramLabel = "R", description = "Deliveries a second, above 0.") Double rate,
            @Option(names = "--burst", paramLabel = "B", description = "Deliveries at once, at least 1.") Double burst,
            @Option(names = "--none", description = "No limit from now on.") boolean none) {
        if (none ? rate != null || burst != null : rate == null || burst == null) {
            throw CliException.usage("give --rate and --burst, or --none");
        }
        if (none) {
            return TopicCommand.change(
                    cluster, "DELETE", channel.path() + "/limit", channel.name() + " has no limit of its own");
        }
        cluster.ask("PUT", channel.path(), Optional.of(TopicRequest.channelLimit(rate, burst)));
        System.out.println(channel.name() + " hands out at most " + TopicDescribeCommand.amount(burst) + " + "
                + TopicDescribeCommand.amount(rate) + "·t messages in t seconds");
        return ExitCode.OK;
    }

    @Command(
            name = "create",
            mixinStandardHelpOptions = true,
            description = "Make a channel, so that messages are kept for it before its first consumer comes.",
            footer = {"", "Example:", "  weir channel create orders billing"})
    int create(@Mixin ClusterOption cluster, @Mixin ChannelParameters channel) {
        return TopicCommand.change(
                cluster, "PUT", channel.path(), channel.name() + " is a channel of " + channel.topic());
    }

    @Command(
            name = "pause",
            mixinStandardHelpOptions = true,
            description = "Keep messages from a channel's consumers until 'weir channel resume'.",
            footer = {"", "Example:", "  weir channel pause orders billing"})
    int pause(@Mixin ClusterOption cluster, @Mixin ChannelParameters channel) {
        return TopicCommand.change(cluster, "POST", channel.path() + "/pause", channel.name() + " is paused");
    }

    @Command(
            name = "resume",
            mixinStandardHelpOptions = true,
            description = "End a pause.",
            footer = {"", "Example:", "  weir channel resume orders billing"})
    int resume(@Mixin ClusterOption cluster, @Mixin ChannelParameters channel) {
        return TopicCommand.change(cluster, "POST", channel.path() + "/resume", channel.name() + " goes on");
    }

    @Command(
            name = "delete",
            mixinStandardHelpOptions = true,
            description = "Delete a channel with all messages that brokers keep for it.",
            footer = {"", "Example:", "  weir channel delete orders billing"})
    int delete(@Mixin ClusterOption cluster, @Mixin ChannelParameters channel) {
        return TopicCommand.change(cluster, "DELETE", channel.path(), channel.name() + " is deleted");
    }
}
